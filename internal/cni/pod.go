package cni

import "strings"

// Pod is whom an ADD is for, as the container runtime says in CNI_ARGS.
type Pod struct {
	UID       string // empty with runtimes that do not pass it on
	Namespace string
	Name      string
}

// parsePod reads CNI_ARGS, pairs KEY=VALUE between semicolons in any order of
// which the last of a key counts. It reports false unless they name a pod the
// way the kubelet names pods.
func parsePod(args string) (Pod, bool) {
	var p Pod
	for pair := range strings.SplitSeq(args, ";") {
		key, value, _ := strings.Cut(pair, "=")
		switch key {
		case "K8S_POD_UID":
			p.UID = value
		case "K8S_POD_NAMESPACE":
			p.Namespace = value
		case "K8S_POD_NAME":
			p.Name = value
		}
	}
	return p, isName(p.Namespace) && isName(p.Name) && (p.UID == "" || isName(p.UID))
}

// isName reports whether s could be the name of a Kubernetes object: up to 253
// letters, digits, dots and dashes.
func isName(s string) bool {
	if s == "" || len(s) > 253 {
		return false
	}
	for _, r := range []byte(s) {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '.':
		default:
			return false
		}
	}
	return true
}
