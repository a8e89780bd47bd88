package webhook

import (
	"bytes"
	"crypto/x509"
	"fmt"
	"slices"
	"testing"
	"time"
)

func lifetimes() Lifetimes {
	return Lifetimes{Authority: 365 * 24 * time.Hour, Certificate: 90 * 24 * time.Hour, Settle: time.Minute}
}

func hosts() []string { return []string{"evenkeel-webhook.kube-system.svc", "127.0.0.1"} }

func start() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) }

func renew(t *testing.T, k Keys, now time.Time, published []byte) Keys {
	t.Helper()
	renewed, _, err := k.Renew(now, published, hosts(), lifetimes())
	if err != nil {
		t.Fatal(err)
	}
	return renewed
}

// trusted says whether an API server that was told the bundle would talk to a server with these keys.
func trusted(k Keys, bundle []byte, now time.Time) error {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(bundle)
	certs := decodeCerts(k[certEntry])
	if len(certs) == 0 {
		return fmt.Errorf("no certificate")
	}
	for _, host := range hosts() {
		if _, err := certs[0].Verify(x509.VerifyOptions{Roots: pool, CurrentTime: now, DNSName: host}); err != nil {
			return err
		}
	}
	return nil
}

// TestServerIsTrustedThroughYearsOfRenewals has two replicas, one of which looks rarely, and an API server that hears of a new
// bundle late: whichever it asks, and at whatever time, it trusts the answer.
func TestServerIsTrustedThroughYearsOfRenewals(t *testing.T) {
	now := start()
	var secret Keys
	var told [3][]byte // what was published now, at the last step and before
	authorities := map[string]bool{}
	secret = renew(t, secret, now, nil)
	rare := secret
	told = [3][]byte{secret.Bundle(), secret.Bundle(), secret.Bundle()}
	certificates := map[string]bool{}
	for day := 0; day < 3*365; day += 2 {
		now = now.Add(48 * time.Hour)
		secret = renew(t, secret, now, told[0])
		if day%4 == 0 { // the other replica was asleep for four days
			rare = secret
		}
		told = [3][]byte{secret.Bundle(), told[0], told[1]}
		for _, served := range []Keys{secret, rare} {
			if err := trusted(served, told[1], now); err != nil {
				t.Fatalf("on day %d: %v", day, err)
			}
		}
		authorities[string(secret[signerEntry])] = true
		certificates[string(secret[certEntry])] = true
		if n := len(decodeCerts(secret.Bundle())); n > 3 {
			t.Fatalf("on day %d %d authorities are published", day, n)
		}
	}
	if len(authorities) < 4 || len(certificates) < 15 {
		t.Errorf("in three years %d authorities and %d certificates", len(authorities), len(certificates))
	}
}

func TestNothingChangesBeforeItIsDue(t *testing.T) {
	k := renew(t, nil, start(), nil)
	for _, days := range []int{0, 1, 30, 59} {
		_, changed, err := k.Renew(start().AddDate(0, 0, days), k.Bundle(), hosts(), lifetimes())
		if err != nil || changed {
			t.Errorf("day %d: changed %v, %v", days, changed, err)
		}
	}
	if _, changed, _ := k.Renew(start().AddDate(0, 0, 61), k.Bundle(), hosts(), lifetimes()); !changed {
		t.Error("after two thirds of 90 days the certificate is the same")
	}
}

func TestNewAuthorityIsNotUsedBeforeTheAPIServerWasTold(t *testing.T) {
	k := renew(t, nil, start(), nil)
	old := k.Bundle()
	now := start().AddDate(0, 0, 250)
	k = renew(t, k, now, old)
	if len(k[nextEntry]) == 0 || trusted(k, old, now) != nil {
		t.Fatal("no next authority, or it is in use at once")
	}
	for what, later := range map[string]Keys{
		"unpublished": renew(t, k, now.Add(time.Hour), old),
		"just made":   renew(t, k, now.Add(time.Second), k.Bundle()),
	} {
		if err := trusted(later, old, now.Add(time.Hour)); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	used := renew(t, k, now.Add(time.Hour), k.Bundle())
	if trusted(used, old, now.Add(time.Hour)) == nil || trusted(used, k.Bundle(), now.Add(time.Hour)) != nil {
		t.Error("the new authority is not in use an hour after it was published")
	}
}

func TestWhatIsDamagedOrExpiredIsMadeAnewAtOnce(t *testing.T) {
	whole := renew(t, nil, start(), nil)
	staged := renew(t, whole, start().AddDate(0, 0, 250), whole.Bundle())
	now := start().AddDate(0, 0, 251)
	for name, damage := range map[string]func(Keys){
		"everything is gone":             func(k Keys) { clear(k) },
		"the certificate is nonsense":    func(k Keys) { k[certEntry] = []byte("x") },
		"the certificate's key is other": func(k Keys) { k[keyEntry] = k[signerEntry] },
		"the authority's key is gone":    func(k Keys) { delete(k, signerEntry) },
		"the bundle is nonsense":         func(k Keys) { k[bundleEntry] = []byte("x") },
		"the next one is nonsense":       func(k Keys) { k[nextEntry] = []byte("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n") },
		"the entries are swapped":        func(k Keys) { k[bundleEntry], k[certEntry] = k[certEntry], k[bundleEntry] },
	} {
		k := Keys{}
		for entry, value := range staged {
			k[entry] = slices.Clone(value)
		}
		damage(k)
		repaired := renew(t, k, now, staged.Bundle())
		if err := trusted(repaired, repaired.Bundle(), now); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	late := start().AddDate(3, 0, 0)
	if k := renew(t, staged, late, staged.Bundle()); trusted(k, k.Bundle(), late) != nil || len(decodeCerts(k.Bundle())) != 1 {
		t.Error("after three years of standstill the keys do not hold, or expired authorities are published")
	}
}

func TestCertificateIsMadeAnewForAnotherHost(t *testing.T) {
	k := renew(t, nil, start(), nil)
	other, changed, err := k.Renew(start(), k.Bundle(), append(hosts(), "10.0.0.1"), lifetimes())
	if err != nil || !changed || decodeCerts(other[certEntry])[0].VerifyHostname("10.0.0.1") != nil {
		t.Errorf("changed %v, %v", changed, err)
	}
	if !bytes.Equal(other.Bundle(), k.Bundle()) {
		t.Error("the authority changed, too")
	}
}
