package kube

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

const badCredentials = "; the API server does not accept the credentials: check the kubeconfig or the pod's service account token"

// ReadError says which objects could not be read, and, when permission is what is missing, what to grant.
type ReadError struct {
	Verb string // "list" or "watch"
	Kind Kind
	Err  error
}

func (e *ReadError) Error() string {
	msg := fmt.Sprintf("%s %s: %v", e.Verb, e.Kind, e.Err)
	switch {
	case apierrors.IsForbidden(e.Err):
		group := e.Kind.Group
		return msg + fmt.Sprintf("; a ClusterRole must grant the verbs get, list and watch on %q of API group %q", e.Kind.Resource, group)
	case apierrors.IsUnauthorized(e.Err):
		return msg + badCredentials
	}
	return msg
}

func (e *ReadError) Unwrap() error { return e.Err }

// unavailable reports whether a kind can't be had at all, as opposed to not at the moment.
func unavailable(err error) bool { return apierrors.IsForbidden(err) || apierrors.IsNotFound(err) }

// missingNote tells in a snapshot that an optional kind was not looked at.
func missingNote(k Kind, err error) string {
	if apierrors.IsNotFound(err) {
		return fmt.Sprintf("%s were not looked at: the API server does not know them", k)
	}
	return fmt.Sprintf("%s were not looked at: the verbs list and watch are not granted", k)
}
