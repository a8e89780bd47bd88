package cli

import (
	"time"

	"evenkeel.dev/evenkeel/internal/cluster"
	"evenkeel.dev/evenkeel/internal/snapfile"
)

// readSnapshotFiles reads a cluster from files and directories, and from standard input for "-". Now, unless it is zero, stands for the
// time the snapshot was taken.
func readSnapshotFiles(streams Streams, paths []string, now time.Time) (*cluster.Snapshot, error) {
	s, _, err := snapfile.Read(paths, snapfile.Options{Now: now, Stdin: streams.In})
	return s, err
}
