#include "textflag.h"

// func stack() uint64
//
// AX is the hash, mixed as by mix; CX goes from frame to frame, until the last,
// whose saved frame pointer is 0. NOFRAME: BP is the caller's.
TEXT ·stack(SB), NOSPLIT|NOFRAME, $0-8
	MOVQ $1, AX
	MOVQ $14695981039346656037, BX
	MOVQ $1099511628211, DX
	MOVQ BP, CX
again:
	TESTQ CX, CX
	JEQ  done
	XORQ BX, AX
	XORQ 8(CX), AX            // the return address
	IMULQ DX, AX
	MOVQ (CX), CX
	JMP  again
done:
	MOVQ AX, ret+0(FP)
	RET
