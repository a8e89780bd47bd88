package kube_test

import (
	"context"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"evenkeel.dev/evenkeel/internal/kube"
)

func secretToken(context.Context) (string, error) { return "secret", nil }

// answering is a Prometheus that wants the query "q", and keeps the method and token of each request.
func answering(seen *[]string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		*seen = append(*seen, strings.TrimSpace(r.Method+" "+r.Header.Get("Authorization")))
		if r.FormValue("query") != "q" || r.FormValue("timeout") == "" {
			http.Error(w, "no query", http.StatusBadRequest)
			return
		}
		fmt.Fprint(w, answer(value("one", "0"), value("two", "0")))
	}
}

func TestAQueryIsAskedByGetWherePostIsRefused(t *testing.T) {
	for code, want := range map[int][]string{
		http.StatusMethodNotAllowed:    {"POST", "GET Bearer secret"},
		http.StatusNotImplemented:      {"POST", "GET Bearer secret"},
		http.StatusForbidden:           {"POST"},
		http.StatusInternalServerError: {"POST"},
	} {
		var seen []string
		get := answering(&seen)
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost {
				seen = append(seen, r.Method)
				w.WriteHeader(code)
				return
			}
			get(w, r)
		}))
		got, _ := ask(t, &kube.Prometheus{URL: server.URL + "?tenant=a", Token: secretToken})
		server.Close()
		if asked := len(want) == 2; asked == (got.Failed != "") || !slices.Equal(seen, want) {
			t.Errorf("after %d: failed with %q, requests %q, want %q", code, got.Failed, seen, want)
		}
	}
}

func TestARefusedGetIsTold(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusMethodNotAllowed) }))
	defer server.Close()
	if got, _ := ask(t, &kube.Prometheus{URL: server.URL}); got.Failed != "Prometheus "+server.URL+": HTTP status 405" {
		t.Errorf("failed with %q", got.Failed)
	}
}

// pointing answers everything with a redirect.
func pointing(code int, to string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, code) }
}

func TestARedirectWithinTheServerIsFollowedWithTheToken(t *testing.T) {
	for code, method := range map[int]string{301: "GET", 302: "GET", 303: "GET", 307: "POST", 308: "POST"} {
		var seen []string
		mux := http.NewServeMux()
		mux.Handle("/api/", pointing(code, "/prefix/api/v1/query?tenant=a"))
		mux.Handle("/prefix/api/v1/query", answering(&seen))
		server := httptest.NewServer(mux)
		got, _ := ask(t, &kube.Prometheus{URL: server.URL, Token: secretToken})
		server.Close()
		if want := []string{method + " Bearer secret"}; got.Failed != "" || !slices.Equal(seen, want) {
			t.Errorf("after %d: failed with %q, requests %q, want %q", code, got.Failed, seen, want)
		}
	}
}

// TestATokenIsForTheServerItWasGivenFor: another port is another server, and back at the first one the address is what the other one chose.
func TestATokenIsForTheServerItWasGivenFor(t *testing.T) {
	var seen []string
	back := ""
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if back != "" {
			pointing(http.StatusTemporaryRedirect, back)(w, r)
			return
		}
		if seen = append(seen, r.Header.Get("Authorization")); r.URL.Query().Has("open") {
			fmt.Fprint(w, answer(value("one", "0"), value("two", "0")))
			return
		}
		w.WriteHeader(http.StatusUnauthorized)
	}))
	defer other.Close()
	to := ""
	mux := http.NewServeMux()
	mux.HandleFunc("/api/", func(w http.ResponseWriter, r *http.Request) { pointing(http.StatusTemporaryRedirect, to)(w, r) })
	mux.Handle("/back", answering(&seen))
	plain, secure := httptest.NewServer(mux), httptest.NewTLSServer(mux)
	defer plain.Close()
	defer secure.Close()
	authority := filepath.Join(t.TempDir(), "ca.crt")
	data := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw})
	if err := os.WriteFile(authority, data, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, from, to, back string
		failed, token        string
	}{
		{"another port", plain.URL, other.URL, "", "redirected to " + other.URL + ", where no token is sent: HTTP status 401", ""},
		{"another name", plain.URL, strings.Replace(other.URL, "127.0.0.1", "localhost", 1), "", ", where no token is sent: HTTP status 401", ""},
		{"another server that wants none", plain.URL, other.URL + "?open", "", "", ""},
		{"there and back", plain.URL, other.URL, plain.URL + "/back", "", "POST"},
		{"from https to http", secure.URL, plain.URL + "/back", "", "", "POST"},
		{"from http to https", plain.URL, secure.URL + "/back", "", "", "POST Bearer secret"},
	} {
		t.Run(c.name, func(t *testing.T) {
			seen, to, back = nil, c.to, c.back
			got, _ := ask(t, &kube.Prometheus{URL: c.from, Token: secretToken, CAFiles: []string{authority}})
			if (c.failed == "") != (got.Failed == "") || !strings.Contains(got.Failed, c.failed) {
				t.Errorf("failed with %q, want %q", got.Failed, c.failed)
			}
			if !slices.Equal(seen, []string{c.token}) {
				t.Errorf("the last server was sent %q, want %q", seen, c.token)
			}
		})
	}
}
