// Package policy reads policy files: the DeschedulerPolicy documents of API
// version descheduler/v1alpha2 that users of the Kubernetes descheduler have.
//
// Load takes the bytes of a file all the way to a Policy that the engine can
// run. It works in steps that can each report any number of problems:
//
//  1. find the one policy in the file: a plain document, one of several YAML
//     documents, a value of a ConfigMap, or the value deschedulerPolicy of a
//     Helm values file (source.go);
//  2. hold it against the fields and types there are (shape.go, decode.go);
//  3. set defaults and validate, field by field;
//  4. match enabled plugins with their arguments (compile.go);
//  5. point out what is legal and surely not meant (lint.go).
//
// What the descheduler refuses is refused here as well, with every problem at
// once and the line of each. What it silently ignores is accepted, because the
// same file has to keep working, but reported as a Warning.
//
// The package decides nothing about a cluster: a priority class that is given by
// name stays a name until the caller looks it up in a snapshot.
package policy
