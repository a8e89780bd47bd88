// Command evenkeel-agent lets a node start pods at a pace it can take.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"evenkeel.dev/evenkeel/internal/agent"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(agent.Run(ctx, agent.Streams{Out: os.Stdout, Err: os.Stderr}, os.Args[1:]))
}
