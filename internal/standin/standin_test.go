package standin_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"
	"testing/iotest"

	"evenkeel.dev/evenkeel/internal/standin"
)

func TestTheMarkerIsFoundHoweverTheFileIsRead(t *testing.T) {
	for _, before := range []int{0, 1, 100, 32*1024 - 5, 70_000} {
		data := append(bytes.Repeat([]byte("e"), before), standin.Mark()...)
		for name, r := range map[string]io.Reader{
			"whole": bytes.NewReader(data), "halves": iotest.HalfReader(bytes.NewReader(data)), "bytes": iotest.OneByteReader(bytes.NewReader(data)),
		} {
			f := standin.NewFinder()
			if _, err := io.Copy(f, r); err != nil {
				t.Fatal(err)
			}
			if !f.Found {
				t.Errorf("%s: not found after %d bytes", name, before)
			}
		}
	}
}

func TestThisProgramIsNoStandInThoughItLooksForThem(t *testing.T) {
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if is, err := standin.Is(own); is || err != nil {
		t.Errorf("got %t, %v", is, err)
	}
	file := filepath.Join(t.TempDir(), "bridge")
	if err := os.WriteFile(file, append([]byte("program "), standin.Mark()...), 0o755); err != nil {
		t.Fatal(err)
	}
	if is, err := standin.Is(file); !is || err != nil {
		t.Errorf("got %t, %v", is, err)
	}
}
