package pace_test

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"evenkeel.dev/evenkeel/internal/pace"
)

func TestDefaultsAreValid(t *testing.T) {
	for _, cores := range []int{-1, 0, 1, 2, 64, 5000} {
		if problems := (pace.Config{}).Defaulted(cores).Validate(); cores <= 1000 && len(problems) > 0 {
			t.Errorf("%d cores: %v", cores, problems)
		}
	}
}

func TestDefaultsFillOnlyWhatIsUnset(t *testing.T) {
	cfg := pace.Config{
		Limits: pace.Limits{
			PerCore: 0.5, Rate: &pace.Rate{Every: pace.Duration(time.Second)},
			Adaptive: &pace.Adaptive{SlowFactor: 2},
		},
		MaxWait: pace.Duration(time.Minute),
	}
	want := pace.Config{
		Limits: pace.Limits{
			PerCore: 0.5, Rate: &pace.Rate{Every: pace.Duration(time.Second), Burst: 1},
			Adaptive: &pace.Adaptive{Max: 12, SlowFactor: 2, SlowFloor: pace.Duration(2 * time.Second)},
		},
		Attempt:           pace.Duration(time.Minute),
		RuntimeBudget:     pace.Duration(4 * time.Minute),
		MaxWait:           pace.Duration(time.Minute),
		SlotTimeout:       pace.Duration(5 * time.Minute),
		Ageing:            pace.Duration(2 * time.Minute),
		RefusalsPerSecond: 5,
	}
	if diff := cmp.Diff(want, cfg.Defaulted(6)); diff != "" {
		t.Error(diff)
	}
	if cfg.Limits.Rate.Burst != 0 {
		t.Error("Defaulted changed the configuration that it was called on")
	}
}

func TestValidateNamesEveryProblem(t *testing.T) {
	cfg := pace.Config{
		Limits: pace.Limits{
			MaxConcurrent: -3, PerCore: math.NaN(),
			Rate:     &pace.Rate{Burst: 5000},
			Pressure: &pace.Pressure{CPU: 101, Memory: -1, IO: math.NaN()},
			Adaptive: &pace.Adaptive{Max: -1, SlowFactor: 0.5, SlowFloor: pace.Duration(time.Hour)},
		},
		Attempt:           pace.Duration(3 * time.Minute),
		RuntimeBudget:     pace.Duration(time.Minute),
		MaxWait:           pace.Duration(time.Second),
		SlotTimeout:       pace.Duration(-time.Second),
		Ageing:            pace.Duration(48 * time.Hour),
		RefusalsPerSecond: -1,
	}
	var got []string
	for _, p := range cfg.Validate() {
		got = append(got, p.String())
	}
	want := []string{
		"limits.maxConcurrentPerCore: NaN: want no value beside limits.maxConcurrent",
		"limits.maxConcurrent: -3: want 1 to 1000",
		"limits.maxConcurrentPerCore: NaN: want 0.01 to 64",
		"limits.rate.every: 0s: want 1ms to 1h0m0s",
		"limits.rate.burst: 5000: want 1 to 1000",
		"limits.pressure.cpu: 101: want 0 to 100",
		"limits.pressure.memory: -1: want 0 to 100",
		"limits.pressure.io: NaN: want 0 to 100",
		"limits.adaptive.max: -1: want 1 to 1000",
		"limits.adaptive.slowFactor: 0.5: want 1.1 to 100",
		"limits.adaptive.slowFloor: 1h0m0s: want 0s to 10m0s",
		"attempt: 3m0s: want 1s to 2m0s",
		"attempt: 3m0s: want at most half of runtimeBudget (1m0s)",
		"maxWait: 1s: want 10s to 24h0m0s",
		"slotTimeout: -1s: want 10s to 1h0m0s",
		"ageing: 48h0m0s: want 1s to 24h0m0s",
		"refusalsPerSecond: -1: want 1 to 1000",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if _, err := pace.New(time.Now(), cfg, 1); err == nil {
		t.Error("New took it")
	}
}

func TestDurationsAreText(t *testing.T) {
	var cfg pace.Config
	in := `{"limits":{"rate":{"every":"30s"}},"maxWait":"1h30m"}`
	if err := json.Unmarshal([]byte(in), &cfg); err != nil {
		t.Fatal(err)
	}
	if cfg.MaxWait.Std() != 90*time.Minute || cfg.Limits.Rate.Every.Std() != 30*time.Second {
		t.Errorf("read %+v", cfg)
	}
	out, err := json.Marshal(cfg.MaxWait)
	if err != nil || string(out) != `"1h30m0s"` {
		t.Errorf("wrote %s, %v", out, err)
	}
	if err := json.Unmarshal([]byte(`{"maxWait":"9 minutes"}`), &cfg); err == nil {
		t.Error("took what is no duration")
	}
}
