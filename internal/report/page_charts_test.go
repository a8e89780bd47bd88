package report

import (
	"strings"
	"testing"
)

// TestTheTopOfAChartAndHalfOfItAreRound, and the top is not far above the highest value.
func TestTheTopOfAChartAndHalfOfItAreRound(t *testing.T) {
	for most, want := range map[float64]float64{0: 2, 1: 2, 2.5: 4, 7: 8, 9: 10, 10: 10, 11: 20, 61: 80, 97: 100, 100: 100, 175: 200, 420: 600} {
		if got := roundTop(most); got != want {
			t.Errorf("up to %g: got %g, want %g", most, got, want)
		}
	}
}

// TestAChartOfManyNodesIsNoLargerThanThatOfSome: each of its steps stands for several nodes.
func TestAChartOfManyNodesIsNoLargerThanThatOfSome(t *testing.T) {
	few := newChart("Pods", "", []float64{3, 1, 2}, []float64{2, 2, 2})
	if few.Before != "M40 120V92H132.7V64H225.3V36H318V120Z" || few.After != "M40 64V64H318" {
		t.Errorf("before %s, after %s", few.Before, few.After)
	}
	if few.Range != "lowest 1 → 2, median 2, highest 3 → 2" {
		t.Errorf("in words: %s", few.Range)
	}
	var before, after []float64
	for i := range 5000 {
		before, after = append(before, float64(i)), append(after, float64(5000-i))
	}
	if many := newChart("Pods", "", before, after); strings.Count(many.Before, "H") > chartSteps {
		t.Errorf("%d steps", strings.Count(many.Before, "H"))
	}
}

// TestLittleIsNotCalledNothing: a node with one small pod is not empty.
func TestLittleIsNotCalledNothing(t *testing.T) {
	for share, want := range map[float64]string{0: "0 %", 0.001: "<1 %", 0.01: "1 %", 0.505: "50 %", 1.75: "175 %"} {
		if got := percent(share); got != want {
			t.Errorf("%g: got %q, want %q", share, got, want)
		}
	}
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567"} {
		if got := grouped(n); got != want {
			t.Errorf("%d: got %q, want %q", n, got, want)
		}
	}
}
