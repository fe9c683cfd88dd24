// Package openapi holds the OpenAPI description of the JSON API, generated from
// the proto files.
package openapi

import _ "embed"

// Document is the description, as JSON.
//
//go:embed avalanche.swagger.json
var Document []byte
