package netco

// ForgetShutdown makes the default Scheduler, which has ended, as if it had
// never been started.
func ForgetShutdown() {
	def.mu.Lock()
	defer def.mu.Unlock()
	def.over = false
}

// WhyMainEnds returns why Main begins to end the program when main has returned
// failed and Run has returned quiet, both before Main has noticed either.
func WhyMainEnds(failed, quiet error) error {
	of := func(err error) <-chan error {
		c := make(chan error, 1)
		c <- err
		return c
	}
	return new(MainOptions).await(nil, of(failed), of(quiet))
}
