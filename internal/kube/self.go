package kube

import (
	"os"
	"strings"
)

const namespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// Self names the pod that this process runs in: POD_NAMESPACE and POD_NAME where the manifest sets them, else the service
// account's namespace and the host name, which is the pod's name unless it uses the node's network. ok is false outside a cluster.
func Self() (namespace, name string, ok bool) {
	return self(os.Getenv, os.Hostname, func() (string, error) {
		b, err := os.ReadFile(namespaceFile)
		return string(b), err
	})
}

func self(getenv func(string) string, hostname, readNamespace func() (string, error)) (namespace, name string, ok bool) {
	namespace, name = getenv("POD_NAMESPACE"), getenv("POD_NAME")
	if namespace == "" {
		text, err := readNamespace()
		if err != nil {
			return "", "", false
		}
		namespace = strings.TrimSpace(text)
	}
	if name == "" {
		host, err := hostname()
		if err != nil {
			return "", "", false
		}
		name = host
	}
	return namespace, name, namespace != "" && name != ""
}
