package install

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// writerHolds reports whether someone has the file open for writing. A read
// lease is granted only while nobody has; where leases do not exist the answer
// is no, and the caller's test for stable content decides alone.
func writerHolds(path string) (bool, error) {
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	_, err = unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_RDLCK)
	if errors.Is(err, unix.EAGAIN) {
		return true, nil
	}
	return false, nil
}
