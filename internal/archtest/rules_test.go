package archtest

import "strings"

const module = "evenkeel.dev/evenkeel"

// The packages that decide: a plan must be a function of its inputs alone.
var (
	core = []string{
		"internal/cluster", "internal/fit", "internal/plan", "internal/strategy", "internal/gate",
		"internal/policy", "internal/engine", "internal/simulate",
	}
	queue     = []string{"internal/pace"}
	startPath = []string{"internal/sock", "internal/paceapi", "internal/paceserver", "internal/cni", "cmd/evenkeel-cni"}
	support   = []string{"internal/testkit", "internal/archtest", "internal/kube/stub", "test"}
	adapters  = []string{"internal/kube", "internal/snapfile", "internal/evict", "internal/report", "internal/admission"}
)

// importRule forbids imports to some packages of the module. Names match a
// package and everything below it; names of ours are relative to the module.
type importRule struct {
	packages []string
	// reach may not be imported even through other packages. Chains are not
	// followed into the standard library: that fmt uses os is its own affair.
	reach []string
	// direct may not be imported by the package itself.
	direct []string
	why    string
}

func importRules() []importRule {
	return []importRule{{
		packages: core,
		reach:    []string{"k8s.io/client-go", "sigs.k8s.io/controller-runtime"},
		direct:   []string{"net/http", "os", "log/slog", "k8s.io/klog", "context"},
		why: "a plan is plain data: the same snapshot, policy and history give the same bytes, on a laptop and in a cluster," +
			" so what decides does no I/O and holds no client, logger or context",
	}, {
		packages: queue,
		reach:    []string{"k8s.io", "net/http", "log/slog", "os"},
		direct:   []string{"context"},
		why:      "the queue is a state machine that scenario files drive by hand; time and events come in as values",
	}, {
		packages: startPath,
		reach:    []string{"k8s.io", "sigs.k8s.io/controller-runtime", "google.golang.org/grpc", "net/http"},
		why:      "the executable is started once for every pod on a node that is short of everything: it has to stay tiny",
	}, {
		packages: []string{"internal/paceapi", "internal/cni", "cmd/evenkeel-cni"},
		direct:   []string{"net"},
		why:      "package net costs the executable a tenth of its start; what needs it is in sock/listen and paceserver",
	}, {
		packages: adapters,
		direct:   adapters,
		why:      "each adapter speaks to one outside thing; joining them is the controller's job",
	}, {
		packages: []string{"internal", "cmd"},
		reach:    support,
		why:      "test support must not get into what we ship",
	}}
}

// clockFunctions names the functions of package time that read or wait for the
// machine's clock.
func clockFunctions() []string {
	return []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"}
}

// within says whether the package is one of names or lies below one.
func within(pkg string, names []string) bool {
	pkg = strings.TrimPrefix(pkg, module+"/")
	for _, name := range names {
		if pkg == name || strings.HasPrefix(pkg, name+"/") {
			return true
		}
	}
	return false
}
