//go:build !race

#include "textflag.h"
#include "funcdata.h"
#include "go_asm.h"

// As hand_amd64.s, with R0 = h, R28 = g, R1 = the fiber, R2 = the frame of who resumes it, R3 to R6 scratch. A return is a return here.

// func(h *hand). 8(RSP) is where coroswitch spills its argument, 16(RSP) keeps h.
TEXT ·pauseEntry(SB), NOSPLIT, $32-0
	NO_LOCAL_POINTERS
	MOVD hand_t(R0), R1
	CBZ  R1, slow             // a zero Yielder
	MOVD const_frameG(R1), R3
	CMP  g, R3
	BNE  slow
	MOVD fiber_of(R1), R3
	CMP  R0, R3
	BNE  slow
	MOVBU fiber_cancelled(R1), R3
	CBNZ R3, slow
	MOVD ·lockedmOffset(SB), R3
	MOVD (g)(R3), R3
	CBZ  R3, unlocked
	MOVD ·lockedExtOffset(SB), R4
	MOVD (R3)(R4), R4
	MOVD $0x9e3779b97f4a7c15, R5
	MUL  R5, R4, R4
	ADD  R4, R3
unlocked:
	MOVD hand_locks(R0), R4
	CMP  R4, R3
	BNE  slow

	MOVD R0, 16(RSP)
	MOVB ZR, fiber_running(R1)
	MOVD fiber_by(R1), R5
	CBZ  R5, back
	MOVD worker_co(R1), R6
	CBZ  R6, back
	MOVD R5, Coroutine_w(R6)
	MOVD ZR, worker_co(R1)
back:
	MOVD fiber_from(R1), R2
	MOVD const_frameSlot(R2), R3
	MOVD R3, const_frameSlot(R1)
	MOVD R1, const_slotHolder(R3)
	MOVD const_slotCoro(R3), R0
	MOVD ·coroswitchPC(SB), R4
	CALL (R4)

	MOVD 16(RSP), R0
	MOVD hand_t(R0), R1
	MOVD const_relayOffset(R1), R3
	CBNZ R3, odd
	MOVBU fiber_cancelled(R1), R3
	CBNZ R3, odd
	MOVB ZR, hand_refused(R0)
	RET
odd:
	MOVD ·pausedGoPC(SB), R4
	CALL (R4)
	RET
slow:
	MOVD ·pauseGoPC(SB), R4
	CALL (R4)
	RET

// func(h *hand)
TEXT ·driveEntry(SB), NOSPLIT|NOFRAME, $0-0
	MOVD hand_t(R0), R1
	MOVD ·lockedmOffset(SB), R3
	MOVD (g)(R3), R3
	CBZ  R3, unlocked
	MOVD ·lockedExtOffset(SB), R4
	MOVD (R3)(R4), R4
	MOVD $0x9e3779b97f4a7c15, R5
	MUL  R5, R4, R4
	ADD  R4, R3
unlocked:
	MOVD hand_locks(R0), R4
	CMP  R4, R3
	BNE  refuse
	MOVD $1, R3
	MOVB R3, fiber_running(R1)
	MOVD fiber_by(R1), R5
	CBZ  R5, go
	MOVD worker_co(R5), R6
	CBZ  R6, go
	MOVD R6, worker_co(R1)
	MOVD R1, Coroutine_w(R6)
go:
	MOVD fiber_from(R1), R2
	MOVD const_frameSlot(R1), R3
	MOVD R3, const_frameSlot(R2)
	MOVD R2, const_slotHolder(R3)
	MOVD const_slotCoro(R3), R0
	MOVD ·coroswitchPC(SB), R4
	B    (R4)
refuse:
	MOVD $const_eventRefused, R3
	MOVB R3, fiber_event(R1)
	RET

DATA ·pauseEntryPC(SB)/8, $·pauseEntry(SB)
GLOBL ·pauseEntryPC(SB), RODATA, $8
DATA ·driveEntryPC(SB)/8, $·driveEntry(SB)
GLOBL ·driveEntryPC(SB), RODATA, $8
