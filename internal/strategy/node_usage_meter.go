package strategy

import (
	"fmt"
	"math"
	"strings"

	"evenkeel.dev/evenkeel/internal/cluster"
)

// queryCapacity is what a node has of the resource that a query stands for: the query's values are counted in whole percent, as
// the peer does.
const queryCapacity = 100

// meter says how much nodes and pods use.
type meter interface {
	// node fills in what the node uses. An error says what is not known; the node's usage is then not known at all.
	node(n *cluster.Node, use []int64) error
	// pod fills in what the pod uses and reports whether that is known.
	pod(p *cluster.Pod, use []int64) bool
	// kind tells what pods can be asked.
	kind() meterKind
}

type meterKind uint8

const (
	byRequests meterKind = iota // pods of one spec use the same
	byMeasures                  // every pod uses something else
	byQuery                     // what pods use is never known
)

// newMeter returns the meter for the source of usage that the arguments name. The error says why that has nothing to say.
func newMeter(args *LowNodeUtilizationArgs, view *cluster.View, rs usedResources) (meter, error) {
	switch args.UsageSource() {
	case KubernetesMetrics:
		return measures{view, rs}, nil
	case PrometheusMetrics:
		return newQueried(&view.Usage, args.Query())
	default:
		return requests{view, rs}, nil
	}
}

// measureNodes asks the meter about every node. Nodes that it does not know come back in missing; their errors are in the same order.
func measureNodes(nodes []*cluster.Node, m meter, rs usedResources) (known []*nodeUsage, missing []*cluster.Node, errs []error) {
	n := len(rs)
	all := make([]nodeUsage, len(nodes))
	numbers := make([]int64, 3*n*len(nodes))
	for i, node := range nodes {
		part := numbers[3*n*i : 3*n*(i+1)]
		u := &all[i]
		*u = nodeUsage{node: node, use: part[:n:n], capacity: part[n : 2*n : 2*n], ceiling: part[2*n:]}
		if err := m.node(node, u.use); err != nil {
			missing, errs = append(missing, node), append(errs, fmt.Errorf("node %s: %w", node.Name, err))
			continue
		}
		for j := range rs {
			switch {
			case m.kind() == byQuery:
				u.capacity[j] = queryCapacity
			case rs[j].id >= 0:
				u.capacity[j] = node.Allocatable.Get(rs[j].id)
			}
		}
		known = append(known, u)
	}
	return known, missing, errs
}

// requests counts what pods request.
type requests struct {
	view *cluster.View
	rs   usedResources
}

func (requests) kind() meterKind { return byRequests }

func (m requests) node(n *cluster.Node, use []int64) error {
	m.fill(m.view.Used(n), use)
	return nil
}

func (m requests) pod(p *cluster.Pod, use []int64) bool {
	m.fill(p.Spec.Requests, use)
	return true
}

func (m requests) fill(from cluster.Amounts, use []int64) {
	for i := range m.rs {
		use[i] = 0
		if id := m.rs[i].id; id >= 0 {
			use[i] = from.Get(id)
		}
	}
}

// measures reads the measurements of the Kubernetes metrics API, which knows cpu and memory. Pods are counted.
type measures struct {
	view *cluster.View
	rs   usedResources
}

func (measures) kind() meterKind { return byMeasures }

func (m measures) node(n *cluster.Node, use []int64) error {
	measured, ok := m.view.Usage.Nodes[n.Name]
	if !ok {
		return fmt.Errorf("no metrics of the node were found")
	}
	for i := range m.rs {
		switch id := m.rs[i].id; id {
		case cluster.Pods:
			use[i] = m.view.Used(n).Get(cluster.Pods)
		case cluster.CPU, cluster.Memory:
			if int(id) >= len(measured) || measured[id] < 0 {
				return fmt.Errorf("the node's metrics lack %q", m.rs[i].name)
			}
			use[i] = measured.Get(id)
		default:
			return fmt.Errorf("metrics source %s does not measure resource %q", KubernetesMetrics, m.rs[i].name)
		}
	}
	return nil
}

func (m measures) pod(p *cluster.Pod, use []int64) bool {
	measured, ok := m.view.Usage.Pods[p.Key()]
	if !ok {
		return false
	}
	for i := range m.rs {
		switch id := m.rs[i].id; {
		case id == cluster.Pods:
			use[i] = 1
		case int(id) >= len(measured) || measured[id] < 0:
			return false
		default:
			use[i] = measured.Get(id)
		}
	}
	return true
}

// queried reads the values of a Prometheus query: one for each node, none for pods.
type queried struct{ answer cluster.Answer }

func newQueried(usage *cluster.Usage, query string) (meter, error) {
	answer, asked := usage.Answer(query)
	switch {
	case !asked && len(usage.Queries) == 0:
		return nil, fmt.Errorf("there is no answer to the Prometheus query %q, nor to any other", query)
	case !asked:
		return nil, fmt.Errorf("there is no answer to the Prometheus query %q, only to %s", query, quoted(sortedKeys(usage.Queries)))
	case answer.Failed != "":
		return nil, fmt.Errorf("the Prometheus query %q: %s", query, answer.Failed)
	}
	return queried{answer}, nil
}

// quoted lists texts in words.
func quoted(texts []string) string {
	var list []string
	for _, t := range texts {
		list = append(list, fmt.Sprintf("%q", t))
	}
	return strings.Join(list, ", ")
}

func (queried) kind() meterKind { return byQuery }

func (m queried) node(n *cluster.Node, use []int64) error {
	v, ok := m.answer.Nodes[n.Name]
	switch {
	case !ok:
		return fmt.Errorf("the query gave no single value between 0 and 1 for the node")
	case math.IsNaN(v) || v < 0 || v > 1:
		return fmt.Errorf("the query gave %v for the node, expected a value in [0, 1]", v)
	}
	use[0] = int64(v * queryCapacity)
	return nil
}

func (queried) pod(*cluster.Pod, []int64) bool { return false }
