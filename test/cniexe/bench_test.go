package cniexe

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"evenkeel.dev/evenkeel/internal/cni"
)

// Each benchmark starts a no-op plugin with and without us in turn, so that
// both see the same machine, and reports medians. The plugin does nothing: what
// is measured is the start of programs.
//
//	bare-ms     the plugin alone, which is one process start
//	with-us-ms  the plugin behind the stand-in
//	starts      what we add, in process starts
//	extra-ms    what we add, less one process start

func BenchmarkPassThrough(b *testing.B) {
	n := newNode(b, cni.Settings{})
	n.compare(b, "DEL")
}

func BenchmarkGatedWithAFreeSlot(b *testing.B) {
	n := newNode(b, cni.Settings{})
	n.startAgent(grant)
	n.compare(b, "ADD")
}

func (n *node) compare(b *testing.B, command string) {
	bare := filepath.Join(filepath.Dir(n.bin), exe("bare"))
	n.put("noop", bare)
	n.put("noop", filepath.Join(n.original(), exe("azure-vnet")))
	env := append(os.Environ(), "CNI_COMMAND="+command, "CNI_ARGS="+podArgs("cart-0"), "CNI_CONTAINERID=c1")
	null, err := os.Open(os.DevNull)
	if err != nil {
		b.Fatal(err)
	}
	defer null.Close()
	timed := func(program string) time.Duration {
		start := time.Now()
		p, err := os.StartProcess(program, []string{program}, &os.ProcAttr{Env: env, Files: []*os.File{null, nil, nil}})
		if err != nil {
			b.Fatal(err)
		}
		state, err := p.Wait()
		if err != nil || !state.Success() {
			b.Fatal(state, err)
		}
		return time.Since(start)
	}
	var without, with []time.Duration
	for b.Loop() {
		without = append(without, timed(bare))
		with = append(with, timed(n.plugin()))
	}
	one, both := median(without), median(with)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(ms(one), "bare-ms")
	b.ReportMetric(ms(both), "with-us-ms")
	b.ReportMetric(float64(both-one)/float64(one), "starts")
	b.ReportMetric(ms(both-2*one), "extra-ms")
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
