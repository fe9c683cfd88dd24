package observability

import (
	"fmt"
	"strings"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/heatmap"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/grafana/grafana-foundation-sdk/go/stat"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
)

// Dashboard is the one of deploy/grafana/avalanched.json. Its variables choose the data
// source, the job and the replicas.
func Dashboard() (dashboard.Dashboard, error) { //nolint:staticcheck // Every Grafana imports the older schema.
	builder := dashboard.NewDashboardBuilder("avalanched") //nolint:staticcheck // As above.
	builder.Uid("avalanched").
		Description("The rules authority for the games called Avalanche: traffic, games, ledger, limits and process. docs/telemetry.md explains the metrics.").
		Tags([]string{"avalanched"}).
		Time("now-3h", "now").
		Refresh("1m").
		Timezone("browser").
		Tooltip(dashboard.DashboardCursorSyncCrosshair).
		WithVariable(dashboard.NewDatasourceVariableBuilder("datasource").Label("Data source").Type("prometheus")).
		WithVariable(labelVariable("job", "Job", "label_values(avalanched_ready, job)")).
		WithVariable(labelVariable("instance", "Replica", `label_values(avalanched_ready{job="$job"}, instance)`).
			Multi(true).
			IncludeAll(true).
			AllValue(".*"))
	id := uint32(0)
	for _, r := range rows {
		id++
		builder.WithRow(dashboard.NewRowBuilder(r.title).Id(id))
		for _, p := range r.panels {
			id++
			builder.WithPanel(p.build(id))
		}
	}
	return builder.Build()
}

func labelVariable(name, label, query string) *dashboard.QueryVariableBuilder {
	return dashboard.NewQueryVariableBuilder(name).
		Label(label).
		Datasource(datasource).
		Query(dashboard.StringOrMap{String: new(query)}).
		Refresh(dashboard.VariableRefreshOnTimeRangeChanged).
		Sort(dashboard.VariableSortAlphabeticalAsc)
}

var datasource = common.DataSourceRef{Type: new("prometheus"), Uid: new("${datasource}")}

type row struct {
	title  string
	panels []panel
}

// panel is a graph over time unless its kind says otherwise.
type panel struct {
	kind    panelKind
	title   string
	about   string
	unit    string
	queries []query
}

type panelKind int

const (
	graph panelKind = iota
	number
	heat
)

// query is written in PromQL, with $S for the selector of the job and the replicas, and
// with the name of its curves.
type query struct{ expr, legend string }

const selector = `job="$job",instance=~"$instance"`

// serverErrors are the reasons for which the server, and not the client, is at fault.
const serverErrors = `reason=~"INTERNAL_FAULT|LEDGER_UNAVAILABLE|STATE_TOO_NEW"`

var rows = []row{
	{"Service", []panel{
		{number, "Ready replicas", "Replicas that welcome requests.", "short", []query{
			{`sum(avalanched_ready{$S})`, "ready"},
		}},
		{number, "Calls", "Calls of the API per second, over both transports.", "reqps", []query{
			{`sum(rate(rpc_server_call_duration_seconds_count{$S}[$__rate_interval]))`, "calls"},
		}},
		{number, "Failed calls", "Share of the calls that failed by the server's fault.", "percentunit", []query{
			{`(sum(rate(avalanched_requests_refused_total{$S,` + serverErrors + `}[$__rate_interval])) or vector(0)) / sum(rate(rpc_server_call_duration_seconds_count{$S}[$__rate_interval]))`, "failed"},
		}},
		{number, "Slowest 1 %", "Time within which 99 % of the calls end.", "s", []query{
			{`histogram_quantile(0.99, sum by (le) (rate(rpc_server_call_duration_seconds_bucket{$S}[$__rate_interval])))`, "p99"},
		}},
		{graph, "Calls by method", "Over both transports.", "reqps", []query{
			{`sum by (rpc_method) (rate(rpc_server_call_duration_seconds_count{$S}[$__rate_interval]))`, "{{rpc_method}}"},
		}},
		{graph, "Calls by code", "Over both transports. UNAVAILABLE is the server's fault, and so is INTERNAL, unless a client has sent a gRPC message that cannot be read.", "reqps", []query{
			{`sum by (rpc_response_status_code) (rate(rpc_server_call_duration_seconds_count{$S}[$__rate_interval]))`, "{{rpc_response_status_code}}"},
		}},
		{graph, "Duration of calls", "From the arrival of the request to its answer, over both transports.", "s", []query{
			{`histogram_quantile(0.5, sum by (le) (rate(rpc_server_call_duration_seconds_bucket{$S}[$__rate_interval])))`, "p50"},
			{`histogram_quantile(0.95, sum by (le) (rate(rpc_server_call_duration_seconds_bucket{$S}[$__rate_interval])))`, "p95"},
			{`histogram_quantile(0.99, sum by (le) (rate(rpc_server_call_duration_seconds_bucket{$S}[$__rate_interval])))`, "p99"},
		}},
		{graph, "Duration by method, slowest 1 %", "Replays and simulations may take longer than moves.", "s", []query{
			{`histogram_quantile(0.99, sum by (rpc_method, le) (rate(rpc_server_call_duration_seconds_bucket{$S}[$__rate_interval])))`, "{{rpc_method}}"},
		}},
		{graph, "HTTP requests", "By route and status, what never became a call included.", "reqps", []query{
			{`sum by (http_route, http_response_status_code) (rate(http_server_request_duration_seconds_count{$S}[$__rate_interval]))`, "{{http_response_status_code}} {{http_route}}"},
		}},
		{graph, "HTTP bodies", "Mean size of the bodies.", "bytes", []query{
			{`sum(rate(http_server_request_body_size_bytes_sum{$S}[$__rate_interval])) / sum(rate(http_server_request_body_size_bytes_count{$S}[$__rate_interval]))`, "requests"},
			{`sum(rate(http_server_response_body_size_bytes_sum{$S}[$__rate_interval])) / sum(rate(http_server_response_body_size_bytes_count{$S}[$__rate_interval]))`, "answers"},
		}},
		{graph, "Refused requests", "Answers that are errors, by their reason in the API.", "reqps", []query{
			{`sum by (reason) (rate(avalanched_requests_refused_total{$S}[$__rate_interval])) > 0`, "{{reason}}"},
		}},
		{graph, "Checked states", "States that clients brought. STATE_INVALID in number means that somebody tries to forge some, or that the replicas do not have the same keys.", "ops", []query{
			{`sum by (result) (rate(avalanched_states_opened_total{$S}[$__rate_interval]))`, "{{result}}"},
		}},
	}},
	{"Games", []panel{
		{graph, "Games created", "By ruleset.", "ops", []query{
			{`sum by (ruleset) (rate(avalanched_games_created_total{$S}[$__rate_interval]))`, "{{ruleset}}"},
		}},
		{graph, "Moves", "By ruleset.", "ops", []query{
			{`sum by (ruleset) (rate(avalanched_move_events_count{$S}[$__rate_interval]))`, "{{ruleset}}"},
		}},
		{graph, "Games ended", "By ruleset and how they ended.", "ops", []query{
			{`sum by (ruleset, status, ended) (rate(avalanched_games_ended_total{$S}[$__rate_interval]))`, "{{ruleset}} {{status}} {{ended}}"},
		}},
		{heat, "Cascades", "Events that one move sets off.", "short", []query{
			{`sum by (le) (increase(avalanched_move_events_bucket{$S}[$__rate_interval]))`, "{{le}}"},
		}},
	}},
	{"Ledger", []panel{
		{graph, "Moves recorded", "By outcome. \"adopted\" and \"forgotten\" mean that the ledger has lost memory.", "ops", []query{
			{`sum by (outcome) (rate(avalanched_ledger_advances_total{$S}[$__rate_interval]))`, "{{outcome}}"},
		}},
		{graph, "Duration", "Time that the ledger takes to answer.", "s", []query{
			{`histogram_quantile(0.5, sum by (operation, le) (rate(avalanched_ledger_duration_seconds_bucket{$S}[$__rate_interval])))`, "{{operation}} p50"},
			{`histogram_quantile(0.99, sum by (operation, le) (rate(avalanched_ledger_duration_seconds_bucket{$S}[$__rate_interval])))`, "{{operation}} p99"},
		}},
	}},
	{"Limits and files", []panel{
		{graph, "Turned away", "Requests over a limit, and connections over theirs.", "reqps", []query{
			{`sum by (reason) (rate(avalanched_requests_refused_total{$S,reason=~"OVERLOADED|RATE_LIMITED|API_KEY_INVALID|REQUEST_TOO_LARGE"}[$__rate_interval]))`, "{{reason}}"},
			{`sum by (port) (rate(avalanched_connections_refused_total{$S}[$__rate_interval]))`, "connections, {{port}}"},
		}},
		{graph, "Reloaded files", "Changes of the keyset, the API keys and the certificates that were taken over or refused.", "short", []query{
			{`sum by (result) (increase(avalanched_keyset_reloads_total{$S}[$__rate_interval]))`, "keyset {{result}}"},
			{`sum by (files, result) (increase(avalanched_access_reloads_total{$S}[$__rate_interval]))`, "{{files}} {{result}}"},
		}},
	}},
	{"Process", []panel{
		{graph, "CPU", "Cores in use, by replica.", "short", []query{
			{`rate(process_cpu_seconds_total{$S}[$__rate_interval])`, "{{instance}}"},
		}},
		{graph, "Memory", "By replica.", "bytes", []query{
			{`process_resident_memory_bytes{$S}`, "{{instance}} resident"},
			{`go_memstats_heap_inuse_bytes{$S}`, "{{instance}} heap"},
		}},
		{graph, "Goroutines", "By replica.", "short", []query{
			{`go_goroutines{$S}`, "{{instance}}"},
		}},
		{graph, "Open files", "Connections included, as a share of what the process may open.", "percentunit", []query{
			{`process_open_fds{$S} / process_max_fds{$S}`, "{{instance}}"},
		}},
	}},
}

// PromQL is the expression as Grafana keeps it.
func (q query) promQL() string { return strings.ReplaceAll(q.expr, "$S", selector) }

func (q query) build() *prometheus.DataqueryBuilder {
	return prometheus.NewDataqueryBuilder().
		Expr(q.promQL()).
		LegendFormat(q.legend).
		EditorMode(prometheus.QueryEditorModeCode).
		Range().
		Datasource(datasource)
}

// The grid is 24 wide.
const (
	graphWidth, graphHeight   = 12, 8
	numberWidth, numberHeight = 6, 4
)

func (p panel) build(id uint32) cog.Builder[dashboard.Panel] {
	switch p.kind {
	case number:
		built := stat.NewPanelBuilder().
			Id(id).
			Title(p.title).Description(p.about).Unit(p.unit).Datasource(datasource).
			Span(numberWidth).Height(numberHeight).
			Orientation(common.VizOrientationAuto).
			ReduceOptions(common.NewReduceDataOptionsBuilder().Calcs([]string{"lastNotNull"}))
		for i, q := range p.queries {
			built.WithTarget(q.build().RefId(refID(i)))
		}
		return built
	case heat:
		built := heatmap.NewPanelBuilder().
			Id(id).
			Title(p.title).Description(p.about).Datasource(datasource).
			Span(graphWidth).Height(graphHeight).
			Color(heatmap.NewHeatmapColorOptionsBuilder().Mode(heatmap.HeatmapColorModeScheme).Scheme("Oranges").Steps(64)).
			Tooltip(heatmap.NewHeatmapTooltipBuilder().Mode(common.TooltipDisplayModeSingle)).
			YAxis(heatmap.NewYAxisConfigBuilder().Unit(p.unit))
		for i, q := range p.queries {
			built.WithTarget(q.build().Format(prometheus.PromQueryFormatHeatmap).RefId(refID(i)))
		}
		return built
	default:
		built := timeseries.NewPanelBuilder().
			Id(id).
			Title(p.title).Description(p.about).Unit(p.unit).Datasource(datasource).
			Span(graphWidth).Height(graphHeight).
			Min(0).FillOpacity(10).
			Legend(common.NewVizLegendOptionsBuilder().
				ShowLegend(true).
				DisplayMode(common.LegendDisplayModeTable).
				Placement(common.LegendPlacementRight).
				Calcs([]string{"lastNotNull", "max"})).
			Tooltip(common.NewVizTooltipOptionsBuilder().Mode(common.TooltipDisplayModeMulti).Sort(common.SortOrderDescending))
		for i, q := range p.queries {
			built.WithTarget(q.build().RefId(refID(i)))
		}
		return built
	}
}

// refID names the queries of a panel A, B, C and so on.
func refID(i int) string { return fmt.Sprintf("%c", 'A'+i) }
