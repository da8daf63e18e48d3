//go:build race

#include "textflag.h"

// func raceCall(racecall, fn, arg0, arg1, arg2, arg3 uintptr)
//
// The runtime's racecall takes fn, a function of the detector's in C, and its
// four arguments from the stack: fn at 0(SP), then the arguments.
TEXT ·raceCall(SB), NOSPLIT, $40-48
	MOVQ racecall+0(FP), AX
	MOVQ fn+8(FP), CX
	MOVQ arg0+16(FP), DX
	MOVQ arg1+24(FP), BX
	MOVQ arg2+32(FP), SI
	MOVQ arg3+40(FP), DI
	MOVQ CX, 0(SP)
	MOVQ DX, 8(SP)
	MOVQ BX, 16(SP)
	MOVQ SI, 24(SP)
	MOVQ DI, 32(SP)
	CALL AX
	RET

// func Store(addr, v uintptr)
TEXT ·Store(SB), NOSPLIT, $0-16
	MOVQ addr+0(FP), AX
	MOVQ v+8(FP), CX
	MOVQ CX, (AX)
	RET
