package source

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// pollEvery is how often a folder is looked at.
const pollEvery = 100 * time.Millisecond

// Dir reads a pod from every file NAME.json of Folder, again whenever it changes;
// removing the file deletes the pod. Writers should rename complete files into
// place.
type Dir struct{ Folder string }

// Run implements Source.
func (d Dir) Run(ctx context.Context, tell func(Change)) error {
	r := &dirReader{folder: d.Folder, files: map[string]podFile{}, tell: tell}
	r.read()
	tell(Change{Kind: Synced})
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			r.read()
		}
	}
}

type podFile struct {
	info fs.FileInfo
	pod  *corev1.Pod // the last one read; nil while there was none
	err  error       // why the file cannot be read now
}

type dirReader struct {
	folder  string
	files   map[string]podFile
	tell    func(Change)
	trouble string // as last reported
	faulty  bool   // something went wrong this time
}

// read reports what changed since the last time.
func (r *dirReader) read() {
	r.faulty = false
	r.readFolder()
	if !r.faulty && r.trouble != "" {
		r.trouble = ""
		r.tell(Change{Kind: Fine})
	}
}

func (r *dirReader) readFolder() {
	entries, err := os.ReadDir(r.folder)
	if err != nil {
		r.complain(fmt.Errorf("read pods: %w", err))
		return // the pods are as they were
	}
	here := map[string]bool{}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".json") && !e.IsDir() {
			here[e.Name()] = true
			r.readFile(e)
		}
	}
	for _, name := range sortedNames(r.files) {
		if !here[name] {
			r.drop(name)
		}
	}
}

func (r *dirReader) readFile(e fs.DirEntry) {
	info, err := e.Info() // of os.Stat, os.SameFile would open the file, which on Windows nobody can rename then
	if err != nil {
		return // gone again
	}
	path := filepath.Join(r.folder, e.Name())
	old, known := r.files[e.Name()]
	if info.Mode()&fs.ModeSymlink != 0 {
		if info, err = os.Stat(path); err != nil { // what it leads to can change while the link does not
			err = fmt.Errorf("read pod: %w", err)
		}
	}
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("read pod %s: it is not a regular file but %s", path, info.Mode().Type()) // reading a pipe would never end
	}
	if err != nil {
		r.complain(err)
		r.files[e.Name()] = podFile{info: info, pod: old.pod, err: err}
		return
	}
	if known && old.err == nil && info.ModTime().Equal(old.info.ModTime()) && info.Size() == old.info.Size() && os.SameFile(info, old.info) {
		return
	}
	pod, err := readPod(path)
	if err != nil {
		r.complain(err)
		r.files[e.Name()] = podFile{info: info, pod: old.pod, err: err}
		return
	}
	if old.pod != nil && old.pod.UID != pod.UID {
		r.tell(Change{Kind: Gone, Pod: old.pod})
	}
	r.files[e.Name()] = podFile{info: info, pod: pod}
	r.tell(Change{Kind: Seen, Pod: pod})
}

func readPod(path string) (*corev1.Pod, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read pod: %w", err)
	}
	var pod corev1.Pod
	if err := json.Unmarshal(data, &pod); err != nil {
		return nil, fmt.Errorf("read pod %s: %w", path, err)
	}
	if pod.Name == "" || pod.Namespace == "" || pod.UID == "" {
		return nil, fmt.Errorf("read pod %s: metadata needs name, namespace and uid", path)
	}
	return &pod, nil
}

func (r *dirReader) drop(name string) {
	if pod := r.files[name].pod; pod != nil {
		r.tell(Change{Kind: Gone, Pod: pod})
	}
	delete(r.files, name)
}

// complain reports the same trouble once until another comes.
func (r *dirReader) complain(err error) {
	r.faulty = true
	if err.Error() != r.trouble {
		r.trouble = err.Error()
		r.tell(Change{Kind: Trouble, Err: err})
	}
}

func sortedNames(files map[string]podFile) []string {
	names := make([]string, 0, len(files))
	for n := range files {
		names = append(names, n)
	}
	sort.Strings(names)
	return names
}
