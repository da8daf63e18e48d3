// Package synctest stands for internal/synctest.
package synctest

import "testing/synctest"

func Wait() { synctest.Wait() }
