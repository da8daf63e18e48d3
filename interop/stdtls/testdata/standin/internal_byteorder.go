package byteorder

import "encoding/binary"

func BEUint16(b []byte) uint16 { return binary.BigEndian.Uint16(b) }
