package evict

import (
	"errors"
	"strings"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"evenkeel.dev/evenkeel/internal/plan"
)

// judge says what the API server's answer to an eviction means.
func judge(err error) (plan.Result, string) {
	switch {
	case err == nil:
		return plan.Evicted, ""
	case apierrors.IsTooManyRequests(err):
		return plan.Blocked, blockedBy(err)
	case apierrors.IsNotFound(err):
		return plan.Gone, err.Error()
	case apierrors.IsConflict(err) && strings.Contains(err.Error(), "UID"):
		// The precondition failed: a pod of that name exists, but it is another one.
		return plan.Gone, err.Error()
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return plan.Gone, err.Error()
	case apierrors.IsForbidden(err):
		return plan.Forbidden, err.Error()
	default:
		return plan.Failed, err.Error()
	}
}

// blockedBy is the message of a 429 with what the API server adds in its causes, which name the budget.
func blockedBy(err error) string {
	msg := err.Error()
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return msg
	}
	for _, c := range status.Status().Details.Causes {
		if c.Type == policyv1.DisruptionBudgetCause && c.Message != "" && !strings.Contains(msg, c.Message) {
			msg += " " + c.Message
		}
	}
	return msg
}

// answered reports whether the error is an answer of the API server, as opposed to none.
func answered(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status)
}

func refusesCredentials(err error) bool { return apierrors.IsUnauthorized(err) }
