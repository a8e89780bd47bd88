// Package harness lets tests run against real components: a control plane
// (etcd, kube-apiserver, kube-controller-manager, kube-scheduler) with fake
// nodes by kwok, the real kubectl, and our own commands started as their
// manifests say.
//
// The components are found in the cache under the hash of their sources; 'make
// components' builds them. Where they are missing a test fails and says so: it
// is never skipped.
//
// Everything that is started lives as long as a pipe that the test process
// holds, so a test that is killed leaves nothing behind.
package harness
