package tls

import stdtls "crypto/tls"

// Aliases of crypto/tls's types.
type (
	AlertError                   = stdtls.AlertError
	Certificate                  = stdtls.Certificate
	CertificateRequestInfo       = stdtls.CertificateRequestInfo
	CertificateVerificationError = stdtls.CertificateVerificationError
	CipherSuite                  = stdtls.CipherSuite
	ClientAuthType               = stdtls.ClientAuthType
	ClientHelloInfo              = stdtls.ClientHelloInfo
	ClientSessionCache           = stdtls.ClientSessionCache
	ClientSessionState           = stdtls.ClientSessionState
	Config                       = stdtls.Config
	ConnectionState              = stdtls.ConnectionState
	CurveID                      = stdtls.CurveID
	ECHRejectionError            = stdtls.ECHRejectionError
	EncryptedClientHelloKey      = stdtls.EncryptedClientHelloKey
	QUICConfig                   = stdtls.QUICConfig
	QUICConn                     = stdtls.QUICConn
	QUICEncryptionLevel          = stdtls.QUICEncryptionLevel
	QUICEvent                    = stdtls.QUICEvent
	QUICEventKind                = stdtls.QUICEventKind
	QUICSessionTicketOptions     = stdtls.QUICSessionTicketOptions
	RecordHeaderError            = stdtls.RecordHeaderError
	RenegotiationSupport         = stdtls.RenegotiationSupport
	SessionState                 = stdtls.SessionState
	SignatureScheme              = stdtls.SignatureScheme
)

// Versions of TLS.
const (
	VersionSSL30 = stdtls.VersionSSL30 //lint:ignore SA1019 name for name
	VersionTLS10 = stdtls.VersionTLS10
	VersionTLS11 = stdtls.VersionTLS11
	VersionTLS12 = stdtls.VersionTLS12
	VersionTLS13 = stdtls.VersionTLS13
)

// Cipher suites.
const (
	TLS_AES_128_GCM_SHA256                        = stdtls.TLS_AES_128_GCM_SHA256
	TLS_AES_256_GCM_SHA384                        = stdtls.TLS_AES_256_GCM_SHA384
	TLS_CHACHA20_POLY1305_SHA256                  = stdtls.TLS_CHACHA20_POLY1305_SHA256
	TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA          = stdtls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA
	TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256       = stdtls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256
	TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256       = stdtls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256
	TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA          = stdtls.TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA
	TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384       = stdtls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384
	TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305        = stdtls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305
	TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256 = stdtls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256
	TLS_ECDHE_ECDSA_WITH_RC4_128_SHA              = stdtls.TLS_ECDHE_ECDSA_WITH_RC4_128_SHA
	TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA           = stdtls.TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA
	TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA            = stdtls.TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA
	TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256         = stdtls.TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256
	TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256         = stdtls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256
	TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA            = stdtls.TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA
	TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384         = stdtls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384
	TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305          = stdtls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305
	TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256   = stdtls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256
	TLS_ECDHE_RSA_WITH_RC4_128_SHA                = stdtls.TLS_ECDHE_RSA_WITH_RC4_128_SHA
	TLS_FALLBACK_SCSV                             = stdtls.TLS_FALLBACK_SCSV
	TLS_RSA_WITH_3DES_EDE_CBC_SHA                 = stdtls.TLS_RSA_WITH_3DES_EDE_CBC_SHA
	TLS_RSA_WITH_AES_128_CBC_SHA                  = stdtls.TLS_RSA_WITH_AES_128_CBC_SHA
	TLS_RSA_WITH_AES_128_CBC_SHA256               = stdtls.TLS_RSA_WITH_AES_128_CBC_SHA256
	TLS_RSA_WITH_AES_128_GCM_SHA256               = stdtls.TLS_RSA_WITH_AES_128_GCM_SHA256
	TLS_RSA_WITH_AES_256_CBC_SHA                  = stdtls.TLS_RSA_WITH_AES_256_CBC_SHA
	TLS_RSA_WITH_AES_256_GCM_SHA384               = stdtls.TLS_RSA_WITH_AES_256_GCM_SHA384
	TLS_RSA_WITH_RC4_128_SHA                      = stdtls.TLS_RSA_WITH_RC4_128_SHA
)

// Groups of the key exchange.
const (
	CurveP256      = stdtls.CurveP256
	CurveP384      = stdtls.CurveP384
	CurveP521      = stdtls.CurveP521
	X25519         = stdtls.X25519
	X25519MLKEM768 = stdtls.X25519MLKEM768
)

// Signature schemes.
const (
	ECDSAWithP256AndSHA256 = stdtls.ECDSAWithP256AndSHA256
	ECDSAWithP384AndSHA384 = stdtls.ECDSAWithP384AndSHA384
	ECDSAWithP521AndSHA512 = stdtls.ECDSAWithP521AndSHA512
	ECDSAWithSHA1          = stdtls.ECDSAWithSHA1
	Ed25519                = stdtls.Ed25519
	PKCS1WithSHA1          = stdtls.PKCS1WithSHA1
	PKCS1WithSHA256        = stdtls.PKCS1WithSHA256
	PKCS1WithSHA384        = stdtls.PKCS1WithSHA384
	PKCS1WithSHA512        = stdtls.PKCS1WithSHA512
	PSSWithSHA256          = stdtls.PSSWithSHA256
	PSSWithSHA384          = stdtls.PSSWithSHA384
	PSSWithSHA512          = stdtls.PSSWithSHA512
)

// How a server asks for a client's certificate.
const (
	NoClientCert               = stdtls.NoClientCert
	RequestClientCert          = stdtls.RequestClientCert
	RequireAndVerifyClientCert = stdtls.RequireAndVerifyClientCert
	RequireAnyClientCert       = stdtls.RequireAnyClientCert
	VerifyClientCertIfGiven    = stdtls.VerifyClientCertIfGiven
)

// How a client responds when a server asks to renegotiate: here always
// RenegotiateNever, see [Conn].
const (
	RenegotiateFreelyAsClient = stdtls.RenegotiateFreelyAsClient
	RenegotiateNever          = stdtls.RenegotiateNever
	RenegotiateOnceAsClient   = stdtls.RenegotiateOnceAsClient
)

// For QUIC.
const (
	QUICEncryptionLevelApplication  = stdtls.QUICEncryptionLevelApplication
	QUICEncryptionLevelEarly        = stdtls.QUICEncryptionLevelEarly
	QUICEncryptionLevelHandshake    = stdtls.QUICEncryptionLevelHandshake
	QUICEncryptionLevelInitial      = stdtls.QUICEncryptionLevelInitial
	QUICHandshakeDone               = stdtls.QUICHandshakeDone
	QUICNoEvent                     = stdtls.QUICNoEvent
	QUICRejectedEarlyData           = stdtls.QUICRejectedEarlyData
	QUICResumeSession               = stdtls.QUICResumeSession
	QUICSetReadSecret               = stdtls.QUICSetReadSecret
	QUICSetWriteSecret              = stdtls.QUICSetWriteSecret
	QUICStoreSession                = stdtls.QUICStoreSession
	QUICTransportParameters         = stdtls.QUICTransportParameters
	QUICTransportParametersRequired = stdtls.QUICTransportParametersRequired
	QUICWriteData                   = stdtls.QUICWriteData
)

// Newer than Go 1.25. With releases that do not have one of these, crypto/tls
// does not know the number either.
const (
	SecP256r1MLKEM768  CurveID = 4587
	SecP384r1MLKEM1024 CurveID = 4589
	MLKEM1024          CurveID = 0x0202

	MLDSA44 SignatureScheme = 0x0904
	MLDSA65 SignatureScheme = 0x0905
	MLDSA87 SignatureScheme = 0x0906

	QUICErrorEvent QUICEventKind = 10
)

// Functions of crypto/tls.

func CipherSuiteName(id uint16) string     { return stdtls.CipherSuiteName(id) }
func CipherSuites() []*CipherSuite         { return stdtls.CipherSuites() }
func InsecureCipherSuites() []*CipherSuite { return stdtls.InsecureCipherSuites() }
func LoadX509KeyPair(certFile, keyFile string) (Certificate, error) {
	return stdtls.LoadX509KeyPair(certFile, keyFile)
}
func NewLRUClientSessionCache(capacity int) ClientSessionCache {
	return stdtls.NewLRUClientSessionCache(capacity)
}
func NewResumptionState(ticket []byte, state *SessionState) (*ClientSessionState, error) {
	return stdtls.NewResumptionState(ticket, state)
}
func ParseSessionState(data []byte) (*SessionState, error) { return stdtls.ParseSessionState(data) }
func QUICClient(config *QUICConfig) *QUICConn              { return stdtls.QUICClient(config) }
func QUICServer(config *QUICConfig) *QUICConn              { return stdtls.QUICServer(config) }
func VersionName(version uint16) string                    { return stdtls.VersionName(version) }
func X509KeyPair(certPEMBlock, keyPEMBlock []byte) (Certificate, error) {
	return stdtls.X509KeyPair(certPEMBlock, keyPEMBlock)
}
