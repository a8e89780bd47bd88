package evict

import (
	"context"
	"fmt"

	authorizationv1 "k8s.io/api/authorization/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

// requestedBy is what the descheduler writes into its evictions; webhooks and log searches know it, so it stays.
const requestedBy = "sigs.k8s.io/descheduler"

type api struct{ write, read kubernetes.Interface }

// NewAPI returns an API on the API server. Evictions go through write, whose QPS and burst are their pace.
func NewAPI(write, read kubernetes.Interface) API { return &api{write: write, read: read} }

// Evict posts a policy/v1 Eviction. It is sent once: a client that waits and retries by itself on a 429 with
// Retry-After, as client-go would, holds up the whole plan for one pod.
func (a *api) Evict(ctx context.Context, r Request) error {
	uid := types.UID(r.Pod.UID)
	eviction := &policyv1.Eviction{
		TypeMeta: metav1.TypeMeta{APIVersion: policyv1.SchemeGroupVersion.String(), Kind: "Eviction"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: r.Pod.Namespace, Name: r.Pod.Name,
			Annotations: map[string]string{"requested-by": requestedBy, "reason": r.Reason},
		},
		DeleteOptions: &metav1.DeleteOptions{
			GracePeriodSeconds: r.GracePeriodSeconds,
			Preconditions:      &metav1.Preconditions{UID: &uid},
		},
	}
	return a.write.PolicyV1().RESTClient().Post().
		AbsPath("/api/v1").Namespace(r.Pod.Namespace).Resource("pods").Name(r.Pod.Name).SubResource("eviction").
		MaxRetries(0).Body(eviction).Do(ctx).Error()
}

// MayEvict asks with a SelfSubjectAccessReview, which every authenticated user may create.
func (a *api) MayEvict(ctx context.Context, namespace string) (bool, error) {
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: namespace, Verb: "create", Resource: "pods", Subresource: "eviction"},
	}}
	answer, err := a.read.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		return false, fmt.Errorf("ask whether evictions in %s are granted: %w", namespace, err)
	}
	return answer.Status.Allowed, nil
}
