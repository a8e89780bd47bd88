package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"

	"evenkeel.dev/evenkeel/internal/snapfile"
	"evenkeel.dev/evenkeel/internal/version"
)

type snapshotFlags struct {
	output     string
	redact     bool
	kinds      []string
	from       []string
	now        string
	policyFile string
	live       connection
	pageSize   int64
	timeout    time.Duration
}

func newSnapshotCommand(streams Streams) *cobra.Command {
	f := &snapshotFlags{}
	cmd := &cobra.Command{
		Use:   "snapshot -o FILE",
		Short: "Save what a plan is made from to a file",
		Long: `Snapshot reads what decisions are made from – nodes, pods, budgets, workloads, volumes, usage – and writes it to a file that
'evenkeel plan --snapshot' takes. It changes nothing in the cluster, and reads no ConfigMap and no Secret, but for
the one that a policy given with --policy-config-file names as the token for Prometheus; the token is not written.

The objects come from the cluster that the kubeconfig points to or, with --from, from files that were made before (also by
'kubectl get … -o yaml|json'). With --redact only the fields that decisions read are kept: the plan stays the same, and environment values, commands,
annotations, and the names of secrets are not in the file. What stays are names, labels, images and sizes: look at the file before you pass it on.

Kinds that you may not list are left out and noted; nodes and pods are required. A file appears under its name only when it is whole.`,
		Example: `  evenkeel snapshot -o cluster.json.gz
  evenkeel snapshot -o bug-report.json --redact
  kubectl get nodes,pods,pdb -A -o yaml > all.yaml && evenkeel snapshot --from all.yaml -o bug-report.json --redact`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runSnapshot(cmd.Context(), streams, f) },
	}
	flags := cmd.Flags()
	flags.StringVarP(&f.output, "output", "o", "", "`FILE` to write, compressed when its name ends with .gz; '-' for standard output")
	flags.BoolVar(&f.redact, "redact", false, "keep only the fields that decisions read")
	flags.StringSliceVar(&f.kinds, "kinds", nil, "`KINDS` to read beside Node and Pod, for example PodDisruptionBudget,ReplicaSet; default: all")
	flags.StringArrayVar(&f.from, "from", nil, "read `FILE` or directory instead of a live cluster; may be repeated")
	flags.StringVar(&f.now, "now", "", "with --from: the `TIME` (RFC 3339) when the objects were read, where the files do not say")
	flags.StringVar(&f.policyFile, "policy-config-file", "", "DeschedulerPolicy `FILE`: what it asks Prometheus for goes into the snapshot too")
	f.live.addFlags(flags)
	flags.Int64Var(&f.pageSize, "page-size", 500, "read at most `N` objects at once")
	flags.DurationVar(&f.timeout, "timeout", 2*time.Minute, "give up when the API server takes longer than this for one page")
	return cmd
}

func runSnapshot(ctx context.Context, streams Streams, f *snapshotFlags) error {
	now, err := f.check()
	if err != nil {
		return usageError(err)
	}
	path := f.output
	if path == "-" {
		dir, err := os.MkdirTemp("", "evenkeel-snapshot-")
		if err != nil {
			return fmt.Errorf("write snapshot: %w", err)
		}
		defer os.RemoveAll(dir)
		path = filepath.Join(dir, "snapshot.json")
	}
	out, err := snapfile.Create(path)
	if err != nil {
		return err
	}
	taken, err := f.fill(ctx, streams, out, now)
	if err != nil {
		return errors.Join(err, out.Abort())
	}
	size, err := out.Commit()
	if err != nil {
		return err
	}
	if f.output == "-" {
		return copyFile(streams.Out, path)
	}
	return printTaken(streams.Err, f.output, size, taken)
}

// check returns the time of --now, zero without it.
func (f *snapshotFlags) check() (time.Time, error) {
	switch {
	case f.output == "":
		return time.Time{}, errors.New("--output is required: the file to write")
	case f.pageSize <= 0:
		return time.Time{}, fmt.Errorf("--page-size %d: expected a number above 0", f.pageSize)
	case f.timeout <= 0:
		return time.Time{}, fmt.Errorf("--timeout %s: expected a time above 0", f.timeout)
	case f.policyFile != "" && len(f.from) > 0:
		return time.Time{}, errors.New("--policy-config-file can't go with --from: files can't be measured")
	case f.now != "" && len(f.from) == 0:
		return time.Time{}, errors.New("--now needs --from: a live cluster is read now")
	case f.now == "":
		return time.Time{}, nil
	}
	now, err := time.Parse(time.RFC3339, f.now)
	if err != nil {
		return now, fmt.Errorf("--now %q: expected a time such as 2026-11-30T12:00:00Z", f.now)
	}
	return now, nil
}

// fill writes the snapshot.
func (f *snapshotFlags) fill(ctx context.Context, streams Streams, out *snapfile.OutFile, now time.Time) ([]snapfile.Taken, error) {
	options := snapfile.TakeOptions{
		Header: snapfile.Header{Evenkeel: version.String(), Redacted: f.redact},
		Now:    time.Now, Kinds: f.kinds, Limit: f.pageSize,
	}
	if len(f.from) > 0 {
		return snapfile.Copy(f.from, out, now, options)
	}
	if colorful(streams.Err) {
		options.Progress = func(kind string, objects int) { fmt.Fprintf(streams.Err, "\r\x1b[K%s: %d", kind, objects) }
		defer fmt.Fprint(streams.Err, "\r\x1b[K")
	}
	client, err := f.live.connect()
	if err != nil {
		return nil, err
	}
	if f.policyFile != "" {
		if err := measureFor(ctx, streams, client, f.policyFile, &options.Header); err != nil {
			return nil, err
		}
	}
	return snapfile.Take(ctx, pages{client.Read.CoreV1().RESTClient(), f.timeout}, out, options)
}

// pages lists objects as JSON, just as the API server sends them.
type pages struct {
	client  rest.Interface
	timeout time.Duration // of one page
}

// ListPage implements [snapfile.Lister].
func (p pages) ListPage(ctx context.Context, path string, limit int64, token string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	request := p.client.Get().AbsPath(path).SetHeader("Accept", "application/json").Param("limit", fmt.Sprint(limit))
	if token != "" {
		request = request.Param("continue", token)
	}
	result := request.Do(ctx)
	if err := result.Error(); err != nil { // that of Raw does not have the server's message
		return nil, err
	}
	return result.Raw()
}

// copyFile writes a whole file to w.
func copyFile(w io.Writer, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("write snapshot: %w", err)
	}
	defer f.Close()
	if _, err := io.Copy(w, f); err != nil {
		return fmt.Errorf("write snapshot: %w", err)
	}
	return nil
}

// printTaken prints a table of what is in the file.
func printTaken(w io.Writer, path string, size int64, taken []snapfile.Taken) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "KIND\tOBJECTS\tREMARKS")
	for _, k := range taken {
		var remarks []string
		if k.Missing != "" {
			remarks = append(remarks, "not listed: "+k.Missing)
		}
		if k.Restarts > 0 {
			remarks = append(remarks, fmt.Sprintf("the list expired %d times and was begun again", k.Restarts))
		}
		fmt.Fprintf(table, "%s\t%d\t%s\n", k.Kind, k.Objects, strings.Join(remarks, "; "))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "wrote %s, %d KiB\n", path, (size+1023)/1024)
	return err
}
