//go:build race

#include "textflag.h"

// func RaceAcquireAll(racecall, ctx uintptr)
//
//	 0(SP)  racecall's fn: the detector's function, in C
//	 8(SP)  its arg0: ctx
//	16(SP)  arg1, arg2, arg3: not used
//	AX      racecall
TEXT ·RaceAcquireAll(SB), NOSPLIT, $40-16
	MOVQ racecall+0(FP), AX
	MOVQ ctx+8(FP), CX
	MOVQ $__tsan_finalizer_goroutine(SB), DX
	MOVQ DX, 0(SP)
	MOVQ CX, 8(SP)
	CALL AX
	RET
