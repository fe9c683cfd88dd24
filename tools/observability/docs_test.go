package observability

import (
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
)

// documentedMetric is a row of the table in docs/telemetry.md.
type documentedMetric struct {
	otel, prometheus string
	labels           []string
}

var metricRow = regexp.MustCompile("(?m)^\\| `([a-z_.]+)` \\| `([a-z_]+)` \\| ([^|]*) \\| [^|]+ \\|$")

func documentation(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "docs", "telemetry.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func documentedMetrics(t *testing.T) map[string]documentedMetric {
	t.Helper()
	metrics := map[string]documentedMetric{}
	for _, match := range metricRow.FindAllStringSubmatch(documentation(t), -1) {
		m := documentedMetric{otel: match[1], prometheus: match[2]}
		for label := range strings.SplitSeq(match[3], ",") {
			if label = strings.Trim(label, " `"); label != "none" {
				m.labels = append(m.labels, label)
			}
		}
		slices.Sort(m.labels)
		metrics[m.prometheus] = m
	}
	return metrics
}

// fromLibraries are the metrics that are explained elsewhere.
var fromLibraries = regexp.MustCompile(`^(go_|process_|target_info$)`)

// TestDocumentedMetrics compares the table with what a daemon shows that has done all
// that it can.
func TestDocumentedMetrics(t *testing.T) {
	t.Parallel()
	server, location := startRedis(t)
	d := startDaemon(t, nil, "--ledger="+location)
	d.create(t, map[string]any{"ruleset": "mancala-kalah"}).playToTheEnd(t)
	d.useEverything(t)
	// A call that fails by the server's fault has one label more.
	server.pause(t)
	g := d.create(t, map[string]any{"ruleset": "mancala-kalah"})
	if a := d.post(t, "/v1/games:applyMove", nil, g.moveRequest()); a.status != http.StatusServiceUnavailable {
		t.Errorf("a move on a Redis that hangs: %v", a)
	}
	body, contentType, err := d.scrape(t)
	if err != nil {
		t.Fatal(err)
	}
	shown := map[string]map[string]bool{}
	parts := regexp.MustCompile(`_(bucket|sum|count)$`)
	forEachSeries(t, body, contentType, func(series labels.Labels, _ float64) {
		name := parts.ReplaceAllString(series.Get("__name__"), "")
		if fromLibraries.MatchString(name) {
			return
		}
		if shown[name] == nil {
			shown[name] = map[string]bool{}
		}
		series.Range(func(label labels.Label) {
			if label.Name != "__name__" && label.Name != "le" {
				shown[name][label.Name] = true
			}
		})
	})
	documented := documentedMetrics(t)
	for name, labelNames := range shown {
		row, ok := documented[name]
		if got := slices.Sorted(maps.Keys(labelNames)); !ok || !slices.Equal(got, row.labels) {
			t.Errorf("%s has the labels %q, documented are %q", name, got, row.labels)
		}
	}
	for name := range documented {
		if shown[name] == nil {
			t.Errorf("%s is documented and not shown", name)
		}
	}
}

// checkMetricNames compares what a Collector received with the table.
func checkMetricNames(t *testing.T, c *collector) {
	t.Helper()
	documented := map[string]bool{}
	for _, metric := range documentedMetrics(t) {
		documented[metric.otel] = true
	}
	got := c.metricNames()
	for _, name := range got {
		if !documented[name] {
			t.Errorf("the metric %s is not documented", name)
		}
	}
	for _, want := range []string{"rpc.server.call.duration", "http.server.request.duration", "avalanched.ledger.duration", "avalanched.move.events"} {
		if !slices.Contains(got, want) {
			t.Errorf("the metric %s has not arrived: %q", want, got)
		}
	}
}

// TestDocumentedAlerts: the document says what to do about each alert.
func TestDocumentedAlerts(t *testing.T) {
	text := documentation(t)
	for name := range alertRules(t) {
		if !strings.Contains(text, "| `"+name+"` |") {
			t.Errorf("%s is not documented", name)
		}
	}
	for _, match := range regexp.MustCompile("\\| `(Avalanched\\w+)` \\|").FindAllStringSubmatch(text, -1) {
		if _, ok := alertRules(t)[match[1]]; !ok {
			t.Errorf("there is no alert %s", match[1])
		}
	}
}
