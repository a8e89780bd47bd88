package conformance

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
)

// Result counts the cases of one folder.
type Result struct {
	Folder         string
	Passed, Failed int
	LeftOut        int // can't be expressed from outside
}

// Run runs every case below dir and writes failures as they come, then a table. Verbose also names the cases left out.
func Run(dir string, out io.Writer, verbose bool) ([]Result, error) {
	byFolder := map[string]*Result{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".json") {
			return err
		}
		folder := filepath.Base(filepath.Dir(path))
		r := byFolder[folder]
		if r == nil {
			r = &Result{Folder: folder}
			byFolder[folder] = r
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		left, err := runCase(folder, data)
		switch {
		case err != nil:
			r.Failed++
			fmt.Fprintf(out, "FAIL %s/%s: %v\n", folder, filepath.Base(path), err)
		case left != "":
			r.LeftOut++
			if verbose {
				fmt.Fprintf(out, "left out %s/%s: %s\n", folder, filepath.Base(path), left)
			}
		default:
			r.Passed++
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	var results []Result
	for _, r := range byFolder {
		results = append(results, *r)
	}
	slices.SortFunc(results, func(a, b Result) int { return strings.Compare(a.Folder, b.Folder) })
	return results, table(out, results)
}

func runCase(folder string, data []byte) (left string, err error) {
	switch folder {
	case "policy":
		return "", RunPolicyCase(data)
	case "nodefit", "podsort", "evictions":
		return runFunction(data)
	default:
		return runCycle(data)
	}
}

func table(out io.Writer, results []Result) error {
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "PLUGIN\tPASSED\tFAILED\tLEFT OUT")
	var sum Result
	for _, r := range results {
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\n", r.Folder, r.Passed, r.Failed, r.LeftOut)
		sum.Passed, sum.Failed, sum.LeftOut = sum.Passed+r.Passed, sum.Failed+r.Failed, sum.LeftOut+r.LeftOut
	}
	if err := w.Flush(); err != nil {
		return err
	}
	// The plain form that test runners' readers know.
	_, err := fmt.Fprintf(out, "%d passed, %d failed, %d skipped\n", sum.Passed, sum.Failed, sum.LeftOut)
	return err
}
