package descheduleflags

import (
	"errors"
	"fmt"

	"github.com/spf13/pflag"
)

// ExplainUnknown adds to the error about an unknown flag what has become of it, when it is one that the
// descheduler had before policies were files, and that old manifests still carry.
func ExplainUnknown(err error) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return err
	}
	instead, ok := map[string]string{
		"evict-local-storage-pods":   "in the policy file, set evictLocalStoragePods: true, or podProtections.defaultDisabled: [PodsWithLocalStorage], in the args of DefaultEvictor",
		"node-selector":              "in the policy file, set nodeSelector at the top level",
		"max-pods-to-evict-per-node": "in the policy file, set maxNoOfPodsToEvictPerNode at the top level",
		"running-in-cluster":         "it is found out",
		"logtostderr":                "logs always go to standard error",
		"alsologtostderr":            "logs always go to standard error",
	}[unknown.GetSpecifiedName()]
	if !ok {
		return err
	}
	return fmt.Errorf("%w: the descheduler gave this flag up before v0.30; %s", err, instead)
}
