package policy

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Protection names a reason to leave pods alone.
type Protection string

// The protections. The first four are on unless switched off, the others off
// unless switched on.
const (
	PodsWithLocalStorage   Protection = "PodsWithLocalStorage"
	SystemCriticalPods     Protection = "SystemCriticalPods"
	FailedBarePods         Protection = "FailedBarePods"
	DaemonSetPods          Protection = "DaemonSetPods"
	PodsWithPVC            Protection = "PodsWithPVC"
	PodsWithoutPDB         Protection = "PodsWithoutPDB"
	PodsWithResourceClaims Protection = "PodsWithResourceClaims"
)

func defaultProtections() []Protection {
	return []Protection{PodsWithLocalStorage, SystemCriticalPods, FailedBarePods, DaemonSetPods}
}

func extraProtections() []Protection {
	return []Protection{PodsWithPVC, PodsWithoutPDB, PodsWithResourceClaims}
}

// PodProtections switch protections on and off. They are in force, instead of
// the old switches of EvictorArgs, if one of the two lists has entries.
type PodProtections struct {
	// DefaultDisabled switches off protections that are on by default.
	DefaultDisabled []Protection `json:"defaultDisabled,omitempty"`
	// ExtraEnabled switches on protections that are off by default.
	ExtraEnabled []Protection `json:"extraEnabled,omitempty"`
	// Config refines protections that are on.
	Config *ProtectionsConfig `json:"config,omitempty"`
}

// ProtectionsConfig refines protections.
type ProtectionsConfig struct {
	// PodsWithPVC narrows down the protection of that name.
	PodsWithPVC *PVCProtection `json:"PodsWithPVC,omitempty"`
}

// PVCProtection narrows down which claims protect a pod.
type PVCProtection struct {
	// ProtectedStorageClasses protect the pods with a claim of one of them, or
	// whose class cannot be told; without entries every claim protects.
	ProtectedStorageClasses []ProtectedStorageClass `json:"protectedStorageClasses,omitempty"`
}

// ProtectedStorageClass names a storage class.
type ProtectedStorageClass struct {
	// Name must not be empty.
	Name string `json:"name,omitempty"`
}

// Protections is the set of protections in force, whichever way it was written.
type Protections struct {
	// LocalStorage protects pods with hostPath or emptyDir volumes.
	LocalStorage bool
	// SystemCritical protects pods of SystemCriticalPriority and above. While it
	// is off the priority threshold is not looked at either.
	SystemCritical bool
	// BarePods protects every pod without an owner; off, only those that have
	// not failed.
	BarePods bool
	// DaemonSet protects pods owned by a DaemonSet.
	DaemonSet bool
	// PVC protects pods with a claim, of one of StorageClasses if there are any.
	PVC            bool
	StorageClasses []string
	// WithoutPDB protects pods that no PodDisruptionBudget selects.
	WithoutPDB bool
	// ResourceClaims protects pods with resource claims.
	ResourceClaims bool
}

// Protections resolves the two ways to write protections into one.
func (a *EvictorArgs) Protections() Protections {
	p := a.PodProtections
	if !p.inForce() {
		return Protections{
			LocalStorage:   !a.EvictLocalStoragePods,
			SystemCritical: !a.EvictSystemCriticalPods,
			BarePods:       !a.EvictFailedBarePods,
			DaemonSet:      !a.EvictDaemonSetPods,
			PVC:            a.IgnorePvcPods,
			WithoutPDB:     a.IgnorePodsWithoutPDB,
		}
	}
	disabled := func(name Protection) bool { return slices.Contains(p.DefaultDisabled, name) }
	enabled := func(name Protection) bool { return slices.Contains(p.ExtraEnabled, name) }
	set := Protections{
		LocalStorage:   !disabled(PodsWithLocalStorage),
		SystemCritical: !disabled(SystemCriticalPods),
		BarePods:       !disabled(FailedBarePods),
		DaemonSet:      !disabled(DaemonSetPods),
		PVC:            enabled(PodsWithPVC),
		WithoutPDB:     enabled(PodsWithoutPDB),
		ResourceClaims: enabled(PodsWithResourceClaims),
	}
	if set.PVC {
		set.StorageClasses = p.storageClasses()
	}
	return set
}

func (p PodProtections) inForce() bool {
	return len(p.DefaultDisabled) > 0 || len(p.ExtraEnabled) > 0
}

func (p PodProtections) storageClasses() []string {
	if p.Config == nil || p.Config.PodsWithPVC == nil {
		return nil
	}
	var names []string
	for _, c := range p.Config.PodsWithPVC.ProtectedStorageClasses {
		names = append(names, c.Name)
	}
	return names
}

// oldSwitches returns the names of the old switches that are set.
func (a *EvictorArgs) oldSwitches() []string {
	var set []string
	for _, s := range []struct {
		name string
		on   bool
	}{
		{"evictLocalStoragePods", a.EvictLocalStoragePods},
		{"evictDaemonSetPods", a.EvictDaemonSetPods},
		{"evictSystemCriticalPods", a.EvictSystemCriticalPods},
		{"ignorePvcPods", a.IgnorePvcPods},
		{"ignorePodsWithoutPDB", a.IgnorePodsWithoutPDB},
		{"evictFailedBarePods", a.EvictFailedBarePods},
	} {
		if s.on {
			set = append(set, s.name)
		}
	}
	return set
}

func (a *EvictorArgs) validateProtections(path *field.Path) field.ErrorList {
	p, at := a.PodProtections, path.Child("podProtections")
	var errs field.ErrorList
	if p.inForce() {
		for _, name := range a.oldSwitches() {
			errs = append(errs, field.Forbidden(path.Child(name),
				"cannot be combined with podProtections.defaultDisabled or extraEnabled"))
		}
	}
	errs = append(errs, validateList(at.Child("defaultDisabled"), p.DefaultDisabled, defaultProtections())...)
	errs = append(errs, validateList(at.Child("extraEnabled"), p.ExtraEnabled, extraProtections())...)
	for i, name := range p.storageClasses() {
		if name == "" {
			errs = append(errs, field.Required(
				at.Child("config", "PodsWithPVC", "protectedStorageClasses").Index(i).Child("name"), "must not be empty"))
		}
	}
	return errs
}

func validateList(path *field.Path, list, allowed []Protection) field.ErrorList {
	var errs field.ErrorList
	for i, name := range list {
		switch {
		case !slices.Contains(allowed, name):
			errs = append(errs, field.NotSupported(path.Index(i), name, allowed))
		case slices.Contains(list[:i], name):
			errs = append(errs, field.Duplicate(path.Index(i), name))
		}
	}
	return errs
}
