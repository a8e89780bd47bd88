// Package snapfile reads and writes snapshot files: a cluster as anything that kubectl prints.
//
// [Read] takes what "kubectl get nodes,pods,… -A -o json" or "-o yaml" prints: a List of any kind, single objects, YAML documents, JSON
// documents one after the other, in one file or several, in a directory, compressed with gzip, or from standard input. Items are decoded one at a
// time, turned into the compact form of package cluster and dropped, so that a file much larger than the memory can be read. Field names are
// case-sensitive and unknown fields are ignored, as in Kubernetes; objects of kinds that no decision needs are counted and named in
// the snapshot's notes. What is wrong with a file is an [Error] that names the file, the document, the item and the field.
//
// The same files give the same snapshot for ever: the clock is never read. The time a snapshot was taken is, in this order, what the
// caller says, what the file's header says, or the newest time found in the objects.
//
// [Writer] writes a List with a [Header] as its first item, in the order in which items are added. [Redact] leaves of an object only
// the fields that [Read] reads, so a redacted file gives the same plan by construction.
package snapfile
