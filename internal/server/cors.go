package server

import (
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/rs/cors"
)

// corsMaxAge is how many seconds browsers may remember what they were allowed. They
// keep it for two hours at most.
const corsMaxAge = 7200

// allowOrigins lets the pages of other web sites call from a browser. Sites that are
// not listed get no permission, and the browser refuses their calls by itself.
func allowOrigins(origins []string, next http.Handler) http.Handler {
	return cors.New(cors.Options{
		AllowedOrigins: origins,
		AllowedMethods: []string{http.MethodGet, http.MethodHead, http.MethodPost},
		AllowedHeaders: []string{"Content-Type", "Authorization", "Traceparent", "Tracestate"},
		ExposedHeaders: []string{"Retry-After"},
		MaxAge:         corsMaxAge,
	}).Handler(next)
}

// checkOrigin refuses what no browser sends as an origin. One * stands for any part
// of a host name.
func checkOrigin(origin string) error {
	if origin == "*" {
		return nil
	}
	u, err := url.Parse(origin)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.Scheme+"://"+u.Host != origin ||
		strings.Count(origin, "*") > 1 || origin != strings.ToLower(origin) {
		return errors.New("must be a scheme and a host in lower case, as in https://play.example.com or https://*.example.com, without a path; or * for every site")
	}
	return nil
}
