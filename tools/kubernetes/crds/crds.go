// Package crds pins the projects whose custom resources our manifests use. The
// imports keep their modules in go.mod; the definitions themselves are YAML files in
// these modules, which tools/kubernetes/check finds there.
package crds

import (
	_ "github.com/prometheus-operator/prometheus-operator/example" // Its folder has the definitions.
	_ "sigs.k8s.io/gateway-api/pkg/consts"
)
