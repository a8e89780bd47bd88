package kube_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evenkeel.dev/evenkeel/internal/cluster"
	"evenkeel.dev/evenkeel/internal/kube"
)

const (
	paceGroup = "/apis/evenkeel.dev/v1alpha1"
	pacePath  = paceGroup + "/nodepaces"
)

// paceAPI answers by path, or by path and continue token. An answer that is a number is a status.
func paceAPI(t *testing.T, answers map[string]any) kube.StartsFunc {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key := r.URL.Path
		if token := r.URL.Query().Get("continue"); token != "" {
			key += "?" + token
		}
		w.Header().Set("Content-Type", "application/json")
		switch a := answers[key].(type) {
		case string:
			fmt.Fprint(w, a)
		case int:
			w.WriteHeader(a)
			fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"no","code":%d,"reason":%q}`, a, map[int]string{403: "Forbidden", 500: "InternalError"}[a])
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(server.Close)
	client, err := kube.Connection{Kubeconfig: kubeconfig(t, server.URL)}.Connect()
	if err != nil {
		t.Fatal(err)
	}
	return kube.NodePaces(client)
}

// TestNodePacesAreReadInPages: a report without a limit says nothing yet.
func TestNodePacesAreReadInPages(t *testing.T) {
	read := paceAPI(t, map[string]any{
		pacePath:           `{"metadata":{"continue":"next"},"items":[{"metadata":{"name":"one"},"status":{"limit":3,"starting":2,"waiting":1}}]}`,
		pacePath + "?next": `{"metadata":{},"items":[{"metadata":{"name":"two"},"status":{"limit":0}},{"metadata":{"name":"three"},"status":{"limit":5}}]}`,
	})
	got, note, err := read(t.Context())
	if err != nil || note != "" {
		t.Fatal(note, err)
	}
	want := map[string]cluster.Starts{"one": {Limit: 3, Starting: 2, Waiting: 1}, "three": {Limit: 5}}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestWithoutAgentsNothingIsSaid: neither where the kind is not installed, nor where moreover nobody granted to list it.
func TestWithoutAgentsNothingIsSaid(t *testing.T) {
	for name, answers := range map[string]map[string]any{"not installed": {}, "nor granted": {pacePath: 403}} {
		t.Run(name, func(t *testing.T) {
			starts, note, err := paceAPI(t, answers)(t.Context())
			if len(starts) > 0 || note != "" || err != nil {
				t.Error(starts, note, err)
			}
		})
	}
}

// TestNodePacesThatCannotBeRead: a missing permission is noted, any other failure is an error.
func TestNodePacesThatCannotBeRead(t *testing.T) {
	starts, note, err := paceAPI(t, map[string]any{pacePath: 403, paceGroup: `{"kind":"APIResourceList"}`})(t.Context())
	if len(starts) > 0 || err != nil || !strings.Contains(note, "nodepaces.evenkeel.dev were not looked at: the verb list is not granted") {
		t.Error(starts, note, err)
	}
	for name, answer := range map[string]any{"list nodepaces.evenkeel.dev: ": 500, "unexpected end of JSON input": "{"} {
		if _, _, err := paceAPI(t, map[string]any{pacePath: answer})(t.Context()); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("error %v, expected %q in it", err, name)
		}
	}
}
