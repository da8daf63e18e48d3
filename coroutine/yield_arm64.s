#include "textflag.h"
#include "go_asm.h" // worker_ex and the like: this package's own types, laid out by the compiler

// Register entry, behind the func value yield: func(unused uintptr)
//
// What yieldGo does in the common cases: the run queue's oldest has started, there is budget, and nothing has come for the
// loop; or every switch passes the loop. In assembly because it ends in a jump, not a call: the switch then returns straight to who called Yield, and that
// is one mispredicted return less. docs/RATIONALE.md, "Yield in assembly".
//
// In:   R28 = g, R30 = the return address in who called Yield (Go's register ABI).
// Uses: R0 = the worker, first of all its frame; R1 = the frame to run; R2 = the frame to warm; R6 = its coroutine;
//       R8 = the executor; R9, R10, R11, R12 = the ring, its mask, head and tail; R3, R4, R5, R7, R13.
// The unused argument's stack slot, which the caller has reserved, is where coroswitch spills its argument.
// Stores to the ring, current and ahead need no write barrier: a worker keeps its coroutine reachable, the executor its workers.
TEXT ·yieldEntry(SB), NOSPLIT|NOFRAME, $0-0
	MOVD ·table(SB), R1
	MOVD gTable_first(R1), R0
	MOVD gTable_shift(R1), R1
	MOVD $0x9e3779b97f4a7c15, R2
	MUL  g, R2, R2
	LSR  R1, R2, R2
	MOVD (R0)(R2<<3), R0
	MOVD const_frameG(R0), R2
	CMP  g, R2
	BNE  slow
	MOVD worker_co(R0), R6
	MOVD worker_ex(R0), R8
	CBZ  R6, slow             // a loop, or by hand on an ordinary goroutine, which has no executor
	MOVBU Coroutine_halted(R6), R2
	CBNZ R2, slow             // it is to unwind
	MOVD Executor_ahead(R8), R1
	MOVD Executor_budget(R8), R7
	CBZ  R1, behind
	TST  $(const_clockEvery-1), R7
	BEQ  slow
	MOVWU Executor_attention(R8), R2
	CBNZ R2, slow
	SUB  $1, R7
	MOVD R7, Executor_budget(R8)

	MOVD (Executor_runq+runQueue_buf)(R8), R9
	MOVD (Executor_runq+runQueue_mask)(R8), R10
	MOVD (Executor_runq+runQueue_head)(R8), R11
	MOVD (Executor_runq+runQueue_tail)(R8), R12
	AND  R10, R11, R13
	MOVD (R9)(R13<<3), R3     // taken
	AND  R10, R12, R13
	MOVD R6, (R9)(R13<<3)     // added
	ADD  $1, R11
	ADD  $1, R12
	MOVD R11, (Executor_runq+runQueue_head)(R8)
	MOVD R12, (Executor_runq+runQueue_tail)(R8)
	MOVD R3, Executor_current(R8)

	AND  R10, R11, R13
	MOVD (R9)(R13<<3), R3     // the oldest now
	MOVD Coroutine_w(R3), R2
	MOVD R2, Executor_ahead(R8)
	CMP  $0, R2
	CSEL EQ, R0, R2, R2       // nothing to warm: the running one
	MOVD ·switchPC(SB), R4
	B    (R4)

behind:                           // nobody to hand over to: with viaLoop, queue up and give the thread to the loop
	MOVBU Executor_viaLoop(R8), R2
	CBZ  R2, slow
	MOVD (Executor_runq+runQueue_head)(R8), R11
	MOVD (Executor_runq+runQueue_tail)(R8), R12
	SUB  R11, R12, R3
	MOVD (Executor_runq+runQueue_buf+8)(R8), R4 // the length of the ring
	CMP  R4, R3
	BEQ  slow                 // full
	MOVD (Executor_runq+runQueue_buf)(R8), R9
	MOVD (Executor_runq+runQueue_mask)(R8), R10
	AND  R12, R10, R10
	MOVD R6, (R9)(R10<<3)
	ADD  $1, R12
	MOVD R12, (Executor_runq+runQueue_tail)(R8)
	MOVD $Executor_loop(R8), R1
	MOVD R0, R2
	MOVD ·switchPC(SB), R4
	B    (R4)
slow:
	MOVD ·yieldGoPC(SB), R4
	B    (R4)

DATA ·yieldEntryPC(SB)/8, $·yieldEntry(SB)
GLOBL ·yieldEntryPC(SB), RODATA, $8
