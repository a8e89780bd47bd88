package install

import (
	"io/fs"
	"os"
	"time"
)

// fingerprint tells one state of files from another without reading them: for
// each file what its name is and, behind a symbolic link, what it leads to.
// Missing files are nil.
type fingerprint []fs.FileInfo

// youth is the age up to which a file may have changed again without its time
// of change showing it: file systems count in steps, of 2 s at the coarsest.
const youth = 2 * time.Second

func fingerprintOf(paths ...string) (fingerprint, error) {
	var found fingerprint
	for _, path := range paths {
		name, err := os.Lstat(path)
		if err := ignoreAbsent(err); err != nil {
			return nil, err
		}
		file := name
		if err != nil {
			name, file = nil, nil
		} else if name.Mode()&fs.ModeSymlink != 0 {
			if file, err = os.Stat(path); err != nil {
				file = nil // it leads nowhere
			}
		}
		found = append(found, known(name), known(file))
	}
	return found, nil
}

// known makes a FileInfo find out which file it is about now: on Windows that is
// put off until the first comparison, when another file may have the name.
func known(info fs.FileInfo) fs.FileInfo {
	if info == nil {
		return nil
	}
	os.SameFile(info, info)
	return info
}

func (f fingerprint) equal(g fingerprint) bool {
	if len(f) != len(g) {
		return false
	}
	for i := range f {
		if f[i] == nil && g[i] == nil {
			continue
		}
		if !unchanged(f[i], g[i]) {
			return false
		}
	}
	return true
}

// young reports whether a file changed so shortly before now that a later change
// may look the same.
func (f fingerprint) young(now time.Time) bool {
	for _, info := range f {
		if info != nil && now.Sub(info.ModTime()).Abs() < youth {
			return true
		}
	}
	return false
}

func unchanged(a, b fs.FileInfo) bool {
	return a != nil && b != nil && os.SameFile(a, b) && a.Size() == b.Size() &&
		a.ModTime().Equal(b.ModTime()) && a.Mode() == b.Mode()
}

// fingerprint is of the files on which it depends what there is to install.
func (i Installer) fingerprint() (fingerprint, error) {
	return fingerprintOf(i.Target.PluginPath(), i.Target.OriginalPath(), i.Executable)
}
