package herd

import (
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// sample is a report of three pods, one of which was refused, and one never got ready unpaced.
func sample() Report {
	run := func(name string, limit int, pods []Pod, beats ...Beat) Run {
		return summarize(name, limit, pods, beats)
	}
	unpaced := run(Unpaced, 0, []Pod{
		{Name: "herd-1", Adds: 1, Ready: new(Seconds(9.5)), Spans: []Span{{Plugin, 0, 0.6}, {Starting, 0.6, 9.5}, {Ready, 9.5, 20}}},
		{Name: "herd-3", Adds: 1, Ready: new(Seconds(10)), Spans: []Span{{Plugin, 0, 0.7}, {Starting, 0.7, 10}, {Ready, 10, 20}}},
		{Name: "herd-2", Adds: 1, Restart: 1, Spans: []Span{{Plugin, 0, 0.7}, {Starting, 0.7, 15.7}, {BackOff, 15.7, 17}, {Starting, 17, 20}}},
	}, Beat{0, 0.3}, Beat{1, 1.25}, Beat{2, 0.45})
	paced := run(Paced, 2, []Pod{
		{Name: "herd-1", Adds: 1, Ready: new(Seconds(3.2)), Spans: []Span{{Waiting, 0, 0.1}, {Plugin, 0.1, 0.4}, {Starting, 0.4, 3.2}, {Ready, 3.2, 9.8}}},
		{Name: "herd-2", Adds: 1, Ready: new(Seconds(6.2)), Spans: []Span{{Waiting, 0, 3.3}, {Plugin, 3.3, 3.6}, {Starting, 3.6, 6.2}, {Ready, 6.2, 9.8}}},
		{
			Name: "herd-3", Adds: 2, Refused: 1, Ready: new(Seconds(9.8)),
			Spans: []Span{{Waiting, 0, 2}, {Away, 2, 5}, {Waiting, 5, 6.3}, {Plugin, 6.3, 6.6}, {Starting, 6.6, 9.8}},
		},
	}, Beat{0, 0.06}, Beat{1, 0.055}, Beat{2, 0.08})
	return Report{
		Kind: ReportKind, Machine: Machine{OS: "linux", Arch: "amd64", Cores: 2, Busy: 40},
		Settings: Settings{Pods: 3, Work: 3, PluginTime: 0.2, Limit: LimitAuto, Retry: 10, StartupProbe: 15, Heartbeat: 1},
		Quiet:    summarizeBeats([]Beat{{0, 0.05}}), Unpaced: unpaced, Paced: paced, Better: compare(unpaced, paced),
	}
}

var update = flag.Bool("update", false, "write the golden files")

func golden(t *testing.T, name string, render func(io.Writer) error) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := render(&b); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("%s: %s", name, diff)
	}
	return b.Bytes()
}

func TestTable(t *testing.T) {
	golden(t, "table.txt", func(w io.Writer) error { return WriteTable(w, sample()) })
}

func TestJSONIsStable(t *testing.T) {
	golden(t, "report.json", func(w io.Writer) error {
		enc := json.NewEncoder(w)
		enc.SetIndent("", " ")
		return enc.Encode(sample())
	})
}

func TestPageNeedsNothingElse(t *testing.T) {
	text := string(golden(t, "page.html", func(w io.Writer) error { return WritePage(w, sample()) }))
	for _, forbidden := range []string{"http:", "https:", "//", "src=", "href=", "url(", "@import", "<script", "<link", "ZgotmplZ", "NaN", "Inf"} {
		if strings.Contains(text, forbidden) {
			t.Errorf("the page has %q", forbidden)
		}
	}
	for _, p := range sample().Paced.Pods {
		if !regexp.MustCompile(`<title>`+p.Name+`: .*ready after`).MatchString(text) && p.Spans[len(p.Spans)-1].Phase == Ready {
			t.Errorf("the page does not tell of pod %s", p.Name)
		}
	}
}

func TestAPageCanBeDrawnOfAnything(t *testing.T) {
	many := sample()
	for range 500 {
		many.Paced.Pods = append(many.Paced.Pods, many.Paced.Pods[0])
	}
	for name, r := range map[string]Report{"nothing": {}, "many pods": many} {
		var b bytes.Buffer
		if err := WritePage(&b, r); err != nil || strings.Contains(b.String(), "NaN") || strings.Contains(b.String(), "Inf") {
			t.Errorf("%s: %v", name, err)
		}
		if err := WriteTable(io.Discard, r); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTicksAreRoundNumbers(t *testing.T) {
	for _, c := range []struct {
		length float64
		most   int
		want   float64
	}{{1, 10, 0.1}, {22, 10, 5}, {101, 10, 20}, {0.8, 3, 0.5}, {9, 3, 5}, {3, 3, 1}} {
		if got := round(niceStep(c.length, c.most)); got != c.want {
			t.Errorf("%g in at most %d steps: got %g, want %g", c.length, c.most, got, c.want)
		}
	}
}
