package cni

import (
	"strings"
	"testing"
)

func TestPodIsReadFromCNIArgs(t *testing.T) {
	cart := Pod{UID: "0b2e-11", Namespace: "shop", Name: "cart-0"}
	for args, want := range map[string]*Pod{
		"IgnoreUnknown=1;K8S_POD_NAMESPACE=shop;K8S_POD_NAME=cart-0;K8S_POD_UID=0b2e-11":      &cart,
		"K8S_POD_UID=0b2e-11;K8S_POD_NAME=cart-0;IgnoreUnknown=1;K8S_POD_NAMESPACE=shop":      &cart,
		"K8S_POD_UID=old;K8S_POD_UID=0b2e-11;K8S_POD_NAME=cart-0;K8S_POD_NAMESPACE=shop;;=;x": &cart,
		"K8S_POD_NAMESPACE=shop;K8S_POD_NAME=cart-0":                                          {Namespace: "shop", Name: "cart-0"},
		"k8s_pod_namespace=shop;k8s_pod_name=cart-0":                                          nil,
		"K8S_POD_NAME=cart-0;K8S_POD_UID=0b2e-11":                                             nil,
		"K8S_POD_NAMESPACE=shop;K8S_POD_NAME=..\\cart":                                        nil,
		"K8S_POD_NAMESPACE=shop;K8S_POD_NAME=cart-0;K8S_POD_UID=../../x":                      nil,
		"K8S_POD_NAMESPACE=shop;K8S_POD_NAME=" + strings.Repeat("x", 254):                     nil,
		"": nil,
	} {
		got, ok := parsePod(args)
		if ok != (want != nil) || (ok && got != *want) {
			t.Errorf("%q: got %+v, %v", args, got, ok)
		}
	}
}

func FuzzParsePod(f *testing.F) {
	f.Add("IgnoreUnknown=1;K8S_POD_NAMESPACE=shop;K8S_POD_NAME=cart-0;K8S_POD_UID=0b2e-11")
	f.Fuzz(func(t *testing.T, args string) {
		p, ok := parsePod(args)
		if !ok {
			return
		}
		for _, name := range []string{p.Namespace, p.Name} {
			if name == "" || strings.ContainsAny(name, "/\\;= \n\"") {
				t.Errorf("%q gives the name %q", args, name)
			}
		}
		if key := fileKey(p.Namespace + "/" + p.Name); strings.ContainsAny(key, `/\`) || len(key) > 64 {
			t.Errorf("%q gives the file name %q", args, key)
		}
	})
}
