package policy_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"evenkeel.dev/evenkeel/internal/policy"
)

// TestLoad runs the scenarios in testdata/load. Each loads a file and prints what
// a user gets to see of it: warnings, then problems, or the policy that runs.
func TestLoad(t *testing.T) {
	datadriven.Walk(t, "testdata/load", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			name := "policy.yaml"
			d.MaybeScanArgs(t, "file", &name)
			p, warnings, err := policy.Load(name, []byte(d.Input))
			switch d.Cmd {
			case "load":
				return renderOutcome(p, warnings, err)
			case "strict":
				if err := policy.Strict(name, warnings, err); err != nil {
					return err.Error()
				}
				return "ok"
			default:
				d.Fatalf(t, "unknown command %s", d.Cmd)
				return ""
			}
		})
	})
}

func renderOutcome(p *policy.Policy, warnings []policy.Warning, err error) string {
	var b strings.Builder
	for _, w := range warnings {
		fmt.Fprintf(&b, "warning: %v\n", w)
	}
	if err != nil {
		fmt.Fprintln(&b, err)
		return b.String()
	}
	if s := p.NodeSelector.String(); s != "" {
		fmt.Fprintf(&b, "nodes: %s\n", s)
	}
	for _, limit := range []struct {
		name  string
		value *uint
	}{
		{"per node", p.MaxNoOfPodsToEvictPerNode},
		{"per namespace", p.MaxNoOfPodsToEvictPerNamespace},
		{"in total", p.MaxNoOfPodsToEvictTotal},
	} {
		if limit.value != nil {
			fmt.Fprintf(&b, "at most %d %s\n", *limit.value, limit.name)
		}
	}
	if p.GracePeriodSeconds != nil {
		fmt.Fprintf(&b, "grace period: %ds\n", *p.GracePeriodSeconds)
	}
	if p.EvictionFailureEventNotification {
		fmt.Fprintln(&b, "events for refused evictions")
	}
	if p.KubernetesMetrics || p.Prometheus != nil {
		fmt.Fprintf(&b, "metrics: kubernetes=%v prometheus=%s\n", p.KubernetesMetrics, asJSON(p.Prometheus))
	}
	for _, profile := range p.Profiles {
		renderProfile(&b, profile)
	}
	return b.String()
}

func renderProfile(b *strings.Builder, p policy.Profile) {
	fmt.Fprintf(b, "profile %q\n  evictor %s\n  protects %s\n", p.Name, asJSON(p.Evictor), renderProtections(p.Evictor.Protections()))
	for _, use := range p.Deschedule {
		fmt.Fprintf(b, "  deschedule %s %s\n", use.Name, asJSON(use.Args))
	}
	for _, use := range p.Balance {
		fmt.Fprintf(b, "  balance %s %s\n", use.Name, asJSON(use.Args))
	}
}

func renderProtections(p policy.Protections) string {
	var on []string
	for _, s := range []struct {
		name string
		on   bool
	}{
		{"local-storage", p.LocalStorage},
		{"system-critical", p.SystemCritical},
		{"bare", p.BarePods},
		{"daemon-set", p.DaemonSet},
		{"pvc" + strings.Join(append([]string{""}, p.StorageClasses...), ":"), p.PVC},
		{"without-pdb", p.WithoutPDB},
		{"resource-claims", p.ResourceClaims},
	} {
		if s.on {
			on = append(on, s.name)
		}
	}
	if len(on) == 0 {
		return "nothing"
	}
	return strings.Join(on, " ")
}

func asJSON(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(data)
}
