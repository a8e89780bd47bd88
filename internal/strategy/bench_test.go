package strategy_test

import (
	"fmt"
	"testing"

	"evenkeel.dev/evenkeel/internal/engine"
	"evenkeel.dev/evenkeel/internal/testkit"
)

// BenchmarkHardClusters is the time of one cycle on clusters that a careless strategy would be slow on, of 1,000 nodes and 30,000 pods or so.
func BenchmarkHardClusters(b *testing.B) {
	for _, hard := range testkit.HardClusters() {
		snapshot, p, err := hard.Build(1000)
		if err != nil {
			b.Fatal(err)
		}
		for _, compat := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s/compat=%v", hard.Name, compat), func(b *testing.B) {
				moves := 0
				for b.Loop() {
					out, err := engine.Plan(snapshot, p, engine.Options{Compat: compat, Extras: hard.Extras})
					if err != nil {
						b.Fatal(err)
					}
					for _, c := range out.Summary.ByStrategy {
						if c.Error != "" {
							b.Fatal(c.Error)
						}
					}
					moves = len(out.Moves)
				}
				b.ReportMetric(float64(moves), "moves")
			})
		}
	}
}
