//go:build race && (amd64 || arm64)

#include "textflag.h"

// The addresses of the race detector's functions.
DATA ·tsanGoStart(SB)/8, $__tsan_go_start(SB)
GLOBL ·tsanGoStart(SB), NOPTR, $8
DATA ·tsanGoEnd(SB)/8, $__tsan_go_end(SB)
GLOBL ·tsanGoEnd(SB), NOPTR, $8
DATA ·tsanMalloc(SB)/8, $__tsan_malloc(SB)
GLOBL ·tsanMalloc(SB), NOPTR, $8
