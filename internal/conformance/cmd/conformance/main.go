// Command conformance runs the case files below a folder and prints how many passed for each plugin. It exits with 1 when
// one failed.
package main

import (
	"flag"
	"fmt"
	"os"

	"evenkeel.dev/evenkeel/internal/conformance"
)

func main() {
	verbose := flag.Bool("v", false, "also name the cases that can't be expressed from outside")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: conformance [-v] DIR")
		os.Exit(2)
	}
	results, err := conformance.Run(flag.Arg(0), os.Stdout, *verbose)
	if err != nil {
		fmt.Fprintln(os.Stderr, "conformance:", err)
		os.Exit(2)
	}
	for _, r := range results {
		if r.Failed > 0 {
			os.Exit(1)
		}
	}
}
