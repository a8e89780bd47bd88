package herd

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// The herd of the command's defaults, with evenkeel-cni as the stand-in. One iteration is one unpaced and one paced run,
// and takes about a minute and a half on two cores. It reports how many times better the paced run was:
//
//	heartbeat-p99-x  of the heartbeat's delay; the goal is at least 5
//	median-ready-x   of the time until half of the pods are ready; at least 1.5
//	all-ready-x      of the time until all are; at least 0.91, which is 10 % later
//	busy-%           what other programs used before: the goals are for a quiet machine

func BenchmarkHerdWithTheDefaultLimit(b *testing.B)  { benchmarkHerd(b, LimitAuto) }
func BenchmarkHerdWithTheAdaptiveLimit(b *testing.B) { benchmarkHerd(b, LimitAdaptive) }

func benchmarkHerd(b *testing.B, limit string) {
	program, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	standIn := filepath.Join(b.TempDir(), "evenkeel-cni"+executableSuffix)
	// Its import path is what the installer knows stand-ins by, and must not be in this program.
	if out, err := exec.Command("go", "build", "-o", standIn, "../../cmd/evenkeel-cni").CombinedOutput(); err != nil {
		b.Fatalf("build the stand-in: %v: %s", err, out)
	}
	for b.Loop() {
		o := Defaults()
		o.Dir, o.Program, o.StandIn, o.Limit = b.TempDir(), program, standIn, limit
		r, err := Start(b.Context(), o)
		if err != nil {
			b.Fatal(err)
		}
		if r.Better.All == nil || r.Better.Median == nil || r.Better.HeartbeatP99 == nil {
			b.Fatalf("not all pods became ready: %d unpaced, %d paced of %d", r.Unpaced.Ready, r.Paced.Ready, o.Pods)
		}
		b.ReportMetric(*r.Better.HeartbeatP99, "heartbeat-p99-x")
		b.ReportMetric(*r.Better.Median, "median-ready-x")
		b.ReportMetric(*r.Better.All, "all-ready-x")
		b.ReportMetric(float64(r.Paced.Heartbeat.P99)*1000, "paced-p99-ms")
		b.ReportMetric(float64(*r.Paced.All), "paced-all-s")
		b.ReportMetric(float64(r.Paced.MostStarting), "paced-most-starting")
		b.ReportMetric(r.Machine.Busy, "busy-%")
	}
}
