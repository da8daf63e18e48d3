package check

import (
	"strings"
	"testing"

	"github.com/netco-go/netco/cmd/netco-vet/internal/edit"
)

// TestWithout: imports that fixes have left without a use go, and what the fixes
// have made is found again.
func TestWithout(t *testing.T) {
	src := "package p\n\nimport (\n\t\"fmt\"\n\tstd \"net\"\n\t\"time\"\n)\n\nvar x = fmt.Sprint(1)\n"
	e := &edit.Edit{From: len(src) - 3, To: len(src) - 2, Text: "2"}
	made, err := edit.Apply([]byte(src), []*edit.Edit{e})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		paths []string
		want  string
	}{
		{[]string{"net"}, "package p\n\nimport (\n\t\"fmt\"\n\t\"time\"\n)\n\nvar x = fmt.Sprint(2)\n"},
		{[]string{"net", "time"}, "package p\n\nimport (\n\t\"fmt\"\n)\n\nvar x = fmt.Sprint(2)\n"},
		{[]string{"fmt", "net", "time"}, "package p\n\nvar x = fmt.Sprint(2)\n"},
	} {
		own := *e
		text, err := edit.ChangeImports(made, []*edit.Edit{&own}, without(c.paths))
		if err != nil || string(text) != c.want {
			t.Errorf("without %q: %v\n%s", c.paths, err, text)
		}
		last := strings.Count(string(text), "\n")
		if !own.Touches(text, last) || own.Touches(text, last-2) {
			t.Errorf("without %q: the edit is at %d to %d", c.paths, own.Begin, own.End)
		}
	}
}
