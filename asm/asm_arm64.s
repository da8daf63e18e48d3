#include "textflag.h"
#include "go_asm.h" // Frame_SP and the like: this package's own types, laid out by the compiler

// func Getg() uintptr
//
// Out: ret = the running goroutine, which arm64 keeps in R28.
TEXT ·Getg(SB), NOSPLIT, $0-8
	MOVD g, R0
	MOVD R0, ret+0(FP)
	RET

// func Pause(cycles uint32)
//
// R0 counts down; YIELD marks the loop as a spin for the core.
TEXT ·Pause(SB), NOSPLIT, $0-4
	MOVWU cycles+0(FP), R0
	CBZ   R0, done
again:
	YIELD
	SUBW  $1, R0
	CBNZ  R0, again
done:
	RET

// Register entry, behind the func value swap: func(c, next *Frame)
//
// In:   R0 = c, R1 = next, R28 = g, R30 = the return address in the Go caller
//       (Go's register ABI).
// Uses: R4, R5. The lines of the goroutine and the stack to fetch were chosen
// by measurement; fetching others would do no harm. coroswitch spills its
// argument to the stack slot that the caller has reserved for c. No frame:
// coroswitch(R0 = coro) returns to R30.
TEXT ·switchEntry(SB), NOSPLIT|NOFRAME, $0-0
	MOVD RSP, R4
	MOVD R4, Frame_SP(R0)
	CMP  R1, R0
	MOVD Frame_Coro(R0), R0
	BEQ  go                   // nothing to fetch
	MOVD Frame_G(R1), R4
	MOVD Frame_SP(R1), R5
	PRFM (R4), PLDL1KEEP
	PRFM 64(R4), PLDL1KEEP
	PRFM 128(R4), PLDL1KEEP
	PRFM 192(R4), PLDL1KEEP
	PRFM 384(R4), PLDL1KEEP
	PRFM (R5), PLDL1KEEP
	PRFM 64(R5), PLDL1KEEP
	PRFM 128(R5), PLDL1KEEP
	PRFM 192(R5), PLDL1KEEP
	PRFM 256(R5), PLDL1KEEP
	PRFM 320(R5), PLDL1KEEP
go:
	MOVD ·coroswitchPC(SB), R4
	B    (R4)

// Register entry, behind the func value Find:
//
//	func(table unsafe.Pointer, shift uint64) (entry unsafe.Pointer, g uintptr)
//
// In:   R0 = table, R1 = shift, R28 = g.
// Out:  R0 = table[g * 2^64/phi >> shift], R1 = g.
// Uses: R2, R3.
TEXT ·findEntry(SB), NOSPLIT|NOFRAME, $0-0
	MOVD $0x9e3779b97f4a7c15, R2
	MUL  g, R2, R2
	LSR  R1, R2, R2
	MOVD (R0)(R2<<3), R0
	MOVD g, R1
	RET

// Register entry, behind the func value Where: func() (g, locks uintptr)
//
// In:   R28 = g.
// Out:  R0 = g, R1 = 0 if g is not locked to its thread, else that thread's
//       address plus, times 2^64/phi, its two counts of locks as one word: no
//       two states of one thread have the same sum.
// Uses: R2, R3.
TEXT ·whereEntry(SB), NOSPLIT|NOFRAME, $0-0
	MOVD ·lockedmOffset(SB), R2
	MOVD (g)(R2), R1
	MOVD g, R0
	CBZ  R1, unlocked
	MOVD ·lockedExtOffset(SB), R3
	MOVD (R1)(R3), R3
	MOVD $0x9e3779b97f4a7c15, R2
	MUL  R2, R3, R3
	ADD  R3, R1
unlocked:
	RET

// Register entry, behind the func value peek: func(addr uintptr) uintptr
TEXT ·peekEntry(SB), NOSPLIT|NOFRAME, $0-0
	MOVD (R0), R0
	RET

// Register entry, behind the func value Prefetch. In: R0 = address.
TEXT ·prefetchEntry(SB), NOSPLIT|NOFRAME, $0-0
	PRFM (R0), PLDL1KEEP
	RET

// Register entry, behind the func value CallerPC: func() uintptr
//
// In:   R29 = the Go caller's frame pointer.
// Out:  R0 = the return address of that caller's frame.
TEXT ·callerPCEntry(SB), NOSPLIT|NOFRAME, $0-0
	MOVD 8(R29), R0
	RET

// The routines' own addresses; taking them in Go would give the wrappers'.
DATA ·switchEntryPC(SB)/8, $·switchEntry(SB)
GLOBL ·switchEntryPC(SB), RODATA, $8
DATA ·findEntryPC(SB)/8, $·findEntry(SB)
GLOBL ·findEntryPC(SB), RODATA, $8
DATA ·prefetchEntryPC(SB)/8, $·prefetchEntry(SB)
GLOBL ·prefetchEntryPC(SB), RODATA, $8
DATA ·callerPCEntryPC(SB)/8, $·callerPCEntry(SB)
GLOBL ·callerPCEntryPC(SB), RODATA, $8
DATA ·whereEntryPC(SB)/8, $·whereEntry(SB)
GLOBL ·whereEntryPC(SB), RODATA, $8
DATA ·peekEntryPC(SB)/8, $·peekEntry(SB)
GLOBL ·peekEntryPC(SB), RODATA, $8
