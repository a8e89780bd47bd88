// Package paceobjects reads and writes the objects of the API group evenkeel.dev at an API server.
package paceobjects

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/gentype"
	"k8s.io/client-go/rest"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// Policies reads and writes PacePolicies.
type Policies = gentype.ClientWithList[*v1alpha1.PacePolicy, *v1alpha1.PacePolicyList]

// Paces reads and writes NodePaces.
type Paces = gentype.ClientWithList[*v1alpha1.NodePace, *v1alpha1.NodePaceList]

// Client has one client for each kind.
type Client struct {
	Policies *Policies
	Paces    *Paces
}

// New connects as config says; it does not call the API server yet. While the CRDs are not installed every call fails
// with "not found".
func New(config *rest.Config) (*Client, error) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("types of %s: %w", v1alpha1.Group, err)
	}
	c := rest.CopyConfig(config)
	version := v1alpha1.GroupVersion()
	c.GroupVersion, c.APIPath = &version, "/apis"
	c.ContentType, c.AcceptContentTypes = runtime.ContentTypeJSON, runtime.ContentTypeJSON // custom resources have no other
	c.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	client, err := rest.RESTClientFor(c)
	if err != nil {
		return nil, fmt.Errorf("connect to the API server: %w", err)
	}
	parameters := runtime.NewParameterCodec(scheme)
	return &Client{
		Policies: gentype.NewClientWithList(v1alpha1.PacePolicies, client, parameters, "",
			func() *v1alpha1.PacePolicy { return &v1alpha1.PacePolicy{} },
			func() *v1alpha1.PacePolicyList { return &v1alpha1.PacePolicyList{} }),
		Paces: gentype.NewClientWithList(v1alpha1.NodePaces, client, parameters, "",
			func() *v1alpha1.NodePace { return &v1alpha1.NodePace{} },
			func() *v1alpha1.NodePaceList { return &v1alpha1.NodePaceList{} }),
	}, nil
}
