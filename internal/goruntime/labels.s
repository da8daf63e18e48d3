// The functions without a body in labels_unsafe.go are the runtime's: with this
// file the compiler does not ask for them.
