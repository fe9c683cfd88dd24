package server

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// AccessMetrics count what happens to the files that say who may call.
type AccessMetrics struct {
	reloads metric.Int64Counter
}

// NewAccessMetrics makes the instruments.
func NewAccessMetrics(telemetry *Telemetry) (*AccessMetrics, error) {
	m := &AccessMetrics{}
	err := makeCounters(telemetry.Meter(), []counter{
		{&m.reloads, "avalanched.access.reloads", "{reload}", "Reloads of changed files, by files (api_keys or tls) and result: OK or REFUSED."},
	})
	if err != nil {
		return nil, err
	}
	for _, files := range []attribute.KeyValue{apiKeyFiles, tlsFiles} {
		startAtZero(m.reloads, resultKey, []string{resultOK, resultRefused}, files)
	}
	return m, nil
}

// Which files were reloaded.
var (
	apiKeyFiles = attribute.String("files", "api_keys")
	tlsFiles    = attribute.String("files", "tls")
)

// APIKeysReloaded counts a reload of the file of API keys, which was refused if err
// is not nil.
func (m *AccessMetrics) APIKeysReloaded(err error) { m.reloaded(apiKeyFiles, err) }

// TLSReloaded counts a reload of the TLS files, which were refused if err is not nil.
func (m *AccessMetrics) TLSReloaded(err error) { m.reloaded(tlsFiles, err) }

func (m *AccessMetrics) reloaded(files attribute.KeyValue, err error) {
	m.reloads.Add(context.Background(), 1, metric.WithAttributes(files, reloadResult(err)))
}
