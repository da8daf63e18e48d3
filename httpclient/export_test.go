package httpclient

// CloseIdle ends the idle goroutines.
func CloseIdle() { goroutines.CloseIdle() }
