#include "textflag.h"
#include "go_asm.h" // worker_ex and the like: this package's own types, laid out by the compiler

// Register entry, behind the func value me: func() *worker
//
// self, of which it has the common case; for the others it jumps there.
//
// In:   R14 = g. Out: AX = the worker.
// Uses: CX, DX.
TEXT ·meEntry(SB), NOSPLIT|NOFRAME, $0-0
	MOVQ ·table(SB), CX
	MOVQ gTable_first(CX), AX
	MOVQ gTable_shift(CX), CX
	MOVQ $0x9e3779b97f4a7c15, DX
	IMULQ R14, DX
	SHRQ CX, DX
	MOVQ (AX)(DX*8), AX
	CMPQ const_frameG(AX), R14
	JNE  slow
	RET
slow:
	MOVQ ·selfPC(SB), DX
	JMP  DX

// Register entry, behind the func value parkTail: func(w *worker)
//
// Park in the common case, in which the run queue's oldest has started and nothing has come for the loop, and not only that: it
// ends the function that calls it, too. Its frame is dropped, and the switch, when it returns, returns to that function's
// caller, which saves a mispredicted return. In all other cases it returns to the function, having done nothing.
//
// In:   AX = the worker, first of all its frame; R14 = g, X15 = 0; BP = the frame pointer of the calling function, which has a
//       frame, a register argument (in whose stack slot coroswitch spills its own), no results and nothing deferred.
// Uses: BX = the frame to run; CX = the frame to warm; SI = the coroutine; R8 = the executor; R9, R10, R11, R12 = the ring, its
//       mask, head and tail; DX, DI, R13.
// The stores to current and ahead need no write barrier, as in yieldEntry.
TEXT ·parkTailEntry(SB), NOSPLIT|NOFRAME, $0-0
	MOVQ worker_ex(AX), R8
	MOVQ worker_co(AX), SI
	MOVQ Executor_budget(R8), DI
	MOVQ (Executor_runq+runQueue_head)(R8), R11
	MOVQ (Executor_runq+runQueue_tail)(R8), R12
	TESTQ $(const_clockEvery-1), DI
	JEQ  slow
	CMPQ R11, R12
	JEQ  slow
	CMPL Executor_attention(R8), $0
	JNE  slow
	CMPB Executor_handoff(R8), $0
	JEQ  slow
	CMPB Coroutine_woken(SI), $0
	JNE  slow
	MOVQ (Executor_runq+runQueue_buf)(R8), R9
	MOVQ (Executor_runq+runQueue_mask)(R8), R10
	MOVQ R11, R13
	ANDQ R10, R13
	MOVQ (R9)(R13*8), DX      // taken
	MOVQ Coroutine_w(DX), BX
	TESTQ BX, BX
	JEQ  slow                 // it has not started
	DECQ DI
	INCQ R11
	MOVQ DI, Executor_budget(R8)
	MOVQ R11, (Executor_runq+runQueue_head)(R8)
	MOVQ DX, Executor_current(R8)
	MOVQ Executor_stamp(R8), DI
	ORQ  $(const_Waiting|const_ReasonChannel<<8), DI
	MOVQ DI, Coroutine_status(SI)
	XORL CX, CX
	CMPQ R11, R12
	JEQ  none
	ANDQ R11, R10
	MOVQ (R9)(R10*8), DX      // the oldest now
	MOVQ Coroutine_w(DX), CX
none:
	MOVQ CX, Executor_ahead(R8)
	TESTQ CX, CX
	CMOVQEQ AX, CX            // nothing to warm: the running one
	LEAQ 8(BP), SP            // as if the calling function's caller had called
	MOVQ (BP), BP
	MOVQ ·switchPC(SB), DI
	JMP  DI
slow:
	RET

DATA ·meEntryPC(SB)/8, $·meEntry(SB)
GLOBL ·meEntryPC(SB), RODATA, $8
DATA ·parkTailEntryPC(SB)/8, $·parkTailEntry(SB)
GLOBL ·parkTailEntryPC(SB), RODATA, $8
