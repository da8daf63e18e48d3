// Package deploy_test holds the manifests in deploy against the types of the
// Kubernetes API: a field that is misspelt, misplaced or of another type fails.
package deploy_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

const folder = "../../deploy/kubernetes"

// manifests are the objects of all files, by kind and name.
type manifests struct {
	claims map[string]*core.PersistentVolumeClaim
	jobs   map[string]*batch.Job
}

// decode adds the objects of one file.
func (m *manifests) decode(t *testing.T, text []byte) {
	t.Helper()
	for document := range bytes.SplitSeq(text, []byte("\n---\n")) {
		var head struct{ APIVersion, Kind string }
		if err := yaml.Unmarshal(document, &head); err != nil {
			t.Fatal(err)
		}
		var err error
		switch kind := head.APIVersion + " " + head.Kind; kind {
		case "v1 PersistentVolumeClaim":
			c := &core.PersistentVolumeClaim{}
			err = yaml.UnmarshalStrict(document, c)
			m.claims[c.Name] = c
		case "batch/v1 Job":
			j := &batch.Job{}
			err = yaml.UnmarshalStrict(document, j)
			m.jobs[j.Name] = j
		default:
			t.Errorf("%q is checked by nothing here", kind)
		}
		if err != nil {
			t.Error(err)
		}
	}
}

func read(t *testing.T) *manifests {
	t.Helper()
	m := &manifests{map[string]*core.PersistentVolumeClaim{}, map[string]*batch.Job{}}
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		m.decode(t, text)
	}
	return m
}

// TestPods: what the pods of all Jobs refer to exists, and they run as the
// strictest Pod Security Standard has it.
func TestPods(t *testing.T) {
	m := read(t)
	for name, job := range m.jobs {
		pod := job.Spec.Template.Spec
		if pod.RestartPolicy != core.RestartPolicyNever {
			t.Errorf("%s: restartPolicy %q", name, pod.RestartPolicy)
		}
		if s := pod.SecurityContext; s == nil || s.RunAsNonRoot == nil || !*s.RunAsNonRoot ||
			s.SeccompProfile == nil {
			t.Errorf("%s: may run as root, or without seccomp", name)
		}
		volumes := map[string]bool{}
		for _, v := range pod.Volumes {
			volumes[v.Name] = true
			if c := v.PersistentVolumeClaim; c != nil && m.claims[c.ClaimName] == nil {
				t.Errorf("%s: no claim %q", name, c.ClaimName)
			}
		}
		for _, c := range pod.Containers {
			for _, mount := range c.VolumeMounts {
				if !volumes[mount.Name] {
					t.Errorf("%s: no volume %q", name, mount.Name)
				}
			}
			s := c.SecurityContext
			if s == nil || s.AllowPrivilegeEscalation == nil || *s.AllowPrivilegeEscalation ||
				s.Capabilities == nil ||
				!slices.Contains(s.Capabilities.Drop, "ALL") {
				t.Errorf("%s: container %s keeps privileges", name, c.Name)
			}
		}
	}
}

// TestLoad: all parts of a load run at once, none of them twice, on machines of
// their own, and each writes a file of its own that merge reads.
func TestLoad(t *testing.T) {
	m := read(t)
	load, merge := m.jobs["netco-bench-load"], m.jobs["netco-bench-merge"]
	if load == nil || merge == nil {
		t.Fatalf("no Job for load or merge: %v", m.jobs)
	}
	spec := load.Spec
	if spec.CompletionMode == nil || *spec.CompletionMode != batch.IndexedCompletion {
		t.Error("not an Indexed Job")
	}
	if spec.Completions == nil || spec.Parallelism == nil ||
		*spec.Completions != *spec.Parallelism {
		t.Error("not all parts run at once")
	}
	if spec.BackoffLimit == nil || *spec.BackoffLimit != 0 {
		t.Error("a part may run twice")
	}
	spread := spec.Template.Spec.TopologySpreadConstraints
	if len(spread) != 1 || spread[0].TopologyKey != core.LabelHostname ||
		spread[0].LabelSelector.MatchLabels["app.kubernetes.io/name"] != spec.Template.Labels["app.kubernetes.io/name"] {
		t.Errorf("parts may share a machine: %+v", spread)
	}
	args := spec.Template.Spec.Containers[0].Args
	if args[0] != "load" || args[len(args)-1] != "-json=/results/$(JOB_COMPLETION_INDEX).json" {
		t.Errorf("arguments %q", args)
	}
	if script := merge.Spec.Template.Spec.Containers[0].Args[0]; !strings.Contains(script,
		"merge /results/*.json") {
		t.Errorf("merge reads other files: %s", script)
	}
	if claim := m.claims["netco-bench"]; !slices.Equal(claim.Spec.AccessModes,
		[]core.PersistentVolumeAccessMode{core.ReadWriteMany}) {
		t.Errorf("pods on several machines cannot write: %v", claim.Spec.AccessModes)
	}
}

// TestStrict: the decoding that the other tests count on refuses what the API
// does not know.
func TestStrict(t *testing.T) {
	for _, wrong := range []string{"spec: {completionMod: Indexed}", "spec: {completions: four}",
		"spec: {}\nspec: {}"} {
		if err := yaml.UnmarshalStrict([]byte(wrong), &batch.Job{}); err == nil {
			t.Errorf("%s: no error", wrong)
		}
	}
}

// build returns a folder with the program netco-bench.
func build(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.Command("go", "build", "-o", dir, "./cmd/netco-bench")
	cmd.Dir = "../.."
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return dir
}

// TestRun does what the Jobs do, with a server on this machine and little load:
// two pods at once, and what adds them up.
func TestRun(t *testing.T) {
	m, program, results := read(t), build(t), t.TempDir()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Write([]byte("fine"))
	}))
	defer server.Close()
	var pods sync.WaitGroup
	for _, index := range []string{"0", "1"} {
		args := slices.Clone(m.jobs["netco-bench-load"].Spec.Template.Spec.Containers[0].Args)
		for i, arg := range args {
			if strings.HasPrefix(arg, "http://") {
				args[i] = server.URL
			}
			args[i] = strings.NewReplacer("$(JOB_COMPLETION_INDEX)", index, "/results",
				results).Replace(args[i])
		}
		pods.Go(func() {
			cmd := exec.Command(filepath.Join(program, "netco-bench"),
				append(args, "-c=2", "-rate=50", "-d=500ms", "-warmup=10ms")...)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%q: %v: %s", args, err, out)
			}
		})
	}
	pods.Wait()
	c := m.jobs["netco-bench-merge"].Spec.Template.Spec.Containers[0]
	cmd := exec.Command(c.Command[0],
		append(c.Command[1:], strings.ReplaceAll(c.Args[0], "/results", results))...)
	cmd.Env = append(os.Environ(), "PATH="+program+":"+os.Getenv("PATH"))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for file, want := range map[string]string{"result.json": `"merged": 2`,
		"report.md": "Medians over rounds"} {
		if text, err := os.ReadFile(filepath.Join(results, "all", file)); err != nil ||
			!strings.Contains(string(text), want) {
			t.Errorf("%s: %v, no %q", file, err, want)
		}
	}
}
