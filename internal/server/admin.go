package server

import (
	"io"
	"net/http"
	"net/http/pprof"
	"sync/atomic"
)

// newAdminHandler is all of the admin port. It is for the operator and the cluster,
// not for clients.
func newAdminHandler(ready *atomic.Bool, telemetry *Telemetry, profiles bool) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) {
		answerProbe(w, http.StatusOK, "ok")
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if !ready.Load() {
			answerProbe(w, http.StatusServiceUnavailable, "not ready")
			return
		}
		answerProbe(w, http.StatusOK, "ok")
	})
	mux.Handle("GET /metrics", telemetry.scrapeHandler())
	if profiles {
		mux.HandleFunc("GET /debug/pprof/", pprof.Index)
		mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
		mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
		mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	}
	return mux
}

func answerProbe(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(code)
	_, _ = io.WriteString(w, text+"\n")
}
