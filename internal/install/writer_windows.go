package install

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// writerHolds reports whether someone has the file open for writing: an open
// that does not share writing is refused while one does. It does share reading,
// so scanners do not count, and it lasts an instant, so that a copy about to
// begin is not disturbed.
func writerHolds(path string) (bool, error) {
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return false, &os.PathError{Op: "open", Path: path, Err: err}
	}
	h, err := windows.CreateFile(name, windows.GENERIC_READ, windows.FILE_SHARE_READ|windows.FILE_SHARE_DELETE,
		nil, windows.OPEN_EXISTING, windows.FILE_ATTRIBUTE_NORMAL, 0)
	if errors.Is(err, windows.ERROR_SHARING_VIOLATION) {
		return true, nil
	}
	if err != nil {
		return false, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return false, windows.CloseHandle(h)
}
