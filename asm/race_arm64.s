//go:build race

#include "textflag.h"

// The runtime's racecall takes the detector's function, in C, and four
// arguments:
//
//	 8(RSP)  fn
//	16(RSP)  arg0 to arg3
//	R3       racecall

// func raceStart(racecall, parent uintptr, made *uintptr, pc uintptr)
TEXT ·raceStart(SB), NOSPLIT, $48-32
	MOVD racecall+0(FP), R3
	MOVD parent+8(FP), R1
	MOVD made+16(FP), R2
	MOVD pc+24(FP), R4
	MOVD R1, 16(RSP)
	MOVD R2, 24(RSP)
	MOVD R4, 32(RSP)
	MOVD $__tsan_go_start(SB), R0
	MOVD R0, 8(RSP)
	CALL (R3)
	RET

// func raceEnd(racecall, ctx uintptr)
TEXT ·raceEnd(SB), NOSPLIT, $48-16
	MOVD racecall+0(FP), R3
	MOVD ctx+8(FP), R1
	MOVD R1, 16(RSP)
	MOVD $__tsan_go_end(SB), R0
	MOVD R0, 8(RSP)
	CALL (R3)
	RET

// func raceFresh(racecall, addr, size uintptr)
//
// As in the runtime's racemalloc, there is no context and no program counter.
TEXT ·raceFresh(SB), NOSPLIT, $48-24
	MOVD racecall+0(FP), R3
	MOVD addr+8(FP), R2
	MOVD size+16(FP), R4
	MOVD ZR, 16(RSP)
	MOVD ZR, 24(RSP)
	MOVD R2, 32(RSP)
	MOVD R4, 40(RSP)
	MOVD $__tsan_malloc(SB), R0
	MOVD R0, 8(RSP)
	CALL (R3)
	RET

// func Store(addr, v uintptr)
TEXT ·Store(SB), NOSPLIT, $0-16
	MOVD addr+0(FP), R0
	MOVD v+8(FP), R1
	MOVD R1, (R0)
	RET
