package webhook

import (
	"bytes"
	"context"
	"fmt"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	applyv1 "k8s.io/client-go/applyconfigurations/admissionregistration/v1"
	"k8s.io/client-go/kubernetes"
)

// fieldManager owns webhooks[].clientConfig.caBundle.
const fieldManager = "evenkeel-webhook"

// Configuration is the MutatingWebhookConfiguration that calls this webhook.
type Configuration struct {
	Client kubernetes.Interface
	Name   string
}

// read returns nil when there is none.
func (c Configuration) read(ctx context.Context) (*admissionregistrationv1.MutatingWebhookConfiguration, error) {
	found, err := c.Client.AdmissionregistrationV1().MutatingWebhookConfigurations().Get(ctx, c.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read MutatingWebhookConfiguration %s: %w", c.Name, err)
	}
	return found, nil
}

// published is the bundle that every webhook of the configuration has; nil when they differ or there is none.
func published(configuration *admissionregistrationv1.MutatingWebhookConfiguration) []byte {
	if configuration == nil || len(configuration.Webhooks) == 0 {
		return nil
	}
	bundle := configuration.Webhooks[0].ClientConfig.CABundle
	for _, hook := range configuration.Webhooks {
		if !bytes.Equal(hook.ClientConfig.CABundle, bundle) {
			return nil
		}
	}
	return bundle
}

// publish sets the bundle of every webhook in the configuration. The UID keeps it from making a new one.
func (c Configuration) publish(ctx context.Context, in *admissionregistrationv1.MutatingWebhookConfiguration, bundle []byte) error {
	apply := applyv1.MutatingWebhookConfiguration(c.Name).WithUID(in.UID)
	for _, hook := range in.Webhooks {
		apply.WithWebhooks(applyv1.MutatingWebhook().WithName(hook.Name).
			WithClientConfig(applyv1.WebhookClientConfig().WithCABundle(bundle...)))
	}
	_, err := c.Client.AdmissionregistrationV1().MutatingWebhookConfigurations().Apply(ctx, apply,
		metav1.ApplyOptions{FieldManager: fieldManager, Force: true})
	if err != nil {
		return fmt.Errorf("set the caBundle of MutatingWebhookConfiguration %s: %w", c.Name, err)
	}
	return nil
}
