package cli

import (
	"reflect"
	"testing"

	"evenkeel.dev/evenkeel/internal/kube"
	"evenkeel.dev/evenkeel/internal/policy"
)

// TestWithoutASecretTheServiceAccountIsUsed compares functions, since the service account's token has one place, which is no test's.
func TestWithoutASecretTheServiceAccountIsUsed(t *testing.T) {
	same := func(a, b kube.Token) bool { return reflect.ValueOf(a).Pointer() == reflect.ValueOf(b).Pointer() }
	if !same(tokenOf(nil, &policy.Prometheus{}), kube.ServiceAccountToken) {
		t.Error("without authToken the token is not that of the service account")
	}
	secret := &policy.Prometheus{AuthToken: &policy.AuthToken{SecretReference: &policy.SecretReference{Namespace: "a", Name: "b"}}}
	if same(tokenOf(nil, secret), kube.ServiceAccountToken) {
		t.Error("with authToken the token is that of the service account")
	}
}
