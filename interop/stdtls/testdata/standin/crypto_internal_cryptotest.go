package cryptotest

import "testing"

func MustMinimumFIPS140ModuleVersion(testing.TB, string) {}
