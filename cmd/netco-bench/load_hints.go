package main

import (
	"flag"
	"fmt"
	"slices"
	"strings"
)

// knownElsewhere has for flags of wrk, wrk2, hey, ab and vegeta what load calls
// them.
var knownElsewhere = map[string]string{
	"z": "-d", "duration": "-d", "t": "-threads, or -d for a time",
	"cpus": "-threads", "workers": "-threads",
	"R": "-rate", "r": "-rate", "qps": "-rate", "rps": "-rate",
	"connections": "-c", "conns": "-c", "concurrency": "-c", "P": "-pipeline",
	"requests": "-n", "disable-keepalive": "-churn 1",
	"m": "-method", "X": "-method", "D": "-body @FILE", "data": "-body", "b": "-body",
	"header": "-H", "T": "-H 'Content-Type: ...'", "A": "-H 'Accept: ...'",
	"a": "-H 'Authorization: ...'", "u": "a URL as an argument",
	"k": "-insecure", "root-certs": "-cacert",
	"h2": "h2:// as the scheme, or https:// with -alpn h2",
	"o":  "-json, -csv, -hdr or -report", "output": "-json, -csv, -hdr or -report",
}

// needless are flags for what load does anyway.
var needless = map[string]string{
	"latency": "latencies are always printed", "keepalive": "connections are kept",
}

// hint adds to package flag's error about a flag what load calls it.
func hint(fs *flag.FlagSet, err error) string {
	name, ok := strings.CutPrefix(err.Error(), "flag provided but not defined: -")
	if !ok {
		return ""
	}
	if s, ok := needless[name]; ok {
		return ": " + s
	}
	if s, ok := knownElsewhere[name]; ok {
		return ": did you mean " + s + "?"
	}
	// wrk takes -c100 for -c 100.
	i := strings.IndexAny(name, "0123456789")
	if i <= 0 {
		return ""
	}
	meant := "-" + name[:i]
	if s, ok := knownElsewhere[name[:i]]; ok {
		meant, _, _ = strings.Cut(s, ",")
	} else if fs.Lookup(name[:i]) == nil {
		return ""
	}
	return fmt.Sprintf(": did you mean %s %s?", meant, name[i:])
}

// quietHint is for -q 100, which is a rate to hey and quiet to load.
func quietHint(args []string, arg string) string {
	i := slices.Index(args, arg)
	if _, err := parseNumber(arg); i < 1 || err != nil || args[i-1] != "-q" {
		return ""
	}
	return "; -q is quiet, a rate is -rate " + arg
}
