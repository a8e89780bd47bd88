// Package cniexe tests the CNI executable as a program: the real file, started
// the way a container runtime starts a plugin, over the real socket or named
// pipe, in front of a stub plugin that behaves like azure-vnet. The same tests
// run on Linux (go test ./test/cniexe) and as Windows programs (wine.sh).
package cniexe
