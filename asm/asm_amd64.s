#include "textflag.h"
#include "go_asm.h" // Frame_SP and the like: this package's own types, laid out by the compiler

// func Getg() uintptr
//
// Out: ret = the running goroutine, from thread-local storage.
TEXT ·Getg(SB), NOSPLIT, $0-8
	MOVQ (TLS), AX
	MOVQ AX, ret+0(FP)
	RET

// func Pause(cycles uint32)
//
// AX counts down; PAUSE marks the loop as a spin for the core.
TEXT ·Pause(SB), NOSPLIT, $0-4
	MOVL cycles+0(FP), AX
	TESTL AX, AX
	JEQ  done
again:
	PAUSE
	SUBL $1, AX
	JNE  again
done:
	RET

// Register entry, behind the func value swap: func(c, next *Frame)
//
// In:   AX = c, BX = next, R14 = g, X15 = 0 (Go's register ABI). Uses: SI, DI.
// The lines of the goroutine and the stack to fetch were chosen by measurement;
// fetching others would do no harm. coroswitch spills its argument to the stack
// slot that the caller has reserved for c. No frame: the return address on the
// stack is that of the Go caller, to which coroswitch(AX = coro) returns.
TEXT ·switchEntry(SB), NOSPLIT|NOFRAME, $0-0
	MOVQ SP, Frame_SP(AX)
	CMPQ BX, AX
	MOVQ Frame_Coro(AX), AX
	JEQ  go                   // nothing to fetch
	MOVQ Frame_G(BX), SI
	MOVQ Frame_SP(BX), DI
	PREFETCHT0 (SI)
	PREFETCHT0 64(SI)
	PREFETCHT0 128(SI)
	PREFETCHT0 192(SI)
	PREFETCHT0 384(SI)
	PREFETCHT0 (DI)
	PREFETCHT0 64(DI)
	PREFETCHT0 128(DI)
	PREFETCHT0 192(DI)
	PREFETCHT0 256(DI)
	PREFETCHT0 320(DI)
go:
	MOVQ ·coroswitchPC(SB), SI
	JMP  SI

// Register entry, behind the func value Find:
//
//	func(table unsafe.Pointer, shift uint64) (entry unsafe.Pointer, g uintptr)
//
// In:   AX = table, BX = shift, R14 = g.
// Out:  AX = table[g * 2^64/phi >> shift], BX = g.
// Uses: CX, DX.
TEXT ·findEntry(SB), NOSPLIT|NOFRAME, $0-0
	MOVQ BX, CX
	MOVQ $0x9e3779b97f4a7c15, DX
	IMULQ R14, DX
	SHRQ CX, DX
	MOVQ (AX)(DX*8), AX
	MOVQ R14, BX
	RET

// Register entry, behind the func value Where: func() (g, locks uintptr)
//
// In:   R14 = g.
// Out:  AX = g, BX = 0 if g is not locked to its thread, else that thread's
//       address plus, times 2^64/phi, its two counts of locks as one word: no
//       two states of one thread have the same sum.
// Uses: CX, DX.
TEXT ·whereEntry(SB), NOSPLIT|NOFRAME, $0-0
	MOVQ ·lockedmOffset(SB), CX
	MOVQ (R14)(CX*1), BX
	MOVQ R14, AX
	TESTQ BX, BX
	JEQ  unlocked
	MOVQ ·lockedExtOffset(SB), DX
	MOVQ (BX)(DX*1), DX
	MOVQ $0x9e3779b97f4a7c15, CX
	IMULQ CX, DX
	ADDQ DX, BX
unlocked:
	RET

// Register entry, behind the func value peek: func(addr uintptr) uintptr
TEXT ·peekEntry(SB), NOSPLIT|NOFRAME, $0-0
	MOVQ (AX), AX
	RET

// Register entry, behind the func value Prefetch. In: AX = address.
TEXT ·prefetchEntry(SB), NOSPLIT|NOFRAME, $0-0
	PREFETCHT0 (AX)
	RET

// Register entry, behind the func value CallerPC: func() uintptr
//
// In:   BP = the Go caller's frame pointer.
// Out:  AX = the return address of that caller's frame.
TEXT ·callerPCEntry(SB), NOSPLIT|NOFRAME, $0-0
	MOVQ 8(BP), AX
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
