package snapfile_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"evenkeel.dev/evenkeel/internal/snapfile"
)

// seeds adds the inputs of the scenarios, so that fuzzing starts from every kind of file there is.
func seeds(f *testing.F) {
	paths, err := filepath.Glob(filepath.Join("testdata", "read", "*.txt"))
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		for _, block := range strings.Split(string(text), "\nfile name=")[1:] {
			_, rest, _ := strings.Cut(block, "\n")
			input, _, _ := strings.Cut(rest, "\n----")
			f.Add([]byte(input))
		}
	}
}

// check reads data twice: it must never panic, and always say the same.
func check(t *testing.T, data []byte) {
	t.Helper()
	var said [2]string
	for i := range said {
		s, report, err := snapfile.Read([]string{"-"}, snapfile.Options{Stdin: bytes.NewReader(data)})
		switch {
		case err != nil:
			said[i] = err.Error()
		default:
			said[i] = describe(s, report)
		}
	}
	if said[0] != said[1] {
		t.Errorf("said %q, then %q", said[0], said[1])
	}
}

func FuzzReadJSON(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		check(t, append([]byte(`{"`), data...)) // taken for JSON whatever follows
		check(t, data)
	})
}

func FuzzReadYAML(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		check(t, append([]byte("# YAML\n"), data...)) // taken for YAML whatever follows
	})
}
