// Package testkit is for tests only: clusters in a few words, and scenario files that run a policy on them.
//
// A scenario file is read by github.com/cockroachdb/datadriven. Its commands:
//
//	cluster       the lines below build the cluster; see Cluster
//	objects       Kubernetes objects (YAML, separated by ---) to add to it
//	policy        a DeschedulerPolicy; or, in short, plugin names with args: see ParsePolicy
//	plan [compat] [why=ns/pod] [enable=(a,b)] [background] [quiet] [rooms]
//	              one cycle; prints its moves (with rooms, where to), refusals (not with quiet) and remarks
//
// Run the tests with -rewrite to write what comes out into the files, and read the difference.
package testkit
