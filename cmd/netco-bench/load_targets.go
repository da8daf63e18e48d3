package main

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"os"
	"strings"
)

// maxTargets bounds the URLs of -targets: each has its requests in memory.
const maxTargets = 10_000

// readTargets reads the file of -targets, unless there is a URL.
func (cfg *loadConfig) readTargets(file string) error {
	switch {
	case file == "" && len(cfg.urls) == 0:
		return usagef("no target: want a URL such as http://127.0.0.1:8080/")
	case file == "":
		return nil
	case len(cfg.urls) > 0:
		return usagef("-targets is in place of a URL: the target is %s", cfg.urls[0])
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return usagef("-targets: %v", err)
	}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			cfg.urls = append(cfg.urls, line)
		}
	}
	if n := len(cfg.urls); n == 0 || n > maxTargets {
		return usagef("-targets: %s has %d URLs, want 1 to %d", file, n, maxTargets)
	}
	return nil
}

// readCertificates reads what -cert, -key and -cacert name.
func (cfg *loadConfig) readCertificates(text *loadTexts) error {
	if text.key != "" && text.cert == "" {
		return usagef("-key is for a -cert")
	}
	if text.cert != "" {
		pair, err := tls.LoadX509KeyPair(text.cert, cmp.Or(text.key, text.cert))
		if err != nil {
			return usagef("-cert: %v", err)
		}
		cfg.Certificates = []tls.Certificate{pair}
	}
	if text.cacert == "" {
		return nil
	}
	pem, err := os.ReadFile(text.cacert)
	if err != nil {
		return usagef("-cacert: %v", err)
	}
	if cfg.RootCAs = x509.NewCertPool(); !cfg.RootCAs.AppendCertsFromPEM(pem) {
		return usagef("-cacert: no certificate in %s", text.cacert)
	}
	return nil
}
