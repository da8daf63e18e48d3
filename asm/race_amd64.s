//go:build race

#include "textflag.h"

// The runtime's racecall takes the detector's function, in C, and four
// arguments:
//
//	 0(SP)  fn
//	 8(SP)  arg0 to arg3
//	AX      racecall

// func raceStart(racecall, parent uintptr, made *uintptr, pc uintptr)
TEXT ·raceStart(SB), NOSPLIT, $40-32
	MOVQ racecall+0(FP), AX
	MOVQ parent+8(FP), CX
	MOVQ made+16(FP), DX
	MOVQ pc+24(FP), BX
	MOVQ CX, 8(SP)
	MOVQ DX, 16(SP)
	MOVQ BX, 24(SP)
	MOVQ $__tsan_go_start(SB), DX
	MOVQ DX, 0(SP)
	CALL AX
	RET

// func raceEnd(racecall, ctx uintptr)
TEXT ·raceEnd(SB), NOSPLIT, $40-16
	MOVQ racecall+0(FP), AX
	MOVQ ctx+8(FP), CX
	MOVQ CX, 8(SP)
	MOVQ $__tsan_go_end(SB), DX
	MOVQ DX, 0(SP)
	CALL AX
	RET

// func raceFresh(racecall, addr, size uintptr)
//
// As in the runtime's racemalloc, there is no context and no program counter.
TEXT ·raceFresh(SB), NOSPLIT, $40-24
	MOVQ racecall+0(FP), AX
	MOVQ addr+8(FP), DX
	MOVQ size+16(FP), BX
	MOVQ $0, 8(SP)
	MOVQ $0, 16(SP)
	MOVQ DX, 24(SP)
	MOVQ BX, 32(SP)
	MOVQ $__tsan_malloc(SB), DX
	MOVQ DX, 0(SP)
	CALL AX
	RET

// func Store(addr, v uintptr)
TEXT ·Store(SB), NOSPLIT, $0-16
	MOVQ addr+0(FP), AX
	MOVQ v+8(FP), CX
	MOVQ CX, (AX)
	RET
