package webhook

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// Secret is where the replicas keep their keys.
type Secret struct {
	Client          kubernetes.Interface
	Namespace, Name string
}

// read returns the Secret and true; when there is none yet, one to be created and false.
func (s Secret) read(ctx context.Context) (*corev1.Secret, bool, error) {
	secret, err := s.Client.CoreV1().Secrets(s.Namespace).Get(ctx, s.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: s.Name, Labels: map[string]string{"app.kubernetes.io/name": "evenkeel"}},
			Type:       corev1.SecretTypeTLS,
		}, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("read Secret %s/%s: %w", s.Namespace, s.Name, err)
	}
	return secret, true, nil
}

// write puts keys in the place of what was read. It returns false when another replica was first.
func (s Secret) write(ctx context.Context, read *corev1.Secret, exists bool, keys Keys) (bool, error) {
	secret := read.DeepCopy()
	secret.Data = keys
	var err error
	if exists {
		_, err = s.Client.CoreV1().Secrets(s.Namespace).Update(ctx, secret, metav1.UpdateOptions{})
	} else {
		_, err = s.Client.CoreV1().Secrets(s.Namespace).Create(ctx, secret, metav1.CreateOptions{})
	}
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || exists && apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("write Secret %s/%s: %w", s.Namespace, s.Name, err)
	}
	return true, nil
}
