#include "textflag.h"

// func stack() uint64
//
// R0 is the hash, mixed as by mix; R1 goes from frame to frame, until the last,
// whose saved frame pointer is 0. NOFRAME: R29 is the caller's.
TEXT ·stack(SB), NOSPLIT|NOFRAME, $0-8
	MOVD $1, R0
	MOVD $14695981039346656037, R2
	MOVD $1099511628211, R3
	MOVD R29, R1
again:
	CBZ  R1, done
	MOVD 8(R1), R4            // the return address
	EOR  R2, R0
	EOR  R4, R0
	MUL  R3, R0
	MOVD (R1), R1
	B    again
done:
	MOVD R0, ret+0(FP)
	RET
