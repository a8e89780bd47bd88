package snapfile_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"evenkeel.dev/evenkeel/internal/snapfile"
	"evenkeel.dev/evenkeel/internal/testkit/gen"
)

// endless is a stream of parts that are made when they are read. It keeps the largest live heap seen meanwhile.
type endless struct {
	part func(i int) string // empty: the end
	next int
	rest string
	read int
	peak uint64
}

func (e *endless) Read(p []byte) (int, error) {
	if e.rest == "" {
		if e.rest = e.part(e.next); e.rest == "" {
			return 0, io.EOF
		}
		if e.next++; e.next%64 == 0 {
			var m runtime.MemStats
			runtime.GC() // what tests before this one have left does not count
			runtime.ReadMemStats(&m)
			e.peak = max(e.peak, m.HeapAlloc)
		}
	}
	n := copy(p, e.rest)
	e.rest = e.rest[n:]
	e.read += n
	return n, nil
}

// TestAFileOf100MiBIsReadInLittleMemory reads one list of 1,600 pods with 64 KiB each of what is not read: JSON in a single line, and YAML.
func TestAFileOf100MiBIsReadInLittleMemory(t *testing.T) {
	const pods = 1600
	padding := strings.Repeat("x", 64<<10)
	for _, c := range []struct{ name, head, pod, sep, tail string }{
		{
			"JSON in one line", `{"apiVersion":"v1","items":[{"apiVersion":"v1","kind":"Node","metadata":{"name":"a"}}`,
			`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p-%d","namespace":"x","annotations":{"a":"%s"}}}`, ",", `],"kind":"List"}`,
		},
		{
			"YAML", "apiVersion: v1\nitems:\n- {apiVersion: v1, kind: Node, metadata: {name: a}}\n",
			"- apiVersion: v1\n  kind: Pod\n  metadata:\n    name: p-%d\n    namespace: x\n    annotations:\n      a: %s\n", "", "kind: List\n",
		},
	} {
		stream := &endless{part: func(i int) string {
			switch {
			case i == 0:
				return c.head
			case i <= pods:
				return c.sep + fmt.Sprintf(c.pod, i, padding)
			case i == pods+1:
				return c.tail
			}
			return ""
		}}
		s, _, err := snapfile.Read([]string{"-"}, snapfile.Options{Stdin: stream})
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if len(s.Pods) != pods || stream.read < 100<<20 {
			t.Errorf("%s: %d pods of %d MiB", c.name, len(s.Pods), stream.read>>20)
		}
		if stream.peak > 64<<20 {
			t.Errorf("%s: %d MiB of heap for a file of %d MiB", c.name, stream.peak>>20, stream.read>>20)
		}
	}
}

func TestAnObjectWithoutEndIsRefusedBeforeItFillsTheMemory(t *testing.T) {
	line := strings.Repeat("x", 1<<20)
	for name, head := range map[string]string{
		"JSON":      `{"apiVersion":"v1","items":[{"kind":"`,
		"JSON head": `{"apiVersion":"`,
		"YAML item": "apiVersion: v1\nitems:\n- kind: a\n  a: ",
		"YAML head": "apiVersion: v1\na: ",
		"YAML rows": "apiVersion: v1\na: |\n  ",
	} {
		if name == "YAML rows" {
			line += "\n  "
		}
		stream := &endless{part: func(i int) string {
			if i == 0 {
				return head
			}
			return line
		}}
		_, _, err := snapfile.Read([]string{"-"}, snapfile.Options{Stdin: stream})
		var where *snapfile.Error
		if !errors.As(err, &where) || !strings.Contains(err.Error(), "more than 64 MiB") {
			t.Errorf("%s: %v", name, err)
		}
		if stream.read > 200<<20 {
			t.Errorf("%s: read %d MiB", name, stream.read>>20)
		}
	}
}

// TestAWholeObjectOfMoreThan64MiBIsRefused: also when its end is there, and just beyond.
func TestAWholeObjectOfMoreThan64MiBIsRefused(t *testing.T) {
	part := strings.Repeat("x", 1<<20)
	for name, c := range map[string]struct{ head, tail string }{
		"JSON":           {`{"apiVersion":"v1","kind":"Pod","metadata":{"annotations":{"a":"`, `"}}}`},
		"JSON two parts": {`{"apiVersion":"` + strings.Repeat("x", 8<<20) + `","kind":"`, `"}`},
		"JSON item":      {`{"apiVersion":"v1","kind":"List","items":[{"kind":"`, `"}]}`},
		"YAML":           {"apiVersion: v1\nkind: Pod\nmetadata:\n  annotations:\n    a: ", "\n    b: c\n"},
		"YAML item":      {"apiVersion: v1\nkind: List\nitems:\n- kind: ", "\n  a: b\n"},
	} {
		const parts = 64
		stream := &endless{part: func(i int) string {
			switch {
			case i == 0:
				return c.head
			case i <= parts:
				return part
			case i == parts+1:
				return c.tail
			}
			return ""
		}}
		_, _, err := snapfile.Read([]string{"-"}, snapfile.Options{Stdin: stream})
		var where *snapfile.Error
		if !errors.As(err, &where) || !strings.Contains(err.Error(), "more than 64 MiB") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// BenchmarkRead reads generated clusters, and reports how long that takes as a multiple of what encoding/json needs to cut the same bytes into
// tokens: the aim is less than 3.
func BenchmarkRead(b *testing.B) {
	for _, size := range []struct{ nodes, pods int }{{100, 3000}, {1000, 30000}, {5000, 150000}} {
		b.Run(fmt.Sprintf("nodes=%d,pods=%d", size.nodes, size.pods), func(b *testing.B) {
			var file bytes.Buffer
			if err := (gen.Config{Nodes: size.nodes, Pods: size.pods, Seed: 42}).WriteJSON(&file); err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(file.Len()))
			b.ReportAllocs()
			var reading, tokens time.Duration
			for b.Loop() {
				start := time.Now()
				if _, _, err := snapfile.Read([]string{"-"}, snapfile.Options{Stdin: bytes.NewReader(file.Bytes())}); err != nil {
					b.Fatal(err)
				}
				reading += time.Since(start)
				b.StopTimer()
				start = time.Now()
				tokenise(b, file.Bytes())
				tokens += time.Since(start)
				b.StartTimer()
			}
			b.ReportMetric(float64(reading)/float64(tokens), "×tokenising")
			b.ReportMetric(float64(reading.Nanoseconds())/float64(b.N)/float64(size.pods), "ns/pod")
		})
	}
}

func tokenise(b *testing.B, data []byte) {
	b.Helper()
	d := json.NewDecoder(bytes.NewReader(data))
	for {
		switch _, err := d.Token(); {
		case errors.Is(err, io.EOF):
			return
		case err != nil:
			b.Fatal(err)
		}
	}
}
