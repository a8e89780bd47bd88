package load

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

const procDir = "/proc"

func newReader() Reader { return &procReader{dir: procDir} }

// procReader reads the files of a /proc folder.
type procReader struct {
	dir string
	cpu cpu
}

func (r *procReader) Read() (Sample, error) {
	total, idle, err := r.cpuTotals()
	if err != nil {
		return Sample{}, err
	}
	memory, err := r.memory()
	if err != nil {
		return Sample{}, err
	}
	io, err := r.stall("io")
	if err != nil {
		return Sample{}, err
	}
	return Sample{CPU: r.cpu.percent(total, idle), Memory: memory, IO: io}, nil
}

// cpuTotals sums the first line of /proc/stat. Guest time is left out, because
// the kernel counts it as user time already; waiting for I/O is idle.
func (r *procReader) cpuTotals() (total, idle uint64, err error) {
	fields, err := r.line("stat", "cpu")
	if err != nil {
		return 0, 0, err
	}
	for i, f := range fields[:min(len(fields), 8)] {
		n, err := strconv.ParseUint(f, 10, 64)
		if err != nil {
			return 0, 0, fmt.Errorf("read %s/stat: %w", r.dir, err)
		}
		total += n
		if i == 3 || i == 4 {
			idle += n
		}
	}
	return total, idle, nil
}

func (r *procReader) memory() (float64, error) {
	total, err := r.kilobytes("MemTotal:")
	if err != nil || total == 0 {
		return 0, err
	}
	available, err := r.kilobytes("MemAvailable:")
	return 100 * max(0, total-available) / total, err
}

func (r *procReader) kilobytes(key string) (float64, error) {
	fields, err := r.line("meminfo", key)
	if err != nil {
		return 0, err
	}
	return strconv.ParseFloat(fields[0], 64)
}

// stall is the ten-second average of time in which some task waited. Kernels
// without pressure stall information, or with it switched off, do not say.
func (r *procReader) stall(resource string) (float64, error) {
	fields, err := r.line(filepath.Join("pressure", resource), "some")
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errors.ErrUnsupported) {
		return Unknown, nil
	}
	if err != nil {
		return 0, err
	}
	return strconv.ParseFloat(strings.TrimPrefix(fields[0], "avg10="), 64)
}

// line gives the fields after key on the line of the file that begins with it.
func (r *procReader) line(file, key string) ([]string, error) {
	path := filepath.Join(r.dir, file)
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read load: %w", err)
	}
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, 1<<20) // the interrupt line of a large machine
	for lines.Scan() {
		if fields := strings.Fields(lines.Text()); len(fields) > 1 && fields[0] == key {
			return fields[1:], nil
		}
	}
	return nil, fmt.Errorf("read load: %s has no line %q", path, key)
}

func bootTime() (time.Time, error) {
	fields, err := (&procReader{dir: procDir}).line("stat", "btime")
	if err != nil {
		return time.Time{}, err
	}
	seconds, err := strconv.ParseInt(fields[0], 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("read boot time: %w", err)
	}
	return time.Unix(seconds, 0), nil
}
