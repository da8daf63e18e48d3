package http_test

import (
	"testing"

	"github.com/netco-go/netco/internal/testenv"
)

func TestMain(m *testing.M) {
	if child := children.Chosen(); child != nil {
		child()
		return
	}
	testenv.Split(m, 2)
}
