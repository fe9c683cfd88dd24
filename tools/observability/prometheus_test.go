package observability

import (
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"math"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/model/textparse"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/tsdb"
)

// monitor is a Prometheus that scrapes when a test tells it to, in a time of its own.
type monitor struct {
	db     *tsdb.DB
	engine *promql.Engine
	now    time.Time
	// doctor changes what was scraped, for what no daemon can be made to do.
	doctor func(metrics string) string
}

const scrapeInterval = 15 * time.Second

func newMonitor(t *testing.T) *monitor {
	t.Helper()
	db, err := tsdb.Open(t.TempDir(), nil, nil, tsdb.DefaultOptions(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	engine := promql.NewEngine(promql.EngineOpts{
		MaxSamples: 1e6,
		Timeout:    10 * time.Second,
		Parser:     parser.NewParser(parser.Options{}),
	})
	t.Cleanup(func() {
		if err := engine.Close(); err != nil {
			t.Error(err)
		}
	})
	return &monitor{db: db, engine: engine, now: time.Now().Truncate(time.Minute)}
}

// scrape reads a daemon's metrics, one interval after the last time.
func (m *monitor) scrape(t *testing.T, d *daemon) {
	t.Helper()
	m.now = m.now.Add(scrapeInterval)
	appender := m.db.Appender(t.Context())
	target := []string{"job", "avalanched", "instance", "replica:8081"}
	store := func(series labels.Labels, value float64) {
		if _, err := appender.Append(0, series, m.now.UnixMilli(), value); err != nil {
			t.Fatal(err)
		}
	}
	body, contentType, err := d.scrape(t)
	up := 1.0
	if err != nil {
		up = 0
	}
	if m.doctor != nil {
		body = []byte(m.doctor(string(body)))
	}
	store(labels.FromStrings(append(target, "__name__", "up")...), up)
	if err == nil {
		forEachSeries(t, body, contentType, func(series labels.Labels, value float64) {
			builder := labels.NewBuilder(series)
			for i := 0; i < len(target); i += 2 {
				builder.Set(target[i], target[i+1])
			}
			store(builder.Labels(), value)
		})
	}
	if err := appender.Commit(); err != nil {
		t.Fatal(err)
	}
}

// forEachSeries reads what was scraped as Prometheus does.
func forEachSeries(t *testing.T, body []byte, contentType string, do func(series labels.Labels, value float64)) {
	t.Helper()
	p, err := textparse.New(body, contentType, labels.NewSymbolTable(), textparse.ParserOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for {
		entry, err := p.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if entry != textparse.EntrySeries {
			continue
		}
		var series labels.Labels
		p.Labels(&series)
		_, _, value := p.Series()
		do(series, value)
	}
}

// query evaluates PromQL, and wants neither errors nor warnings.
func (m *monitor) query(t *testing.T, expr string) promql.Vector {
	t.Helper()
	query, err := m.engine.NewInstantQuery(t.Context(), m.db, nil, expr, m.now)
	if err != nil {
		t.Errorf("%s: %v", expr, err)
		return nil
	}
	defer query.Close()
	result := query.Exec(t.Context())
	if result.Err != nil {
		t.Errorf("%s: %v", expr, result.Err)
		return nil
	}
	if warnings := result.Warnings.AsErrors(); len(warnings) > 0 {
		t.Errorf("%s: %v", expr, warnings)
	}
	vector, err := result.Vector()
	if err != nil {
		t.Errorf("%s: %v", expr, err)
	}
	return vector
}

// TestDashboardShowsTraffic evaluates every query of the dashboard file on the metrics
// of a daemon that does all that it can.
func TestDashboardShowsTraffic(t *testing.T) {
	t.Parallel()
	m := watchTraffic(t)
	queries := dashboardQueries(t)
	if len(queries) < 25 {
		t.Fatalf("only %d queries are found", len(queries))
	}
	variables := strings.NewReplacer("$job", "avalanched", "$instance", ".*", "$__rate_interval", "1m")
	for _, expr := range queries {
		values := m.query(t, variables.Replace(expr))
		numbers := 0
		for _, sample := range values {
			if !math.IsNaN(sample.F) {
				numbers++
			}
		}
		if numbers == 0 {
			t.Errorf("%s has no data: %v", expr, values)
		}
	}
	variableQueries := strings.Join(dashboardVariables(t), "\n")
	for _, want := range []string{"label_values(avalanched_ready, job)", `label_values(avalanched_ready{job="$job"}, instance)`} {
		if !strings.Contains(variableQueries, want) {
			t.Errorf("no variable is %s", want)
		}
	}
}

// dashboardQueries are all expressions in the file, wherever they stand.
func dashboardQueries(t *testing.T) []string {
	t.Helper()
	return textsAt(t, "expr")
}

func dashboardVariables(t *testing.T) []string {
	t.Helper()
	return textsAt(t, "query")
}

// textsAt collects the texts under a key of the dashboard file.
func textsAt(t *testing.T, key string) []string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, "deploy", "grafana", "avalanched.json"))
	if err != nil {
		t.Fatal(err)
	}
	var document any
	if err := json.Unmarshal(data, &document); err != nil {
		t.Fatal(err)
	}
	var texts []string
	var search func(value any)
	search = func(value any) {
		switch v := value.(type) {
		case map[string]any:
			if text, ok := v[key].(string); ok {
				texts = append(texts, text)
			}
			for _, inner := range v {
				search(inner)
			}
		case []any:
			for _, inner := range v {
				search(inner)
			}
		}
	}
	search(document)
	return texts
}

// watchTraffic runs a daemon for some minutes of the monitor's time, with games, and
// with requests that are refused.
func watchTraffic(t *testing.T) *monitor {
	t.Helper()
	m := newMonitor(t)
	d := startDaemon(t, nil, "--ledger=memory", "--keyset="+newKeyset(t))
	m.scrape(t, d)
	for range 2 {
		d.create(t, map[string]any{"ruleset": "mancala-kalah"}).playToTheEnd(t)
		for range 10 {
			d.useEverything(t)
			m.scrape(t, d)
		}
	}
	return m
}

// useEverything does a little of all.
func (d *daemon) useEverything(t *testing.T) {
	t.Helper()
	d.do(t, http.MethodGet, "/v1/rulesets", nil, nil)
	g := d.create(t, map[string]any{"ruleset": "marble-standard", "players": 3})
	g.move(t, nil)
	g.move(t, nil)
	d.post(t, "/v1/games:inspect", nil, map[string]any{"state": g.state})
	d.post(t, "/v1/games:inspect", nil, map[string]any{"state": strings.Repeat("A", len(g.state))})
	d.post(t, "/v1/games", nil, map[string]any{"ruleset": "snow"})
	d.do(t, http.MethodGet, "/v1/snow", nil, nil)
}

// alertRules reads the rules with Prometheus' own checks.
func alertRules(t *testing.T) map[string]rulefmt.Rule {
	t.Helper()
	groups, errs := rulefmt.ParseFile(
		filepath.Join(root, "deploy", "prometheus", "alerts.yaml"),
		false, model.LegacyValidation, parser.NewParser(parser.Options{}), slog.New(slog.DiscardHandler),
	)
	if len(errs) > 0 {
		t.Fatal(errors.Join(errs...))
	}
	rules := map[string]rulefmt.Rule{}
	for _, group := range groups.Groups {
		for _, rule := range group.Rules {
			if rule.Alert == "" || rule.Labels["severity"] == "" || rule.Annotations["summary"] == "" || rule.Annotations["description"] == "" {
				t.Errorf("%q is no alert, or lacks a severity, a summary or a description", rule.Alert+rule.Record)
			}
			rules[rule.Alert] = rule
		}
	}
	return rules
}

// TestNoAlertWithoutTrouble has a daemon that does well, also with clients who do not.
func TestNoAlertWithoutTrouble(t *testing.T) {
	t.Parallel()
	m := watchTraffic(t)
	for name, rule := range alertRules(t) {
		fired := m.query(t, rule.Expr)
		// How fast a machine is that runs tests is not the daemon's doing.
		if len(fired) > 0 && !strings.HasSuffix(name, "Slow") {
			t.Errorf("%s: %v", name, fired)
		}
	}
}

// TestAlertsFire makes, with real daemons, each trouble that there is an alert for.
func TestAlertsFire(t *testing.T) {
	t.Parallel()
	rules := alertRules(t)
	tried := map[string]bool{}
	for _, trouble := range []struct {
		name   string
		make   func(t *testing.T) *monitor
		alerts []string
	}{
		{"stopped", stopped, []string{"AvalanchedDown", "AvalanchedNoneReady"}},
		{"drain without an end", draining, []string{"AvalanchedNotReady", "AvalanchedNoneReady"}},
		{"Redis hangs", hangingRedis, []string{"AvalanchedLedgerUnavailable", "AvalanchedLedgerSlow", "AvalanchedErrors", "AvalanchedSlow"}},
		{"memory ledger restarts", forgetfulLedger, []string{"AvalanchedLedgerLostMemory"}},
		{"broken keyset", brokenKeyset, []string{"AvalanchedReloadRefused"}},
		{"too many connections", crowded, []string{"AvalanchedShedding"}},
		{"bug", faulty, []string{"AvalanchedFault"}},
	} {
		for _, alert := range trouble.alerts {
			tried[alert] = true
		}
		t.Run(trouble.name, func(t *testing.T) {
			t.Parallel()
			m := trouble.make(t)
			for _, alert := range trouble.alerts {
				if len(m.query(t, rules[alert].Expr)) == 0 {
					t.Errorf("%s does not fire", alert)
				}
			}
		})
	}
	for name := range rules {
		if !tried[name] {
			t.Errorf("nothing shows that %s fires", name)
		}
	}
}

func stopped(t *testing.T) *monitor {
	m := newMonitor(t)
	d := startDaemon(t, nil)
	d.stop(t)
	m.scrape(t, d)
	return m
}

func draining(t *testing.T) *monitor {
	m := newMonitor(t)
	d := startDaemon(t, nil, "--drain-delay=1h")
	d.signal(t, syscall.SIGTERM)
	eventually(t, "the drain begins", func() bool { return hasLine(d.log.String(), map[string]string{"msg": "draining"}) })
	m.scrape(t, d)
	// The second signal ends the drain.
	d.signal(t, syscall.SIGTERM)
	return m
}

// hangingRedis has ten players whose moves are not recorded, whenever they try.
func hangingRedis(t *testing.T) *monitor {
	server, location := startRedis(t)
	m := newMonitor(t)
	d := startDaemon(t, nil, "--ledger="+location)
	var games []*game
	for range 10 {
		games = append(games, d.create(t, map[string]any{"ruleset": "marble-basic", "players": 2}))
	}
	m.scrape(t, d)
	server.pause(t)
	for range 2 {
		var players sync.WaitGroup
		for _, g := range games {
			players.Go(func() {
				if a := d.post(t, "/v1/games:applyMove", nil, g.moveRequest()); a.status != http.StatusServiceUnavailable {
					t.Errorf("a move on a Redis that hangs: %v", a)
				}
			})
		}
		players.Wait()
		m.scrape(t, d)
	}
	if !hasLine(d.log.String(), map[string]string{"msg": "ledger", "level": "WARN", "outcome": "unavailable"}) {
		t.Error("the log does not tell of the ledger")
	}
	return m
}

// forgetfulLedger plays on after a restart.
func forgetfulLedger(t *testing.T) *monitor {
	keyset := newKeyset(t)
	first := startDaemon(t, nil, "--ledger=memory", "--keyset="+keyset)
	g := first.create(t, map[string]any{"ruleset": "marble-basic", "players": 2})
	g.move(t, nil)
	first.stop(t)

	m := newMonitor(t)
	second := startDaemon(t, nil, "--ledger=memory", "--keyset="+keyset)
	m.scrape(t, second)
	g.d = second
	g.move(t, nil)
	m.scrape(t, second)
	return m
}

func brokenKeyset(t *testing.T) *monitor {
	keyset := newKeyset(t)
	m := newMonitor(t)
	d := startDaemon(t, nil, "--keyset="+keyset)
	m.scrape(t, d)
	if err := os.WriteFile(keyset, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the keyset is refused", func() bool {
		body, _, err := d.scrape(t)
		return err == nil && !strings.Contains(string(body), `avalanched_keyset_reloads_total{result="REFUSED"} 0`)
	})
	m.scrape(t, d)
	return m
}

// crowded has more clients than connections.
func crowded(t *testing.T) *monitor {
	m := newMonitor(t)
	d := startDaemon(t, nil, "--max-connections=1")
	m.scrape(t, d)
	const clients = 50
	for range clients {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", d.http)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
	}
	eventually(t, "connections are refused", func() bool {
		body, _, err := d.scrape(t)
		return err == nil && strings.Contains(string(body), `avalanched_connections_refused_total{port="http"} 49`)
	})
	m.scrape(t, d)
	return m
}

// faulty doctors the metrics: no daemon can be made to fail on purpose.
func faulty(t *testing.T) *monitor {
	m := newMonitor(t)
	d := startDaemon(t, nil)
	m.scrape(t, d)
	m.doctor = func(metrics string) string {
		const none = `avalanched_requests_refused_total{reason="INTERNAL_FAULT"} 0`
		if !strings.Contains(metrics, none) {
			t.Errorf("no line %s in\n%s", none, metrics)
		}
		return strings.Replace(metrics, none, strings.TrimSuffix(none, "0")+"1", 1)
	}
	m.scrape(t, d)
	return m
}
