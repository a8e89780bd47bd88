package snapfile

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Lister lists objects of a live cluster.
type Lister interface {
	// ListPage returns one page of a list, as JSON, as the API server sends it. The path is that of the resource, for example
	// /api/v1/pods. Errors are those of k8s.io/apimachinery/pkg/api/errors where they are the server's.
	ListPage(ctx context.Context, path string, limit int64, continueToken string) ([]byte, error)
}

// Resource is a kind that can be taken from a live cluster.
type Resource struct {
	APIVersion string
	Kind       string
	Path       string
	Required   bool // there is no snapshot without it
}

// Resources are all of them, in the order in which they are written.
func Resources() []Resource {
	return []Resource{
		{"v1", "Namespace", "/api/v1/namespaces", false},
		{"scheduling.k8s.io/v1", "PriorityClass", "/apis/scheduling.k8s.io/v1/priorityclasses", false},
		{"storage.k8s.io/v1", "StorageClass", "/apis/storage.k8s.io/v1/storageclasses", false},
		{"v1", "PersistentVolume", "/api/v1/persistentvolumes", false},
		{"v1", "PersistentVolumeClaim", "/api/v1/persistentvolumeclaims", false},
		{"apps/v1", "Deployment", "/apis/apps/v1/deployments", false},
		{"apps/v1", "ReplicaSet", "/apis/apps/v1/replicasets", false},
		{"apps/v1", "StatefulSet", "/apis/apps/v1/statefulsets", false},
		{"apps/v1", "DaemonSet", "/apis/apps/v1/daemonsets", false},
		{"v1", "ReplicationController", "/api/v1/replicationcontrollers", false},
		{"batch/v1", "Job", "/apis/batch/v1/jobs", false},
		{"policy/v1", "PodDisruptionBudget", "/apis/policy/v1/poddisruptionbudgets", false},
		{"v1", "Node", "/api/v1/nodes", true},
		{"v1", "Pod", "/api/v1/pods", true},
		{"metrics.k8s.io/v1beta1", "NodeMetrics", "/apis/metrics.k8s.io/v1beta1/nodes", false},
		{"metrics.k8s.io/v1beta1", "PodMetrics", "/apis/metrics.k8s.io/v1beta1/pods", false},
		{"evenkeel.dev/v1alpha1", "NodePace", "/apis/evenkeel.dev/v1alpha1/nodepaces", false},
	}
}

// TakeOptions say what to take.
type TakeOptions struct {
	Header Header           // Kinds, Missing and TakenAt are filled in
	Now    func() time.Time // asked once, when the objects begin to be read
	Kinds  []string         // which kinds; all when empty, and the required ones always
	Limit  int64            // objects a page; 500 when zero
	// Progress, when set, is told of every page: objects of that kind so far.
	Progress func(kind string, objects int)
}

// Taken is what was taken of one kind.
type Taken struct {
	Kind     string
	Objects  int
	Pages    int
	Restarts int    // times that the list was begun again since it had expired
	Missing  string // why it could not be listed; empty when it was
}

// maxRestarts is how often a list that expires is begun again.
const maxRestarts = 3

// Take writes a snapshot of a live cluster to f, page by page. Kinds that the user may not list, or that the server does not have, are noted in the
// header; nodes and pods are required. A list that expires on the way is taken back and begun again, and when that goes on, Take
// fails. The file is neither committed nor aborted.
func Take(ctx context.Context, l Lister, f *OutFile, o TakeOptions) ([]Taken, error) {
	if o.Limit <= 0 {
		o.Limit = 500
	}
	if o.Progress == nil {
		o.Progress = func(string, int) {}
	}
	resources, err := selected(o.Kinds)
	if err != nil {
		return nil, err
	}
	t := &taker{lister: l, file: f, options: o}
	if err := t.probe(ctx, resources); err != nil {
		return nil, err
	}
	h := o.Header
	h.TakenAt = o.Now()
	for _, k := range t.kinds {
		if k.taken.Missing != "" {
			h.Missing = append(h.Missing, Missing{Kind: k.Kind, Reason: k.taken.Missing})
		} else {
			h.Kinds = append(h.Kinds, k.Kind)
		}
	}
	if t.writer, err = NewWriter(f, h); err != nil {
		return nil, err
	}
	var out []Taken
	for _, k := range t.kinds {
		if k.taken.Missing == "" {
			if err := t.take(ctx, k); err != nil {
				return nil, err
			}
		}
		out = append(out, k.taken)
	}
	return out, t.writer.Close()
}

// selected are the resources of those kinds.
func selected(kinds []string) ([]Resource, error) {
	all := Resources()
	if len(kinds) == 0 {
		return all, nil
	}
	for _, kind := range kinds {
		if !slices.ContainsFunc(all, func(r Resource) bool { return r.Kind == kind }) {
			var names []string
			for _, r := range all {
				names = append(names, r.Kind)
			}
			return nil, fmt.Errorf("kind %q: expected one of %s", kind, strings.Join(names, ", "))
		}
	}
	return slices.DeleteFunc(all, func(r Resource) bool { return !r.Required && !slices.Contains(kinds, r.Kind) }), nil
}

// taker takes one snapshot.
type taker struct {
	lister  Lister
	file    *OutFile
	options TakeOptions
	kinds   []*takenKind
	writer  *Writer
}

type takenKind struct {
	Resource
	taken Taken
	whole []byte // the whole list, when the probe came back with it
}

// probe lists one object of every kind, to find out what may be listed: the header, which comes first, says so.
func (t *taker) probe(ctx context.Context, resources []Resource) error {
	for _, r := range resources {
		k := &takenKind{Resource: r, taken: Taken{Kind: r.Kind}}
		t.kinds = append(t.kinds, k)
		data, err := t.lister.ListPage(ctx, r.Path, 1, "")
		switch {
		case err == nil:
			if p, err := parsePage(data); err == nil && p.Metadata.Continue == "" {
				k.whole = data
			}
		case r.Required || !absent(err):
			return fmt.Errorf("list %s: %w", r.Path, err)
		default:
			k.taken.Missing = err.Error()
		}
	}
	return nil
}

// absent reports whether an error says that a kind can't be had, rather than that something is wrong.
func absent(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsNotFound(err) || apierrors.IsServiceUnavailable(err) || apierrors.IsMethodNotSupported(err)
}

// page is a list as the API server sends it.
type page struct {
	Metadata struct {
		Continue string `json:"continue"`
	} `json:"metadata"`
	Items []json.RawMessage `json:"items"`
}

func parsePage(data []byte) (*page, error) {
	p, problem := decode[page](data)
	if problem != nil {
		return nil, problem.in("the server's answer")
	}
	return p, nil
}

// take writes all objects of a kind.
func (t *taker) take(ctx context.Context, k *takenKind) error {
	if err := t.file.Mark(); err != nil {
		return err
	}
	for {
		err := t.pages(ctx, k)
		if err == nil {
			return nil
		}
		if !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) {
			return fmt.Errorf("list %s: %w", k.Path, err)
		}
		if k.taken.Restarts == maxRestarts {
			return fmt.Errorf("list %s: expired %d times before it was complete; is the API server's etcd compacted too often? %w", k.Path, maxRestarts+1, err)
		}
		k.taken.Restarts++
		if err := t.file.Rewind(); err != nil {
			return err
		}
	}
}

// pages writes the pages of a kind from the first on.
func (t *taker) pages(ctx context.Context, k *takenKind) error {
	k.taken.Objects, k.taken.Pages = 0, 0
	for token := ""; ; {
		data := k.whole
		if data == nil {
			var err error
			if data, err = t.lister.ListPage(ctx, k.Path, t.options.Limit, token); err != nil {
				return err
			}
		}
		p, err := parsePage(data)
		if err != nil {
			return err
		}
		for _, item := range p.Items {
			if err := t.writer.Add(k.APIVersion, k.Kind, item); err != nil {
				return err
			}
		}
		k.taken.Pages++
		k.taken.Objects += len(p.Items)
		t.options.Progress(k.Kind, k.taken.Objects)
		if p.Metadata.Continue == "" {
			return nil
		}
		if p.Metadata.Continue == token {
			return errors.New("the server answers with the same page again and again")
		}
		token = p.Metadata.Continue
	}
}
