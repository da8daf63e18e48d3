package testenv

import (
	"os"
	"testing"
)

func SetGODEBUG(t testing.TB, v string) {
	t.Helper()
	t.Setenv("GODEBUG", os.Getenv("GODEBUG")+","+v)
}
