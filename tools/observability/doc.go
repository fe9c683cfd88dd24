// Package observability makes the Grafana dashboard of deploy/grafana and, in its
// tests, tries everything about telemetry with the real counterparts: a running daemon
// sends to the OpenTelemetry Collector's OTLP receiver, and Prometheus' own engine
// evaluates the queries of the dashboard and of the alert rules on what the daemon
// shows at /metrics. The module is separate because those counterparts are heavy, and
// builds the daemon with the product's own go.mod.
package observability
