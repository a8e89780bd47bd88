package serve

import (
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

const (
	allowedFor  = time.Minute
	refusedFor  = 10 * time.Second
	maxVerdicts = 1000
	reviewLimit = 10 * time.Second
)

// Reviewer asks the API server who sends a bearer token and what they may read.
// Answers are kept for a short time. It is safe for concurrent use.
type Reviewer struct {
	client kubernetes.Interface
	log    *slog.Logger

	mu       sync.Mutex
	verdicts map[[sha256.Size]byte]verdict
}

type verdict struct {
	code    int // 200, 401 or 403
	message string
	until   time.Time
}

// NewReviewer returns a reviewer that knows no answer yet.
func NewReviewer(client kubernetes.Interface, log *slog.Logger) *Reviewer {
	return &Reviewer{client: client, log: log, verdicts: map[[sha256.Size]byte]verdict{}}
}

// Guard lets only those through to next who may use the request's verb on its path: 401 without a valid token, 403 without permission,
// 500 when the API server can't be asked.
func (r *Reviewer) Guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		scheme, token, _ := strings.Cut(req.Header.Get("Authorization"), " ")
		if !strings.EqualFold(scheme, "Bearer") || strings.TrimSpace(token) == "" {
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "a bearer token is needed", http.StatusUnauthorized)
			return
		}
		v, err := r.review(req.Context(), strings.TrimSpace(token), verb(req.Method), req.URL.Path)
		switch {
		case err != nil:
			r.log.Error("can't tell who may read "+req.URL.Path, "err", err)
			http.Error(w, "the API server could not be asked who you are", http.StatusInternalServerError)
		case v.code != http.StatusOK:
			http.Error(w, v.message, v.code)
		default:
			next.ServeHTTP(w, req)
		}
	})
}

func verb(method string) string {
	if method == http.MethodHead {
		return "get"
	}
	return strings.ToLower(method)
}

func (r *Reviewer) review(ctx context.Context, token, verb, path string) (verdict, error) {
	key := sha256.Sum256([]byte(verb + " " + path + " " + token))
	r.mu.Lock()
	known, ok := r.verdicts[key]
	r.mu.Unlock()
	if ok && time.Now().Before(known.until) {
		return known, nil
	}
	ctx, cancel := context.WithTimeout(ctx, reviewLimit)
	defer cancel()
	v, err := r.ask(ctx, token, verb, path)
	if err != nil {
		return verdict{}, err
	}
	v.until = time.Now().Add(refusedFor)
	if v.code == http.StatusOK {
		v.until = time.Now().Add(allowedFor)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.verdicts) >= maxVerdicts {
		clear(r.verdicts) // somebody tries tokens out
	}
	r.verdicts[key] = v
	return v, nil
}

func (r *Reviewer) ask(ctx context.Context, token, verb, path string) (verdict, error) {
	who, err := r.client.AuthenticationV1().TokenReviews().Create(ctx,
		&authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}, metav1.CreateOptions{})
	if err != nil {
		return verdict{}, fmt.Errorf("create a TokenReview: %w", err)
	}
	if !who.Status.Authenticated {
		return verdict{code: http.StatusUnauthorized, message: "the token is not valid"}, nil
	}
	user := who.Status.User
	extra := make(map[string]authorizationv1.ExtraValue, len(user.Extra))
	for k, v := range user.Extra {
		extra[k] = authorizationv1.ExtraValue(v)
	}
	may, err := r.client.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{
		Spec: authorizationv1.SubjectAccessReviewSpec{
			User: user.Username, UID: user.UID, Groups: user.Groups, Extra: extra,
			NonResourceAttributes: &authorizationv1.NonResourceAttributes{Path: path, Verb: verb},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		return verdict{}, fmt.Errorf("create a SubjectAccessReview: %w", err)
	}
	if !may.Status.Allowed {
		return verdict{code: http.StatusForbidden, message: fmt.Sprintf("%s may not %s %s", user.Username, verb, path)}, nil
	}
	return verdict{code: http.StatusOK}, nil
}
