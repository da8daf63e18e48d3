package introspect

import (
	"encoding/json"
	"flag"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/netco-go/netco/internal/testenv"
)

var update = flag.Bool("update", false, "write testdata/answers.json anew")

// TestAnswers holds the JSON of each page against testdata/answers.json and
// docs/PAGES.md, so that a field that programs read does not go unseen. go test
// -update writes the former anew.
func TestAnswers(t *testing.T) {
	once(t)
	var answers struct {
		Overview   overviewJSON   `json:"overview"`
		Coroutines coroutinesJSON `json:"coroutines"`
		Groups     groupsJSON     `json:"groups"`
		Coroutine  coroutineJSON  `json:"coroutine"`
		Sockets    socketsJSON    `json:"sockets"`
		Requests   requestsJSON   `json:"requests"`
		Timers     timersJSON     `json:"timers"`
		Stalls     stallsJSON     `json:"stalls"`
		LogLevel   logLevelJSON   `json:"loglevel"`
		Failure    failureJSON    `json:"error"`
	}
	n := 0
	fill(reflect.ValueOf(&answers).Elem(), &n)
	got := append(testenv.Must(json.MarshalIndent(answers, "", "\t")), '\n')
	const golden = "testdata/answers.json"
	if *update {
		testenv.OK(t, os.WriteFile(golden, got, 0o644))
	}
	testenv.Equal(t, string(testenv.Must(os.ReadFile(golden))), string(got),
		"the answers are not those of", golden, "go test -update writes it anew")
	page := string(testenv.Must(os.ReadFile("../docs/PAGES.md")))
	for _, key := range regexp.MustCompile(`"\w+":`).FindAllString(string(got), -1) {
		if name := strings.Trim(key, `":`); !strings.Contains(page, "`"+name+"`") {
			t.Errorf("docs/PAGES.md does not name the field %s", name)
		}
	}
}

// fill gives every field of the JSON a value of its own.
func fill(v reflect.Value, n *int) {
	*n++
	switch v.Kind() {
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Unix(int64(*n), 0).UTC()))
			return
		}
		for i := range v.NumField() {
			switch f := v.Type().Field(i); {
			case f.Tag.Get("json") == "-":
				continue
			case f.Anonymous: // its fields are numbered, it is not
				*n--
			}
			fill(v.Field(i), n)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), n)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), n)
	case reflect.Map:
		v.Set(reflect.ValueOf(map[string]uint64{"lock": uint64(*n)}))
	case reflect.String:
		v.SetString("text")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Float64:
		v.SetFloat(float64(*n) / 2)
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(*n))
	default:
		v.SetUint(uint64(*n))
	}
}
