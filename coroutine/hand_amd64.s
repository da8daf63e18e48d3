//go:build !race

#include "textflag.h"
#include "funcdata.h"
#include "go_asm.h"

// The switch to a coroutine driven by hand, and back. A fiber begins with its worker, a worker with its context, and that with its
// frame. docs/RATIONALE.md, "By hand in assembly".
//
// The stores need no write barrier, see asm.Frame: a fiber is kept by its executor or its goroutine, and keeps back; a coroutine is kept
// by its own worker.

// Register entry, behind the func value pause: func(h *hand)
//
// What Yielder.Yield does but for the values: look that the caller is the coroutine, and give control back. Inlined, it saves Yield's
// return after the switch; and this routine's own is a jump, which is predicted where a return is not.
//
// In:   AX = h, R14 = g, X15 = 0 (Go's register ABI).
// Uses: BX = the fiber, CX = the frame of who resumed it, DX, SI, DI.
// 0(SP) is where coroswitch spills its argument, 8(SP) keeps h, which the caller keeps alive.
TEXT ·pauseEntry(SB), NOSPLIT|NOFRAME, $0-0
	NO_LOCAL_POINTERS
	PUSHQ BP
	MOVQ SP, BP
	ADJSP $16
	MOVQ hand_t(AX), BX
	TESTQ BX, BX
	JEQ  slow                 // a zero Yielder
	CMPQ const_frameG(BX), R14
	JNE  slow
	CMPQ fiber_of(BX), AX
	JNE  slow
	CMPB fiber_cancelled(BX), $0
	JNE  slow
	MOVQ ·lockedmOffset(SB), CX
	MOVQ (R14)(CX*1), DX      // the thread that g is locked to
	TESTQ DX, DX
	JEQ  unlocked
	MOVQ ·lockedExtOffset(SB), CX
	MOVQ (DX)(CX*1), CX       // how often, by whom
	MOVQ $0x9e3779b97f4a7c15, SI
	IMULQ SI, CX
	ADDQ CX, DX               // as asm.Where tells it
unlocked:
	CMPQ DX, hand_locks(AX)
	JNE  slow

	MOVQ AX, 8(SP)
	MOVB $0, fiber_running(BX)
	MOVQ fiber_by(BX), SI
	TESTQ SI, SI
	JEQ  back
	MOVQ worker_co(BX), DI
	TESTQ DI, DI
	JEQ  back
	MOVQ SI, Coroutine_w(DI)  // the coroutine goes on with its resumer
	MOVQ $0, worker_co(BX)
back:
	MOVQ fiber_from(BX), CX
	MOVQ const_frameSlot(CX), DX
	MOVQ DX, const_frameSlot(BX)
	MOVQ BX, const_slotHolder(DX)
	MOVQ const_slotCoro(DX), AX
	MOVQ ·coroswitchPC(SB), SI
	CALL SI

	MOVQ 8(SP), AX
	MOVQ hand_t(AX), BX
	CMPQ const_relayOffset(BX), $0
	JNE  odd
	CMPB fiber_cancelled(BX), $0
	JNE  odd
	MOVB $0, hand_refused(AX) // somebody outside may have tried
	JMP  leave
odd:
	MOVQ ·pausedGoPC(SB), SI
	CALL SI
	JMP  leave
slow:
	MOVQ ·pauseGoPC(SB), SI
	CALL SI
leave:
	ADJSP $-16
	POPQ BP
	POPQ CX
	JMP  CX

// Register entry, behind the func value drive: func(h *hand)
//
// The switch to a coroutine that is suspended, of which all but the thread locks has been looked at. It returns when the coroutine
// comes back, or at once with eventRefused.
//
// In:   AX = h, R14 = g.
// Uses: BX = the fiber, CX = the frame of who resumes it, DX, SI, DI.
// It ends in a jump: coroswitch returns to the caller, whose slot for the argument it uses.
TEXT ·driveEntry(SB), NOSPLIT|NOFRAME, $0-0
	MOVQ hand_t(AX), BX
	MOVQ ·lockedmOffset(SB), CX
	MOVQ (R14)(CX*1), DX
	TESTQ DX, DX
	JEQ  unlocked
	MOVQ ·lockedExtOffset(SB), CX
	MOVQ (DX)(CX*1), CX
	MOVQ $0x9e3779b97f4a7c15, SI
	IMULQ SI, CX
	ADDQ CX, DX
unlocked:
	CMPQ DX, hand_locks(AX)
	JNE  refuse
	MOVB $1, fiber_running(BX)
	MOVQ fiber_by(BX), SI
	TESTQ SI, SI
	JEQ  go
	MOVQ worker_co(SI), DI
	TESTQ DI, DI
	JEQ  go
	MOVQ DI, worker_co(BX)    // the coroutine goes on with the fiber
	MOVQ BX, Coroutine_w(DI)
go:
	MOVQ fiber_from(BX), CX
	MOVQ const_frameSlot(BX), DX
	MOVQ DX, const_frameSlot(CX)
	MOVQ CX, const_slotHolder(DX)
	MOVQ const_slotCoro(DX), AX
	MOVQ ·coroswitchPC(SB), SI
	JMP  SI
refuse:
	MOVB $const_eventRefused, fiber_event(BX)
	RET

DATA ·pauseEntryPC(SB)/8, $·pauseEntry(SB)
GLOBL ·pauseEntryPC(SB), RODATA, $8
DATA ·driveEntryPC(SB)/8, $·driveEntry(SB)
GLOBL ·driveEntryPC(SB), RODATA, $8
