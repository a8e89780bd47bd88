// Package kube is everything Evenkeel reads from an API server: clients, permissions and live [cluster.Snapshot]s.
//
// Two sources give snapshots. A [Lister] lists everything once, in pages, which suits a Job, a CronJob and a plan made by hand.
// A [Watcher] keeps a picture of the cluster up to date for a process that lives for weeks. Both turn every API object into its
// compact form the moment it is decoded, so that no more than a page of whole objects is ever held, and a
// watcher of 150,000 pods needs a few hundred bytes for each.
//
// Nodes and pods are required: without them there is nothing to decide. Every other kind is optional. Where
// permission for it is missing, or the API server does not know it, the snapshot says so ([cluster.Has], and a note) and the
// decisions that need it are refused rather than guessed.
//
// Reads are not held back by the client's QPS: pages follow each other and watches are few, and API priority and
// fairness protects the server. The QPS paces evictions; see package evict.
package kube
