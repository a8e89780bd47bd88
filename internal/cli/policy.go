package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"evenkeel.dev/evenkeel/internal/policy"
)

// newPolicyCommand is the parent of the commands about policy files.
func newPolicyCommand(streams Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "policy",
		Short: "Check and convert policy files",
		Long: `Policy checks and converts DeschedulerPolicy files. A file is a policy by itself or in a ConfigMap, in Helm values
(deschedulerPolicy), or among other YAML documents; '-' is standard input. No cluster is needed.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newPolicyValidateCommand(streams), newPolicyConvertCommand(streams))
	return cmd
}

type policyValidateFlags struct {
	strict bool
	output string
}

func newPolicyValidateCommand(streams Streams) *cobra.Command {
	f := &policyValidateFlags{}
	cmd := &cobra.Command{
		Use:   "validate FILE...",
		Short: "Check policy files, and name every problem at once",
		Long: `Validate reads policy files as 'plan' and 'deschedule' do and names every problem, with its field and line. What the Kubernetes
descheduler would silently ignore is a warning, and an error with --strict. Priority classes that a policy names are looked up
only where there is a cluster or a snapshot, so not here.

Exit status: 0 all files are valid, 1 some are not or cannot be read, 2 bad usage.`,
		Example: `  evenkeel policy validate policy.yaml
  kubectl -n kube-system get configmap descheduler-policy-configmap -o yaml | evenkeel policy validate --strict -`,
		Args: atLeastOneFile,
		RunE: func(_ *cobra.Command, files []string) error { return runPolicyValidate(streams, f, files) },
	}
	cmd.Flags().BoolVar(&f.strict, "strict", false, "make warnings errors")
	cmd.Flags().StringVarP(&f.output, "output", "o", "text", "output `FORMAT`: text, json")
	return cmd
}

// policyVerdict is what validate has to say of one file. Its JSON form is a
// contract.
type policyVerdict struct {
	File     string           `json:"file"`
	Valid    bool             `json:"valid"`
	Problems []policy.Problem `json:"problems"`
	Warnings []policy.Warning `json:"warnings"`
}

func runPolicyValidate(streams Streams, f *policyValidateFlags, files []string) error {
	if f.output != "text" && f.output != "json" {
		return usageError(fmt.Errorf("--output %q: the formats are text, json", f.output))
	}
	verdicts := make([]policyVerdict, len(files))
	invalid := 0
	for i, file := range files {
		verdicts[i] = judgePolicy(streams, file, f.strict)
		if !verdicts[i].Valid {
			invalid++
		}
	}
	if err := writeVerdicts(streams.Out, verdicts, f.output); err != nil {
		return err
	}
	if invalid > 0 {
		return fmt.Errorf("%d of %d policy files can't be used", invalid, len(files))
	}
	return nil
}

func judgePolicy(streams Streams, file string, strict bool) policyVerdict {
	v := policyVerdict{File: file, Problems: []policy.Problem{}, Warnings: []policy.Warning{}}
	data, err := readPolicyFile(streams.In, file)
	if err == nil {
		var warnings []policy.Warning
		_, warnings, err = policy.Load(file, data)
		if strict {
			err = policy.Strict(file, warnings, err)
		} else {
			v.Warnings = append(v.Warnings, warnings...)
		}
	}
	var known *policy.Error
	switch {
	case errors.As(err, &known):
		v.Problems = known.Problems
	case err != nil:
		v.Problems = append(v.Problems, policy.Problem{Message: err.Error()})
	}
	v.Valid = err == nil
	return v
}

func writeVerdicts(w io.Writer, verdicts []policyVerdict, format string) error {
	if format == "json" {
		e := json.NewEncoder(w)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		return e.Encode(verdicts)
	}
	var b strings.Builder
	for _, v := range verdicts {
		for _, warning := range v.Warnings {
			fmt.Fprintf(&b, "%s: warning: %v\n", v.File, warning)
		}
		for _, p := range v.Problems {
			fmt.Fprintf(&b, "%s: %v\n", v.File, p)
		}
		if v.Valid {
			fmt.Fprintf(&b, "%s: valid\n", v.File)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func newPolicyConvertCommand(streams Streams) *cobra.Command {
	return &cobra.Command{
		Use:   "convert FILE",
		Short: "Translate a policy of version descheduler/v1alpha1 to v1alpha2, or pod-pacemaker's configuration to PacePolicies",
		Long: `Convert prints the v1alpha2 policy that does what a v1alpha1 policy did, and names on standard error what was not carried over:
what v1alpha1 ignored or v1alpha2 has no place for. Every enabled strategy gets a profile of its own.

From a file with PacemakerConfig objects of pod-pacemaker it makes PacePolicy objects, and names what acts differently.

Exit status: 0 converted, 1 the file is no v1alpha1 policy or would not have been accepted as one, 2 bad usage.`,
		Example: `  evenkeel policy convert old.yaml > policy.yaml
  kubectl get pacemakerconfigs -o yaml | evenkeel policy convert - | kubectl apply -f -`,
		Args: exactlyOneFile,
		RunE: func(_ *cobra.Command, files []string) error { return runPolicyConvert(streams, files[0]) },
	}
}

func runPolicyConvert(streams Streams, file string) error {
	data, err := readPolicyFile(streams.In, file)
	if err != nil {
		return err
	}
	text, notes, err := convertPolicy(file, data)
	for _, n := range notes {
		fmt.Fprintf(streams.Err, "note: %s: %v\n", file, n)
	}
	if err != nil {
		return err
	}
	_, err = streams.Out.Write(text)
	return err
}

func convertPolicy(file string, data []byte) ([]byte, []policy.Warning, error) {
	if policy.IsPacemaker(data) {
		policies, notes, err := policy.ConvertPacemaker(file, data)
		if err != nil {
			return nil, notes, err
		}
		text, err := policy.PacePoliciesYAML(policies)
		return text, notes, err
	}
	doc, notes, err := policy.Convert(file, data)
	if err != nil {
		return nil, notes, err
	}
	text, err := doc.YAML()
	return text, notes, err
}

// readPolicyFile reads a file, or in for "-", no further than a policy can be long.
func readPolicyFile(in io.Reader, file string) ([]byte, error) {
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		in = f
	}
	data, err := io.ReadAll(io.LimitReader(in, policy.MaxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", file, err)
	}
	return data, nil
}

func atLeastOneFile(_ *cobra.Command, args []string) error {
	if len(args) == 0 {
		return usageError(errors.New("name at least one policy file, or '-' for standard input"))
	}
	return nil
}

func exactlyOneFile(_ *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usageError(errors.New("name exactly one policy file, or '-' for standard input"))
	}
	return nil
}
