package asm

// Hash spreads a goroutine's identity over 64 bits, the high ones best: Fibonacci hashing (Knuth, The Art of Computer
// Programming, vol. 3, 6.4).
func Hash(g uintptr) uint64 { return uint64(g) * 0x9e3779b97f4a7c15 }
