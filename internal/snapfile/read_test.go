package snapfile_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"evenkeel.dev/evenkeel/internal/cluster"
	"evenkeel.dev/evenkeel/internal/snapfile"
	"evenkeel.dev/evenkeel/internal/testkit/gen"
)

// TestRead runs the scenarios in testdata/read. Commands:
//
//	file name=NAME [quoted] [gzip] [cut=N]   makes a file; quoted: of a Go string; cut: without its last N bytes
//	read PATH… [now=TIME] [stdin=NAME]       reads, and prints what was read or the error
//	clear                                    removes the files
func TestRead(t *testing.T) {
	datadriven.Walk(t, filepath.Join("testdata", "read"), func(t *testing.T, path string) {
		dir := t.TempDir()
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "file":
				writeFile(t, dir, d)
				return ""
			case "read":
				return read(t, dir, d)
			case "clear":
				if err := os.RemoveAll(dir); err != nil {
					t.Fatal(err)
				}
				return ""
			}
			d.Fatalf(t, "unknown command %q", d.Cmd)
			return ""
		})
	})
}

func writeFile(t *testing.T, dir string, d *datadriven.TestData) {
	t.Helper()
	var name string
	d.ScanArgs(t, "name", &name)
	data := []byte(d.Input + "\n")
	if d.HasArg("quoted") {
		text, err := strconv.Unquote(strings.TrimSpace(d.Input))
		if err != nil {
			d.Fatalf(t, "%v", err)
		}
		data = []byte(text)
	}
	if d.HasArg("gzip") {
		var zipped bytes.Buffer
		w := gzip.NewWriter(&zipped)
		if _, err := w.Write(data); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		data = zipped.Bytes()
	}
	if d.HasArg("cut") {
		var cut int
		d.ScanArgs(t, "cut", &cut)
		data = data[:len(data)-cut]
	}
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, dir string, d *datadriven.TestData) string {
	t.Helper()
	var paths []string
	var options snapfile.Options
	for _, arg := range d.CmdArgs {
		switch arg.Key {
		case "now":
			now, err := time.Parse(time.RFC3339, arg.Vals[0])
			if err != nil {
				d.Fatalf(t, "%v", err)
			}
			options.Now = now
		case "stdin":
			f, err := os.Open(filepath.Join(dir, arg.Vals[0]))
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			options.Stdin = f
			paths = append(paths, "-")
		default:
			paths = append(paths, filepath.Join(dir, arg.Key))
		}
	}
	s, report, err := snapfile.Read(paths, options)
	var text string
	if err != nil {
		text = "error: " + err.Error() + "\n"
	} else {
		text = describe(s, report)
	}
	return strings.ReplaceAll(filepath.ToSlash(text), filepath.ToSlash(dir)+"/", "")
}

// describe prints what decisions can see of a snapshot.
func describe(s *cluster.Snapshot, r *snapfile.Report) string {
	var b strings.Builder
	p := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	p("taken %s (%s), %d objects, %d unused", s.TakenAt.Format(time.RFC3339), r.Time, r.Objects, r.Unused)
	for _, n := range s.Nodes {
		p("node %s ready=%t cordoned=%t taints=%d allocatable=%v", n.Name, n.Ready, n.Unschedulable, len(n.Taints), n.Allocatable)
	}
	for _, pod := range s.Pods {
		owner := "none"
		if o := s.Top(pod.PodInfo); o != nil {
			owner = o.Kind + "/" + o.Name
		}
		at := "nowhere"
		if pod.Node != nil {
			at = pod.Node.Name
		}
		p("pod %s on %s owner=%s requests=%v phase=%s age=%s budgets=%d", pod.Key(), at, owner, pod.Spec.Requests, pod.Phase,
			pod.Age(s.TakenAt), len(s.BudgetsOf(pod.PodInfo)))
	}
	for _, name := range slices.Sorted(maps.Keys(s.Usage.Nodes)) {
		p("usage node %s %v", name, s.Usage.Nodes[name])
	}
	for _, name := range slices.Sorted(maps.Keys(s.Usage.Pods)) {
		p("usage pod %s %v", name, s.Usage.Pods[name])
	}
	for _, name := range slices.Sorted(maps.Keys(s.Starts)) {
		p("starts node %s %+v", name, s.Starts[name])
	}
	for _, q := range snapfile.QueriesOf(s.Usage.Queries) {
		p("usage query %q %v %s", q.Query, q.Nodes, q.Failed)
	}
	p("others: %d namespaces, %d priority classes, %d claims, %d volumes, %d storage classes, %d workloads; looked at %+v",
		len(s.Namespaces), len(s.PriorityClasses), len(s.Claims), len(s.Volumes), len(s.StorageClasses), len(s.Workloads), s.Has)
	for _, note := range s.Notes {
		p("note: %s", note)
	}
	return b.String()
}

func TestResourcesAreNumberedTheSameEveryTime(t *testing.T) {
	text := `[{"kind":"Node","apiVersion":"v1","metadata":{"name":"a"},"status":{"allocatable":{"cpu":"1","g":"1","f":"1","e":"1","d":"1","c":"1","b":"1","a":"1"}}}]`
	for range 20 {
		s, _, err := snapfile.Read([]string{"-"}, snapfile.Options{Stdin: strings.NewReader(text)})
		if err != nil {
			t.Fatal(err)
		}
		names := ""
		for id := range cluster.ResourceID(s.Resources.Len()) {
			names += string(s.Resources.Name(id)) + " "
		}
		if want := "cpu memory pods a b c d e f g "; names != want {
			t.Fatalf("resources %s, want %s", names, want)
		}
	}
}

// TestTheSameClusterInJSONAndYAMLIsTheSame also shuffles the objects.
func TestTheSameClusterInJSONAndYAMLIsTheSame(t *testing.T) {
	var text bytes.Buffer
	if err := (gen.Config{Nodes: 10, Pods: 200, Seed: 3, Budgets: 50}).WriteJSON(&text); err != nil {
		t.Fatal(err)
	}
	var list struct {
		Items []json.RawMessage `json:"items"`
	}
	if err := json.Unmarshal(text.Bytes(), &list); err != nil {
		t.Fatal(err)
	}
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(list.Items), func(i, j int) { list.Items[i], list.Items[j] = list.Items[j], list.Items[i] })
	shuffled, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": list.Items})
	if err != nil {
		t.Fatal(err)
	}
	inYAML, err := yaml.JSONToYAML(shuffled)
	if err != nil {
		t.Fatal(err)
	}
	want := ""
	for _, data := range [][]byte{text.Bytes(), shuffled, inYAML} {
		s, report, err := snapfile.Read([]string{"-"}, snapfile.Options{Stdin: bytes.NewReader(data), Now: gen.Now()})
		if err != nil {
			t.Fatal(err)
		}
		got := describe(s, report)
		if want == "" {
			want = got
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-first +this):\n%s", diff)
		}
	}
}
