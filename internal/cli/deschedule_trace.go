package cli

import (
	"context"
	"fmt"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.37.0"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc/credentials"

	"evenkeel.dev/evenkeel/internal/controller"
	"evenkeel.dev/evenkeel/internal/version"
)

// tracing starts to send spans to the collector, where one is named, and returns what sends the last of them.
func (d *deschedule) tracing(ctx context.Context) (controller.Tracer, func(), error) {
	t := d.flags.Tracing
	if t.Endpoint == "" {
		return nil, func() {}, nil
	}
	provider, err := d.provider(ctx)
	if err != nil && t.FallbackNoOpOnError {
		d.log.Warn("going on without traces", "err", err)
		return nil, func() {}, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("traces (--otel-collector-endpoint %s): %w", t.Endpoint, err)
	}
	// A collector that is away is no reason to stop; spans are dropped then.
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { d.log.Debug("traces", "err", err) }))
	flush := func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		if err := provider.Shutdown(ctx); err != nil {
			d.log.Warn("the last traces were not sent", "err", err)
		}
	}
	return tracer(provider.Tracer("evenkeel.dev/evenkeel")), flush, nil
}

func (d *deschedule) provider(ctx context.Context) (*sdktrace.TracerProvider, error) {
	t := d.flags.Tracing
	options := []otlptracegrpc.Option{otlptracegrpc.WithEndpoint(t.Endpoint)}
	if t.CACert == "" {
		options = append(options, otlptracegrpc.WithInsecure())
	} else {
		transport, err := credentials.NewClientTLSFromFile(t.CACert, "")
		if err != nil {
			return nil, fmt.Errorf("--otel-transport-ca-cert: %w", err)
		}
		options = append(options, otlptracegrpc.WithTLSCredentials(transport))
	}
	exporter, err := otlptracegrpc.New(ctx, options...)
	if err != nil {
		return nil, err
	}
	who := []attribute.KeyValue{semconv.ServiceName(t.ServiceName), semconv.ServiceVersion(version.String())}
	if t.Namespace != "" {
		who = append(who, semconv.ServiceNamespace(t.Namespace))
	}
	return sdktrace.NewTracerProvider(
		sdktrace.WithBatcher(exporter),
		sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(t.SampleRate))),
		sdktrace.WithResource(resource.NewWithAttributes(semconv.SchemaURL, who...)),
	), nil
}

// tracer makes OpenTelemetry spans of the controller's.
func tracer(t trace.Tracer) controller.Tracer {
	return func(ctx context.Context, name string, started time.Time, attributes ...string) (context.Context, func(error)) {
		var list []attribute.KeyValue
		for i := 0; i+1 < len(attributes); i += 2 {
			list = append(list, attribute.String(attributes[i], attributes[i+1]))
		}
		ctx, span := t.Start(ctx, name, trace.WithTimestamp(started), trace.WithAttributes(list...))
		return ctx, func(err error) {
			if err != nil {
				span.RecordError(err)
				span.SetStatus(codes.Error, err.Error())
			}
			span.End()
		}
	}
}
