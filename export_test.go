package netco

// ForgetShutdown makes the default Scheduler, which has ended, as if it had
// never been started.
func ForgetShutdown() {
	def.mu.Lock()
	defer def.mu.Unlock()
	def.over = false
}
