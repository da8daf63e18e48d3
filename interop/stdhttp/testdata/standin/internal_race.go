// Package race stands for internal/race.
package race

import "github.com/netco-go/netco/internal/goruntime"

const Enabled = goruntime.RaceEnabled
