// Package metrics shows Prometheus what a Scheduler and the process do.
// docs/METRICS.md lists every metric, with what it means and what to do about
// it; docs/grafana/netco.json is a dashboard of them.
//
//	registry := prometheus.NewRegistry()
//	err := metrics.Register(registry, s) // s as netco.Default returns it
//	opts := promhttp.HandlerOpts{EnableOpenMetrics: true}
//	http.Handle("/metrics", promhttp.HandlerFor(registry, opts))
//
// # Labels
//
// "processor" is a Processor's number, or "outside" for what ordinary
// goroutines did on netco's sockets. Beside it a metric has at most one label
// more ("state", "op", "kind", "phase") with a few fixed values. No label comes
// from a coroutine, a connection or an address, so the number of series is
// fixed once the Scheduler has started: some eighty for each Processor, as
// text. Only netco_handoffs_by_site_total has labels ("cause", "site") that
// come from the program's code, and at most some 75 series; and
// netco_deadlocked_coroutines one with the coroutines of a deadlock, at most
// nine.
//
// # Model
//
// Nothing is counted for the metrics' sake alone. A Processor counts with
// ordinary adds as it goes ([processor.Stats] and its like); a scrape reads
// these from its own thread. It takes no lock that a Processor takes and walks
// no coroutines and no connections, so it takes as long with a million of them
// as with none. Values are of slightly different moments, but a counter never
// goes down from one scrape to the next.
//
// A Scheduler that is not started has its phase and no Processors. One that has
// ended keeps its counters, and its gauges are 0.
//
// # Histograms
//
// They are native and classic at once. A scraper that asks for Prometheus'
// protobuf format and keeps native histograms (Prometheus does with
// --enable-feature=native-histograms) gets four buckets for each power of two.
// Text has classic buckets at powers of four.
//
// # Several Schedulers
//
// What is of the process is then registered once, and each Scheduler with a
// label of its own:
//
//	registry.MustRegister(metrics.NewProcessCollector())
//	prometheus.WrapRegistererWith(prometheus.Labels{"scheduler": "front"}, registry).MustRegister(metrics.NewCollector(front))
//	prometheus.WrapRegistererWith(prometheus.Labels{"scheduler": "back"}, registry).MustRegister(metrics.NewCollector(back))
//
// Goroutines belong to no Scheduler: each collector then has the same
// processor="outside".
package metrics
