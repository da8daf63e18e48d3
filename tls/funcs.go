package tls

import stdtls "crypto/tls"

// CipherSuiteName returns the standard name of a cipher suite, or its number in
// hexadecimal.
func CipherSuiteName(id uint16) string { return stdtls.CipherSuiteName(id) }

// CipherSuites returns the cipher suites of crypto/tls without known security
// issues.
func CipherSuites() []*CipherSuite { return stdtls.CipherSuites() }

// InsecureCipherSuites returns the cipher suites of crypto/tls that have known
// security issues.
func InsecureCipherSuites() []*CipherSuite { return stdtls.InsecureCipherSuites() }

// LoadX509KeyPair reads a certificate chain and its key from PEM files. It
// blocks while the disk is read.
func LoadX509KeyPair(certFile, keyFile string) (Certificate, error) {
	return stdtls.LoadX509KeyPair(certFile, keyFile)
}

// X509KeyPair parses a certificate chain and its key, both PEM.
func X509KeyPair(certPEMBlock, keyPEMBlock []byte) (Certificate, error) {
	return stdtls.X509KeyPair(certPEMBlock, keyPEMBlock)
}

// NewLRUClientSessionCache returns a cache of as many sessions; at less than 1,
// of a default number.
func NewLRUClientSessionCache(capacity int) ClientSessionCache {
	return stdtls.NewLRUClientSessionCache(capacity)
}

// NewResumptionState returns what a ClientSessionCache returns, from what
// ResumptionState of the state had.
func NewResumptionState(ticket []byte, state *SessionState) (*ClientSessionState, error) {
	return stdtls.NewResumptionState(ticket, state)
}

// ParseSessionState parses what SessionState.Bytes has returned.
func ParseSessionState(data []byte) (*SessionState, error) { return stdtls.ParseSessionState(data) }

// QUICClient is the standard's: it has no connection and does not wait.
func QUICClient(config *QUICConfig) *QUICConn { return stdtls.QUICClient(config) }

// QUICServer is the standard's: it has no connection and does not wait.
func QUICServer(config *QUICConfig) *QUICConn { return stdtls.QUICServer(config) }

// VersionName returns the name of a version of TLS, or its number in
// hexadecimal.
func VersionName(version uint16) string { return stdtls.VersionName(version) }
