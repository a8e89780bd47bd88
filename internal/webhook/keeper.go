package webhook

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"
)

// Keeper keeps the certificates: in the Secret, in the webhook configuration and in the server.
type Keeper struct {
	Secret        Secret
	Configuration Configuration
	// Hosts are the DNS names and IP addresses that the certificate is for.
	Hosts     []string
	Lifetimes Lifetimes
	// Every is how often all of it is looked at. Default 30 seconds.
	Every time.Duration
	Log   *slog.Logger

	serving atomic.Pointer[tls.Certificate]
	missing bool // the configuration was missing at the last look
}

// errLost says that another replica wrote the Secret first.
var errLost = errors.New("another replica has renewed the keys")

// Run looks after the certificates until ctx is done. Errors are logged, and what failed is tried again: what holds now goes on
// holding until it expires.
func (k *Keeper) Run(ctx context.Context) {
	pause := time.Second
	for {
		err := k.lookInTime(ctx)
		switch {
		case err == nil:
			pause = k.Every
		case ctx.Err() != nil:
			return
		case errors.Is(err, errLost):
			pause = min(100*time.Millisecond, k.Every)
		default:
			pause = min(max(2*pause, time.Second), k.Every)
			k.Log.Error("the webhook's certificates could not be looked after; trying again", "in", pause, "err", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

// Certificate is for [tls.Config.GetCertificate].
func (k *Keeper) Certificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	if cert := k.serving.Load(); cert != nil {
		return cert, nil
	}
	return nil, errors.New("there is no certificate yet")
}

// Ready says why the API server would not trust this server now.
func (k *Keeper) Ready() error {
	cert, err := k.Certificate(nil)
	if err != nil {
		return err
	}
	if end := cert.Leaf.NotAfter; time.Now().After(end) {
		return fmt.Errorf("the certificate has expired at %s", end.UTC().Format(time.RFC3339))
	}
	return nil
}

// lookInTime gives up on an API server that does not answer.
func (k *Keeper) lookInTime(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	return k.look(ctx, time.Now())
}

// look brings everything up to date once.
func (k *Keeper) look(ctx context.Context, now time.Time) error {
	// 1. What is there?
	secret, exists, err := k.Secret.read(ctx)
	if err != nil {
		return err
	}
	configuration, err := k.Configuration.read(ctx)
	if err != nil {
		return err
	}
	k.tell(configuration == nil)

	// 2. What is due?
	told := published(configuration)
	keys, changed, err := Keys(secret.Data).Renew(now, told, k.Hosts, k.Lifetimes)
	if err != nil {
		return err
	}
	if changed {
		mine, err := k.Secret.write(ctx, secret, exists, keys)
		if err != nil {
			return err
		}
		if !mine {
			return errLost
		}
		k.Log.Info("renewed the keys", "secret", k.Secret.Namespace+"/"+k.Secret.Name)
	}

	// 3. The API server is told whom to trust before that is needed.
	if bundle := keys.Bundle(); configuration != nil && !bytes.Equal(bundle, told) {
		if err := k.Configuration.publish(ctx, configuration, bundle); err != nil {
			return err
		}
		k.Log.Info("published the certificate authorities", "configuration", k.Configuration.Name)
	}

	// 4. New connections get the new certificate.
	return k.serve(keys)
}

func (k *Keeper) serve(keys Keys) error {
	cert, err := keys.Serving()
	if err != nil {
		return fmt.Errorf("use the serving certificate: %w", err)
	}
	if old := k.serving.Load(); old == nil || !old.Leaf.Equal(cert.Leaf) {
		k.serving.Store(&cert)
		k.Log.Info("serving with another certificate", "until", cert.Leaf.NotAfter.UTC().Format(time.RFC3339))
	}
	return nil
}

func (k *Keeper) tell(missing bool) {
	if missing && !k.missing {
		k.Log.Warn("no webhook configuration calls this webhook, so it taints nothing", "missing", k.Configuration.Name)
	}
	k.missing = missing
}
