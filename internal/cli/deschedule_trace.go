package cli

import (
	"context"

	"evenkeel.dev/evenkeel/internal/controller"
)

// tracing starts to send spans to the collector, where one is named, and returns what sends the last of them.
func (d *deschedule) tracing(context.Context) (controller.Tracer, func(), error) {
	return nil, func() {}, nil
}
