package fips140tls

func Required() bool { return false }
