// Package manifests holds no code, only tests: each overlay under
// deploy/kustomize is applied to a real API server as a user would do it, and
// what its service account may do there is compared with a list.
package manifests
