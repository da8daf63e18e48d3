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
func (lc *loadConfig) readTargets(file string) error {
	switch {
	case file == "" && len(lc.urls) == 0:
		return usagef("no target: want a URL such as http://127.0.0.1:8080/")
	case file == "":
		return nil
	case len(lc.urls) > 0:
		return usagef("-targets is in place of a URL: the target is %s", lc.urls[0])
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return usagef("-targets: %v", err)
	}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			lc.urls = append(lc.urls, line)
		}
	}
	if n := len(lc.urls); n == 0 || n > maxTargets {
		return usagef("-targets: %s has %d URLs, want 1 to %d", file, n, maxTargets)
	}
	return nil
}

// readCertificates reads what -cert, -key and -cacert name.
func (lc *loadConfig) readCertificates(text *loadTexts) error {
	if text.key != "" && text.cert == "" {
		return usagef("-key is for a -cert")
	}
	if text.cert != "" {
		pair, err := tls.LoadX509KeyPair(text.cert, cmp.Or(text.key, text.cert))
		if err != nil {
			return usagef("-cert: %v", err)
		}
		lc.Certificates = []tls.Certificate{pair}
	}
	if text.cacert == "" {
		return nil
	}
	pem, err := os.ReadFile(text.cacert)
	if err != nil {
		return usagef("-cacert: %v", err)
	}
	if lc.RootCAs = x509.NewCertPool(); !lc.RootCAs.AppendCertsFromPEM(pem) {
		return usagef("-cacert: no certificate in %s", text.cacert)
	}
	return nil
}
