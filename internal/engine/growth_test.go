package engine_test

import (
	"bufio"
	"bytes"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// counted are the packages whose statements are counted: all that a cycle runs through, and where the loops of the libraries are.
const counted = "evenkeel.dev/evenkeel/internal/testkit/cost,evenkeel.dev/evenkeel/internal/cluster,evenkeel.dev/evenkeel/internal/fit," +
	"evenkeel.dev/evenkeel/internal/gate,evenkeel.dev/evenkeel/internal/strategy,evenkeel.dev/evenkeel/internal/engine," +
	"slices,sort,container/heap,k8s.io/apimachinery/pkg/labels,k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

// TestTwiceTheClusterTakesLittleMoreThanTwiceAsMuch: no strategy takes more than O(pods · log pods + nodes · constraints), on ordinary
// clusters and on those that are hard on it. It counts statements executed and bytes allocated, which no other load of the machine changes.
// As the descheduler, node fit has no limit: there, what pods ask for counts as a constraint where they may lack three resources or more, and what is tested is how
// much less than that a search takes.
func TestTwiceTheClusterTakesLittleMoreThanTwiceAsMuch(t *testing.T) {
	if testing.Short() {
		t.Skip("counts in a program of its own, for a minute or so")
	}
	dir := t.TempDir()
	program := filepath.Join(dir, "cost")
	output(t, "go", "build", "-o", program, "-cover", "-covermode=atomic", "-coverpkg="+counted, "evenkeel.dev/evenkeel/internal/testkit/cost")
	covdata := strings.TrimSpace(output(t, "go", "tool", "-n", "covdata"))
	for _, mode := range []string{"", "compat"} {
		t.Run("mode="+mode, func(t *testing.T) {
			into := filepath.Join(dir, "counts"+mode)
			for i, line := range strings.Split(strings.TrimSpace(output(t, program, append([]string{into}, strings.Fields(mode)...)...)), "\n") {
				name, numbers := parseCost(t, line)
				nodes, pods, constraints := numbers[0], numbers[1], numbers[2]
				bound := func(times float64) float64 {
					return times*pods*math.Log2(times*pods) + times*nodes*times*constraints
				}
				allowed := bound(2) / bound(1)
				if d := numbers[5]; mode == "compat" && d > 2 {
					allowed = 2 * math.Pow(2, 1-2/d)
				}
				at := filepath.Join(into, strconv.Itoa(i))
				small, large := statements(t, covdata, filepath.Join(at, "0")), statements(t, covdata, filepath.Join(at, "1"))
				if grown := large / small; grown > 1.06*allowed {
					t.Errorf("%s: %.0f statements for %.0f pods, %.2f times as many for twice the pods; the bound grows by %.2f", name, small, pods, grown, allowed)
				}
				if grown := numbers[4] / numbers[3]; grown > 1.35*allowed { // tables grow in steps
					t.Errorf("%s: %.0f bytes for %.0f pods, %.2f times as many for twice the pods; the bound grows by %.2f", name, numbers[3], pods, grown, allowed)
				}
			}
		})
	}
}

func parseCost(t *testing.T, line string) (name string, numbers []float64) {
	t.Helper()
	fields := strings.Split(line, "\t")
	for _, f := range fields[1:] {
		v, err := strconv.ParseFloat(f, 64)
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		numbers = append(numbers, v)
	}
	return fields[0], numbers
}

// statements adds up how often the statements were executed.
func statements(t *testing.T, covdata, dir string) float64 {
	t.Helper()
	profile := filepath.Join(dir, "profile")
	output(t, covdata, "textfmt", "-i="+dir, "-o="+profile)
	data, err := os.ReadFile(profile)
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	lines := bufio.NewScanner(bytes.NewReader(data))
	for lines.Scan() { // name.go:1.2,3.4 statements count
		fields := strings.Fields(lines.Text())
		if len(fields) != 3 {
			continue // the first line
		}
		many, err := strconv.ParseFloat(fields[1], 64)
		if err != nil {
			t.Fatal(err)
		}
		times, err := strconv.ParseFloat(fields[2], 64)
		if err != nil {
			t.Fatal(err)
		}
		sum += many * times
	}
	return sum
}

func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	var failed bytes.Buffer
	cmd.Stderr = &failed
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, failed.String())
	}
	return string(out)
}
