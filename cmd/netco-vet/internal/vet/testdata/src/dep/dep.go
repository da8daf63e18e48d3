// Package dep is a dependency of package calls, and does not know netco.
package dep

import "time"

type Client struct{ answers chan int }

func (c *Client) Do() int { return c.get() } // want Do:"chan"

func (c *Client) get() int { return <-c.answers } // want get:"chan"

func Retry(f func()) { // want Retry:"time,calls"
	for range 3 {
		f()
		time.Sleep(time.Second)
	}
}

func Apply(f func()) { f() } // want Apply:"calls"

func Background(f func()) { go f() }
