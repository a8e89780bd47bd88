// Command evenkeel keeps a Kubernetes cluster on an even keel; see evenkeel --help.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"evenkeel.dev/evenkeel/internal/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := cli.Run(ctx, cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}, os.Args)
	stop()
	os.Exit(code)
}
