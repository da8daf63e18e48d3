package daemon

import (
	"os/user"
	"strconv"
	"testing"
)

// other returns a user that is not root: the one of PostgreSQL's package, else nobody.
func other(t testing.TB) (uid, gid uint32) {
	t.Helper()
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
		gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
		if err1 == nil && err2 == nil {
			return uint32(uid), uint32(gid)
		}
	}
	t.Skip("there is no user postgres or nobody to run PostgreSQL as")
	return 0, 0
}
