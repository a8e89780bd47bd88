// Package scale measures the live process on a large cluster: an API server that streams a generated cluster in protobuf, and the real program
// that watches it. The objects are as large as those of real clusters, managed fields, environment and status included, so that
// what the program does not keep is there to be dropped.
package scale
