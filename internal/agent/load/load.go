// Package load measures how busy the node is and when it was booted.
//
// A Reader looks at the whole machine, also from inside a container: the
// kernel's files on Linux (processor time, memory, pressure stall information),
// two system calls on Windows, where there is no figure for I/O.
package load

import "time"

// Unknown is the figure that the system does not give. It is not zero, which
// would be taken for a node without a care.
const Unknown = -1

// Sample is a moment's load in percent, 0 to 100, or Unknown.
type Sample struct {
	CPU    float64 // processor time in use since the sample before
	Memory float64 // memory that cannot be given to programs
	IO     float64 // time in which some task waited for I/O, over ten seconds (Linux with PSI)
}

// Reader measures; it is not safe for concurrent use.
type Reader interface {
	// Read gives the load since the last call; the first call has no CPU figure.
	Read() (Sample, error)
}

// New gives the reader of this system.
func New() Reader { return newReader() }

// BootTime is when the system was started. Times that the API shows from before
// it belong to pods of an earlier life of the node.
func BootTime() (time.Time, error) { return bootTime() }

// cpu turns running totals of processor time into the share in use.
type cpu struct{ total, idle uint64 }

func (c *cpu) percent(total, idle uint64) float64 {
	was := *c
	*c = cpu{total, idle}
	if was.total == 0 || total <= was.total || idle < was.idle {
		return Unknown
	}
	spent := float64(total - was.total)
	return 100 * max(0, spent-float64(idle-was.idle)) / spent
}
