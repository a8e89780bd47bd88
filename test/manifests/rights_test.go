package manifests

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"evenkeel.dev/evenkeel/test/harness"
)

var rewrite = flag.Bool("rewrite", false, "write the lists of rights under testdata anew")

// TestServiceAccountMayDoExactlyWhatIsListed asks the API server with the
// account's own token; the lists under testdata are complete.
func TestServiceAccountMayDoExactlyWhatIsListed(t *testing.T) {
	for _, overlay := range overlays() {
		t.Run(overlay.name, func(t *testing.T) {
			cluster := overlay.apply(t)
			got := rights(t, cluster)
			golden := filepath.Join("testdata", "rights-"+overlay.name+".txt")
			if *rewrite {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
				t.Errorf("what %s may do (-listed +granted):\n%s", account, diff)
			}
		})
	}
}

// TestServiceAccountMayNotDoHarm tries single questions on top of the lists,
// since those come from the API server's summary of the rules.
func TestServiceAccountMayNotDoHarm(t *testing.T) {
	for _, overlay := range overlays() {
		t.Run(overlay.name, func(t *testing.T) {
			cluster := overlay.apply(t)
			client := cluster.ClientFor(t, namespace, account)
			for _, question := range []struct {
				verb, group, resource, name string
				allowed                     bool
			}{
				{"list", "", "pods", "", true},
				{"watch", "", "nodes", "", true},
				{"create", "", "pods/eviction", "", true},
				{"list", "metrics.k8s.io", "pods", "", true},
				{"list", "evenkeel.dev", "nodepaces", "", true},
				{"patch", "evenkeel.dev", "nodepaces", "", false},
				{"create", "coordination.k8s.io", "leases", "", overlay.name == "deployment"},
				{"update", "coordination.k8s.io", "leases", "descheduler", overlay.name == "deployment"},
				{"update", "coordination.k8s.io", "leases", "kube-scheduler", false},
				{"delete", "", "pods", "", false},
				{"create", "", "pods", "", false},
				{"patch", "", "pods", "", false},
				{"create", "", "pods/exec", "", false},
				{"get", "", "pods/log", "", false},
				{"create", "", "pods/binding", "", false},
				{"patch", "", "nodes", "", false},
				{"get", "", "nodes/proxy", "", false},
				{"get", "", "secrets", "", false},
				{"list", "", "secrets", "", false},
				{"get", "", "configmaps", "", false},
				{"update", "apps", "deployments", "", false},
				{"create", "", "serviceaccounts/token", "", false},
				{"impersonate", "", "users", "", false},
				{"escalate", "rbac.authorization.k8s.io", "clusterroles", "", false},
			} {
				checkAccess(t, client, question.verb, question.group, question.resource, question.name, question.allowed)
			}
		})
	}
}

func checkAccess(t *testing.T, client kubernetes.Interface, verb, group, resource, name string, allowed bool) {
	t.Helper()
	resource, subresource, _ := strings.Cut(resource, "/")
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: namespace, Verb: verb, Group: group, Resource: resource, Subresource: subresource, Name: name,
		},
	}}
	answer, err := client.AuthorizationV1().SelfSubjectAccessReviews().Create(t.Context(), review, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if answer.Status.Allowed != allowed {
		t.Errorf("%s %s/%s %s %s: allowed is %v, want %v (%s)", verb, resource, subresource, group, name, answer.Status.Allowed, allowed, answer.Status.Reason)
	}
}

// rights lists what the account may do beyond what any service account may,
// first in every namespace, then in its own.
func rights(t *testing.T, cluster *harness.Cluster) string {
	t.Helper()
	elsewhere := cluster.Namespace(t)
	own := cluster.ClientFor(t, namespace, account)
	anyone := cluster.ClientFor(t, elsewhere, "default")
	everywhere := without(rules(t, own, elsewhere), rules(t, anyone, elsewhere))
	home := without(without(rules(t, own, namespace), rules(t, anyone, namespace)), everywhere)
	return "in every namespace\n" + indent(everywhere) + "in kube-system, on top\n" + indent(home)
}

// rules renders one line for each verb on each resource or path.
func rules(t *testing.T, client kubernetes.Interface, in string) []string {
	t.Helper()
	answer, err := client.AuthorizationV1().SelfSubjectRulesReviews().Create(t.Context(), &authorizationv1.SelfSubjectRulesReview{
		Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: in},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, rule := range answer.Status.ResourceRules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					line := fmt.Sprintf("%s.%s %s", resource, group, verb)
					if group == "" {
						line = fmt.Sprintf("%s %s", resource, verb)
					}
					if len(rule.ResourceNames) > 0 {
						line += " named " + strings.Join(rule.ResourceNames, " ")
					}
					found = append(found, line)
				}
			}
		}
	}
	for _, rule := range answer.Status.NonResourceRules {
		found = append(found, fmt.Sprintf("paths %v %v", rule.NonResourceURLs, rule.Verbs))
	}
	slices.Sort(found)
	return slices.Compact(found)
}

func without(all, known []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(line string) bool { return slices.Contains(known, line) })
}

func indent(lines []string) string {
	var text strings.Builder
	for _, line := range lines {
		text.WriteString("  " + line + "\n")
	}
	return text.String()
}
