package install

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"evenkeel.dev/evenkeel/internal/standin"
	"evenkeel.dev/evenkeel/internal/version"
)

// Kind is what a directory entry is.
type Kind string

// The kinds of directory entries that matter to an installation.
const (
	Absent  Kind = "absent"
	Regular Kind = "file"
	Link    Kind = "link" // symbolic link; the other fields describe the file it leads to
	Other   Kind = "other"
)

// Image describes a file that may be a plugin.
type Image struct {
	Path    string
	Kind    Kind
	Target  string // text of a symbolic link
	Size    int64
	SHA256  string // lower-case hex
	Ours    bool   // a stand-in of any version
	Version string // release of a stand-in, or what is known of its source; "" of others
	Script  bool   // run by an interpreter: whether it is whole cannot be told
	Problem string // why this node cannot run it, "" when it can
}

// Present reports whether there is a directory entry.
func (i Image) Present() bool { return i.Kind != Absent }

// Plugin reports whether i can serve as an original: present, runnable, not ours.
func (i Image) Plugin() bool { return i.Present() && i.Problem == "" && !i.Ours }

// StandIn reports whether i can serve as the stand-in: present, runnable, ours.
func (i Image) StandIn() bool { return i.Present() && i.Problem == "" && i.Ours }

// inspect reads the file at path whole. A missing file, a folder or a file that
// cannot run is an answer; only a failure to read is an error.
func inspect(path string, on platform) (Image, error) {
	img := Image{Path: path, Kind: Regular}
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		img.Kind = Absent
		return img, nil
	case err != nil:
		return img, fmt.Errorf("look at %s: %w", path, err)
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		img.Kind = Link
		if img.Target, err = os.Readlink(path); err != nil {
			return img, fmt.Errorf("read link %s: %w", path, err)
		}
		if info, err = os.Stat(path); err != nil {
			img.Problem = fmt.Sprintf("the link leads nowhere (%s)", img.Target)
			return img, nil
		}
	}
	if !info.Mode().IsRegular() {
		img.Kind, img.Problem = Other, fmt.Sprintf("not a regular file but %s", info.Mode().Type())
		return img, nil
	}
	return img, img.read(info.Mode(), on)
}

func (i *Image) read(mode fs.FileMode, on platform) error {
	f, err := os.Open(i.Path)
	if err != nil {
		return fmt.Errorf("read %s: %w", i.Path, err)
	}
	defer f.Close()
	sum := sha256.New()
	find := standin.NewFinder()
	if i.Size, err = io.Copy(io.MultiWriter(sum, find), f); err != nil {
		return fmt.Errorf("read %s: %w", i.Path, err)
	}
	i.SHA256 = hex.EncodeToString(sum.Sum(nil))
	i.Ours = find.Found
	if i.Ours {
		if i.Version, err = versionIn(f, i.Size); err != nil {
			return fmt.Errorf("read %s: %w", i.Path, err)
		}
	}
	i.Script = isScript(f)
	i.Problem = on.problem(f, i.Size, mode)
	return nil
}

// versionIn is what the program itself would say, read from its file.
func versionIn(f io.ReaderAt, size int64) (string, error) {
	release, err := version.Find(io.NewSectionReader(f, 0, size))
	if err != nil || release != "" {
		return release, err
	}
	if info, err := buildinfo.Read(f); err == nil {
		return version.OfBuild(info), nil
	}
	return version.Unknown, nil
}
