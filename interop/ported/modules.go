package main

// module is a module of other people's, and what its port needs besides the
// change.
type module struct {
	name    string // for -modules and messages
	path    string
	version string

	// require is for a go.mod that is missing or incomplete.
	require []string
	// without are folders without tests, or whose tests skip.
	without []string
	// keepNet are files that go on importing package net, with the reason.
	keepNet map[string]string
	// skip are tests that are not run, with the reason.
	skip map[string]string
	// unsteady are tests that hang now and then untouched, with the reason.
	unsteady map[string]string
	// tests are further changes of test files.
	tests []substitution
	// extra are files of testdata that join a package's tests, by its folder.
	extra map[string]string
}

// substitution replaces text in all test files.
type substitution struct{ old, new, why string }

const inBubble = "runs in a bubble of testing/synctest, where netco.Go returns ErrBubble"

const takesStandard = "hands the standard's net.ListenConfig and net.Dialer to pion/transport"

var modules = []*module{
	{
		name: "socks5", path: "github.com/armon/go-socks5",
		version: "v0.0.0-20160902184237-e75332964ef5",
		require: []string{"golang.org/x/net@v0.58.0"},
	},
	{
		name: "tcpproxy", path: "github.com/inetaf/tcpproxy",
		version: "v0.0.0-20260515195445-c159a6051109",
	},
	{
		name: "ssh", path: "github.com/gliderlabs/ssh", version: "v0.3.8",
		without: []string{"_examples"},
	},
	{
		name: "miniredis", path: "github.com/alicebob/miniredis/v2", version: "v2.40.0",
		without: []string{"integration"}, // tests that skip without a Redis on a port of their own
		skip: map[string]string{
			"TestSynctestClockTTL":        inBubble,
			"TestSynctestBlockingTimeout": inBubble,
		},
	},
	{
		name: "turn", path: "github.com/pion/turn/v5", version: "v5.1.3",
		without: []string{"examples"},
		skip:    map[string]string{"TestClientWithSTUN": "asks a server on the Internet"},
		unsteady: map[string]string{
			"TestCreateTCPConnectionTimeout": "binds a port at random, and hangs if that is in use",
		},
		keepNet: map[string]string{
			"relay_address_generator_none.go":   takesStandard,
			"relay_address_generator_range.go":  takesStandard,
			"relay_address_generator_static.go": takesStandard,
		},
		tests: []substitution{{
			"test.CheckRoutines(t)", "checkRoutines(t, test.CheckRoutines)",
			"it refuses every goroutine, and a Scheduler has some",
		}},
		extra: map[string]string{".": "routines_test.go", "internal/server": "routines_test.go"},
	},
	{
		name: "mochi", path: "github.com/mochi-mqtt/server/v2", version: "v2.7.9",
		without: []string{"examples", "cmd"},
	},
}
