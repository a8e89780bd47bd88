package load

import (
	"os"
	"path/filepath"
	"testing"
)

func procWith(t *testing.T, files map[string]string) *procReader {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return &procReader{dir: dir}
}

const meminfo = "MemTotal: 1000 kB\nMemFree: 1 kB\nMemAvailable: 250 kB\n"

func TestGuestTimeIsNotCountedTwiceAndIOWaitIsIdle(t *testing.T) {
	r := procWith(t, map[string]string{"stat": "cpu 10 0 10 70 10 0 0 0 500 500\ncpu0 1 1 1 1\n", "meminfo": meminfo})
	total, idle, err := r.cpuTotals()
	if err != nil || total != 100 || idle != 80 {
		t.Fatalf("total %d idle %d (%v)", total, idle, err)
	}
}

func TestAKernelWithoutStallInformationSaysNothingOfIO(t *testing.T) {
	s, err := procWith(t, map[string]string{"stat": "cpu 1 1 1 1 1 1 1 1\n", "meminfo": meminfo}).Read()
	if err != nil || s.IO != Unknown || s.Memory != 75 {
		t.Fatalf("%+v (%v)", s, err)
	}
	s, err = procWith(t, map[string]string{
		"stat": "cpu 1 1 1 1 1 1 1 1\n", "meminfo": meminfo,
		"pressure/io": "some avg10=12.50 avg60=0.00 avg300=0.00 total=0\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n",
	}).Read()
	if err != nil || s.IO != 12.5 {
		t.Fatalf("%+v (%v)", s, err)
	}
}

func TestAFileThatSaysNothingIsAnError(t *testing.T) {
	if s, err := procWith(t, map[string]string{"stat": "cpu\n", "meminfo": meminfo}).Read(); err == nil {
		t.Fatalf("got %+v", s)
	}
}
