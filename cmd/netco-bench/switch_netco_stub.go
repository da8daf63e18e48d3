//go:build !netco_ready

package main

func netcoMicros() []micro { return nil }
