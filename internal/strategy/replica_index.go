package strategy

import (
	"slices"
	"strings"

	"evenkeel.dev/evenkeel/internal/cluster"
)

// replicaKey names a group of replicas. Pods with several owners belong to a group for each.
type replicaKey struct {
	namespace, kind, name string
	images                int32
}

// replicaIndex numbers groups of replicas and finds those that share a node.
type replicaIndex struct {
	snapshot *cluster.Snapshot
	workload bool // groups are workloads, whatever their images
	images   imageIndex
	ids      map[replicaKey]int32
	likely   map[likelyKey]alike // pods with these very owners and spec
	lastNode []*cluster.Node     // by group: where its latest pod was
	keys     []replicaKey
	byPod    [][]int32   // the groups of each pod that was counted
	repeated []*replicas // by group: those with several pods on a node
}

// likelyKey is what the replicas of a workload share by pointer, so that most pods need no further look-up.
type likelyKey struct {
	owners *cluster.Owner
	spec   *cluster.Spec
}

// alike are the groups of pods that share what is in a key, in a namespace: hardly ever are there such pods in another.
type alike struct {
	namespace string
	groups    []int32
}

func newReplicaIndex(s *cluster.Snapshot, byWorkload bool) *replicaIndex {
	return &replicaIndex{
		snapshot: s, workload: byWorkload,
		images: imageIndex{bySpec: map[*cluster.Spec]int32{}, byName: map[string]int32{}},
		ids:    map[replicaKey]int32{}, likely: map[likelyKey]alike{},
	}
}

// count takes in a pod on n; nodes must come one after the other.
func (x *replicaIndex) count(n *cluster.Node, p *cluster.Pod) {
	x.byPod[p.Index] = x.groupsOf(p)
	for _, id := range x.byPod[p.Index] {
		if x.lastNode[id] == n && x.repeated[id] == nil {
			x.repeated[id] = &replicas{key: x.keys[id], images: x.images.names[x.keys[id].images], whole: x.workload}
		}
		x.lastNode[id] = n
	}
}

// groupsOf lists the groups of a pod.
func (x *replicaIndex) groupsOf(p *cluster.Pod) []int32 {
	shared := likelyKey{&p.Owners[0], p.Spec}
	if like, ok := x.likely[shared]; ok && like.namespace == p.Namespace {
		return like.groups
	}
	var list []int32
	for _, key := range x.keysOf(p) {
		id, ok := x.ids[key]
		if !ok {
			id = int32(len(x.keys))
			x.ids[key] = id
			x.keys = append(x.keys, key)
			x.lastNode = append(x.lastNode, nil)
			x.repeated = append(x.repeated, nil)
		}
		if !slices.Contains(list, id) {
			list = append(list, id)
		}
	}
	x.likely[shared] = alike{p.Namespace, list}
	return list
}

func (x *replicaIndex) keysOf(p *cluster.Pod) []replicaKey {
	if x.workload {
		top := x.snapshot.Top(p.PodInfo)
		return []replicaKey{{p.Namespace, top.Kind, top.Name, x.images.number("")}}
	}
	keys := make([]replicaKey, len(p.Owners))
	for i := range p.Owners {
		keys[i] = replicaKey{p.Namespace, p.Owners[i].Kind, p.Owners[i].Name, x.images.of(p.Spec)}
	}
	return keys
}

// imageIndex numbers the image lists of specs, so that groups have small keys.
type imageIndex struct {
	bySpec map[*cluster.Spec]int32
	byName map[string]int32
	names  []string
}

func (x *imageIndex) of(s *cluster.Spec) int32 {
	if id, ok := x.bySpec[s]; ok {
		return id
	}
	id := x.number(strings.Join(s.Images, "#"))
	x.bySpec[s] = id
	return id
}

func (x *imageIndex) number(images string) int32 {
	id, ok := x.byName[images]
	if !ok {
		id = int32(len(x.names))
		x.names = append(x.names, images)
		x.byName[images] = id
	}
	return id
}

// coming counts the replacements that are expected on nodes by what owned the pods.
type coming struct {
	view   *cluster.View
	seen   map[*cluster.Node]int // how many of its arrivals are counted
	counts map[comingKey]int
}

type comingKey struct {
	node                  *cluster.Node
	namespace, kind, name string
}

func newComing(v *cluster.View) *coming {
	return &coming{view: v, seen: map[*cluster.Node]int{}, counts: map[comingKey]int{}}
}

// of is how many replacements of a group's pods, whatever their images, are expected on n.
func (x *coming) of(g replicaKey, n *cluster.Node) int {
	arrivals := x.view.Arrivals(n)
	for _, p := range arrivals[x.seen[n]:] {
		x.count(p, n)
	}
	if len(arrivals) > 0 {
		x.seen[n] = len(arrivals)
	}
	return x.counts[comingKey{n, g.namespace, g.kind, g.name}]
}

// count counts p once for each owner, and for what owns that.
func (x *coming) count(p *cluster.Pod, n *cluster.Node) {
	var keys []comingKey
	add := func(o *cluster.Owner) {
		if key := (comingKey{n, p.Namespace, o.Kind, o.Name}); !slices.Contains(keys, key) {
			keys = append(keys, key)
			x.counts[key]++
		}
	}
	for i := range p.Owners {
		add(&p.Owners[i])
	}
	if top := x.view.Top(p.PodInfo); top != nil {
		add(top)
	}
}
