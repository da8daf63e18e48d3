//go:build race

#include "textflag.h"

// func RaceAcquireAll(racecall, ctx uintptr)
//
//	 8(RSP)  racecall's fn: the detector's function, in C
//	16(RSP)  its arg0: ctx
//	24(RSP)  arg1, arg2, arg3: not used
//	R3       racecall
TEXT ·RaceAcquireAll(SB), NOSPLIT, $48-16
	MOVD racecall+0(FP), R3
	MOVD ctx+8(FP), R1
	MOVD $__tsan_finalizer_goroutine(SB), R0
	MOVD R0, 8(RSP)
	MOVD R1, 16(RSP)
	CALL (R3)
	RET
