package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/cluster"
)

// StartsFunc reads what the agents of the nodes say about the pods that start there. The note, when it is not empty, says why nothing could be read.
type StartsFunc func(ctx context.Context) (starts map[string]cluster.Starts, note string, err error)

const startsTimeout = time.Minute

// NodePaces lists the NodePace objects. Where their kind is not installed there are none. Where it is, and may not be listed, a note says so.
func NodePaces(client *Client) StartsFunc {
	version := "/apis/" + v1alpha1.GroupVersion().String()
	get := func(ctx context.Context, path, token string) ([]byte, error) {
		r := client.Read.CoreV1().RESTClient().Get().AbsPath(path).SetHeader("Accept", jsonType)
		if path != version {
			r = r.Param("limit", strconv.Itoa(DefaultPageSize)).Param("continue", token)
		}
		result := r.Do(ctx)
		if err := result.Error(); err != nil { // that of Raw does not have the server's message
			return nil, err
		}
		return result.Raw()
	}
	return func(ctx context.Context) (map[string]cluster.Starts, string, error) {
		ctx, cancel := context.WithTimeout(ctx, startsTimeout)
		defer cancel()
		starts := map[string]cluster.Starts{}
		for token := ""; ; {
			data, err := get(ctx, version+"/nodepaces", token)
			switch {
			case apierrors.IsNotFound(err):
				return nil, "", nil
			case apierrors.IsForbidden(err):
				if _, err := get(ctx, version, ""); apierrors.IsNotFound(err) {
					return nil, "", nil
				}
				return nil, "nodepaces.evenkeel.dev were not looked at: the verb list is not granted; nodes may be sent more pods than they start at a time", nil
			case err != nil:
				return nil, "", fmt.Errorf("list nodepaces.evenkeel.dev: %w", err)
			}
			var list v1alpha1.NodePaceList
			if err := json.Unmarshal(data, &list); err != nil {
				return nil, "", fmt.Errorf("list nodepaces.evenkeel.dev: %w", err)
			}
			for i := range list.Items {
				if s := &list.Items[i].Status; s.Limit > 0 {
					starts[list.Items[i].Name] = cluster.Starts{Limit: int(s.Limit), Starting: int(s.Starting), Waiting: int(s.Waiting)}
				}
			}
			if token = list.Continue; token == "" {
				return starts, "", nil
			}
		}
	}
}
