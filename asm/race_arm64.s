//go:build race

#include "textflag.h"

// func raceCall(racecall, fn, arg0, arg1, arg2, arg3 uintptr)
//
// The runtime's racecall takes fn, a function of the detector's in C, and its
// four arguments from the stack: fn at 8(RSP), then the arguments.
TEXT ·raceCall(SB), NOSPLIT, $48-48
	MOVD racecall+0(FP), R0
	MOVD fn+8(FP), R1
	MOVD arg0+16(FP), R2
	MOVD arg1+24(FP), R3
	MOVD arg2+32(FP), R4
	MOVD arg3+40(FP), R5
	MOVD R1, 8(RSP)
	MOVD R2, 16(RSP)
	MOVD R3, 24(RSP)
	MOVD R4, 32(RSP)
	MOVD R5, 40(RSP)
	CALL (R0)
	RET

// func Store(addr, v uintptr)
TEXT ·Store(SB), NOSPLIT, $0-16
	MOVD addr+0(FP), R0
	MOVD v+8(FP), R1
	MOVD R1, (R0)
	RET
