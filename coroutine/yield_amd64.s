#include "textflag.h"
#include "go_asm.h" // worker_ex and the like: this package's own types, laid out by the compiler

// Register entry, behind the func value yield: func(unused uintptr)
//
// What yieldGo does in the common cases: the run queue's oldest has started, there is budget, and nothing has come for the
// loop; or every switch passes the loop. In assembly because it ends in a jump, not a call: the switch then returns straight to who called Yield, and that
// is one mispredicted return (5 ns of 35) less. docs/RATIONALE.md, "Yield in assembly".
//
// In:   R14 = g, X15 = 0 (Go's register ABI).
// Uses: AX = the worker, first of all its frame; BX = the frame to run; CX = the frame to warm; SI = its coroutine;
//       R8 = the executor; R9, R10, R11, R12 = the ring, its mask, head and tail; DX, DI, R13.
// The unused argument's stack slot, which the caller has reserved, is where coroswitch spills its argument.
// Stores to the ring, current and ahead need no write barrier: a worker keeps its coroutine reachable, the executor its workers.
TEXT ·yieldEntry(SB), NOSPLIT|NOFRAME, $0-0
	MOVQ ·table(SB), CX
	MOVQ gTable_first(CX), AX
	MOVQ gTable_shift(CX), CX
	MOVQ $0x9e3779b97f4a7c15, DX
	IMULQ R14, DX
	SHRQ CX, DX
	MOVQ (AX)(DX*8), AX
	CMPQ const_frameG(AX), R14
	JNE  slow
	MOVQ worker_co(AX), SI
	MOVQ worker_ex(AX), R8
	TESTQ SI, SI
	JEQ  slow                 // a loop, or by hand on an ordinary goroutine, which has no executor
	CMPB Coroutine_halted(SI), $0
	JNE  slow                 // it is to unwind
	MOVQ Executor_ahead(R8), BX
	MOVQ Executor_budget(R8), DI
	TESTQ BX, BX
	JEQ  behind
	TESTQ $(const_clockEvery-1), DI
	JEQ  slow
	CMPL Executor_attention(R8), $0
	JNE  slow
	DECQ DI
	MOVQ DI, Executor_budget(R8)

	MOVQ (Executor_runq+runQueue_buf)(R8), R9
	MOVQ (Executor_runq+runQueue_mask)(R8), R10
	MOVQ (Executor_runq+runQueue_head)(R8), R11
	MOVQ (Executor_runq+runQueue_tail)(R8), R12
	MOVQ R11, R13
	ANDQ R10, R13
	MOVQ (R9)(R13*8), DX      // taken
	MOVQ R12, R13
	ANDQ R10, R13
	MOVQ SI, (R9)(R13*8)      // added
	INCQ R11
	INCQ R12
	MOVQ R11, (Executor_runq+runQueue_head)(R8)
	MOVQ R12, (Executor_runq+runQueue_tail)(R8)
	MOVQ DX, Executor_current(R8)

	ANDQ R11, R10
	MOVQ (R9)(R10*8), DX      // the oldest now
	MOVQ Coroutine_w(DX), CX
	MOVQ CX, Executor_ahead(R8)
	TESTQ CX, CX
	CMOVQEQ AX, CX            // nothing to warm: the running one
	MOVQ ·switchPC(SB), DI
	JMP  DI

behind:                           // nobody to hand over to: with viaLoop, queue up and give the thread to the loop
	CMPB Executor_viaLoop(R8), $0
	JEQ  slow
	MOVQ (Executor_runq+runQueue_head)(R8), R11
	MOVQ (Executor_runq+runQueue_tail)(R8), R12
	MOVQ R12, DX
	SUBQ R11, DX
	CMPQ DX, (Executor_runq+runQueue_buf+8)(R8) // the length of the ring
	JEQ  slow                 // full
	MOVQ (Executor_runq+runQueue_buf)(R8), R9
	MOVQ (Executor_runq+runQueue_mask)(R8), R10
	ANDQ R12, R10
	MOVQ SI, (R9)(R10*8)
	INCQ R12
	MOVQ R12, (Executor_runq+runQueue_tail)(R8)
	LEAQ Executor_loop(R8), BX
	MOVQ AX, CX
	MOVQ ·switchPC(SB), DI
	JMP  DI
slow:
	MOVQ ·yieldGoPC(SB), DI
	JMP  DI

DATA ·yieldEntryPC(SB)/8, $·yieldEntry(SB)
GLOBL ·yieldEntryPC(SB), RODATA, $8
