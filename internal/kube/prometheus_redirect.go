package kube

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"
)

// maxRedirects is as many as Go's own client follows.
const maxRedirects = 10

// redirect lets a request go on to where the server points: without the token, unless each server on the way may have that. Those that turn
// POST into GET (301 and 302) drop the body, so the query goes into the address.
func redirect(next *http.Request, before []*http.Request, form url.Values) error {
	if len(before) >= maxRedirects {
		return fmt.Errorf("gave up after %d redirects", maxRedirects)
	}
	for i, r := range before {
		to := next.URL
		if i+1 < len(before) {
			to = before[i+1].URL
		}
		if !trusts(r.URL, to) {
			next.Header.Del("Authorization")
		}
	}
	if next.Method == http.MethodGet && before[0].Method == http.MethodPost {
		inAddress(next, form)
	}
	return nil
}

// trusts reports whether what is sent to one address may be sent to another: the same server, or the same host by https instead of http.
func trusts(from, to *url.URL) bool {
	if strings.EqualFold(from.Hostname(), to.Hostname()) {
		return from.Scheme == to.Scheme && port(from) == port(to) || from.Scheme == "http" && to.Scheme == "https"
	}
	return false
}

func port(u *url.URL) string {
	if u.Scheme == "https" {
		return cmp.Or(u.Port(), "443")
	}
	return cmp.Or(u.Port(), "80")
}

// inAddress writes a form into the address of a request.
func inAddress(r *http.Request, form url.Values) {
	values := r.URL.Query()
	maps.Copy(values, form)
	r.URL.RawQuery = values.Encode()
}
