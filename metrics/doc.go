// Package metrics has Prometheus collectors for a Scheduler and for the
// process. docs/METRICS.md lists every metric with its meaning and the action
// to take; docs/grafana/netco.json is a dashboard.
//
//	registry := prometheus.NewRegistry()
//	err := metrics.Register(registry, s) // s as netco.Default returns it
//	opts := promhttp.HandlerOpts{EnableOpenMetrics: true}
//	http.Handle("/metrics", promhttp.HandlerFor(registry, opts))
//
// # Labels
//
// "processor" is a Processor's number, or "none" for the system calls of
// ordinary goroutines on netco's sockets. Beside it a metric has at most one
// more label ("state", "op", "kind", "phase") with a few fixed values. No label
// comes from a coroutine, a connection or an address, so the number of series
// is fixed once the Scheduler has started: some eighty for each Processor, as
// text. There are two exceptions. The labels of netco_handoffs_by_site_total
// ("cause", "site") come from the program's code, in at most some 75 series;
// the label of netco_deadlocked_coroutines names the coroutines of a deadlock,
// in at most nine series.
//
// # Model
//
// Only net/http's request counts exist for the metrics alone. A Processor
// counts with ordinary adds as it goes ([processor.Stats], for example); a
// scrape reads these counters from its own thread, without a lock, and walks no
// coroutines and no sockets. A scrape briefly takes three kinds of locks that
// coroutines take too: the lock of package blocking's pool, the locks of
// net/http's request counts, and the lock of net/http's list of connections,
// which the scrape walks to find the requests in flight. The values are read at
// slightly different moments, but a counter never goes down from one scrape to
// the next.
//
// A Scheduler that is not started reports its phase and no Processors. A
// Scheduler that has ended keeps its counters and its number of Processors; its
// other gauges are 0.
//
// # Histograms
//
// Histograms are native and classic at once, since only the protobuf format
// carries native histograms. A scraper that asks for that format and keeps
// native histograms (Prometheus does with --enable-feature=native-histograms)
// gets four native buckets for each power of two. Text has classic buckets at
// powers of four.
//
// # Several Schedulers
//
// Register the collector of the process once, and each Scheduler with a label
// of its own:
//
//	registry.MustRegister(metrics.NewProcessCollector())
//	prometheus.WrapRegistererWith(prometheus.Labels{"scheduler": "front"}, registry).MustRegister(metrics.NewCollector(front))
//	prometheus.WrapRegistererWith(prometheus.Labels{"scheduler": "back"}, registry).MustRegister(metrics.NewCollector(back))
//
// Goroutines belong to no Scheduler: each collector then has the same
// processor="none".
package metrics
