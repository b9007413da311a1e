//go:build amd64 && !purego

#include "go_asm.h"
#include "textflag.h"

// Registers of the loop; AX to DX hold entries, so that their high bytes can be stored.
#define S     R8
#define OUT   SI  // next literal of the first stream
#define STEP1 DI  // from one stream's literals to the next one's
#define STEP3 BP
#define BITS0 R9  // bits of a stream, the next highest, and 1 below its last one
#define BITS1 R10
#define BITS2 R11
#define BITS3 R12
#define C53   R13 // what leaves the highest 11 of 64 bits
#define TABLE R14

// What the loop has on the stack.
#define count 0(SP)  // turns to be done
#define in0   8(SP)  // where the bits of a stream were loaded from
#define in1   16(SP)
#define in2   24(SP)
#define in3   32(SP)

// LOAD loads the bits of a stream that come before bit POS of src.
#define LOAD(POS, BITS, IN) \
	MOVQ  POS, CX                    \
	LEAQ  7(CX), AX                  \
	SHRQ  $3, AX                     \
	ADDQ  streams_src+0(S), AX       \
	SUBQ  $8, AX                     \
	MOVQ  AX, IN                     \
	MOVQ  (AX), BITS                 \
	ORQ   $1, BITS                   \
	NEGQ  CX                         \
	ANDQ  $7, CX                     \
	SHLXQ CX, BITS, BITS

// REFILL loads the bits of a stream again: the 1 below them has moved by as many as were taken.
#define REFILL(BITS, IN) \
	TZCNTQ BITS, AX    \
	MOVQ   AX, CX      \
	SHRQ   $3, CX      \
	MOVQ   IN, DX      \
	SUBQ   CX, DX      \
	MOVQ   DX, IN      \
	MOVQ   (DX), BITS  \
	ORQ    $1, BITS    \
	ANDL   $7, AX      \
	SHLXQ  AX, BITS, BITS

// STORE says what of src is left of a stream.
#define STORE(POS, BITS, IN) \
	TZCNTQ BITS, AX             \
	MOVQ   IN, CX               \
	SUBQ   streams_src+0(S), CX \
	LEAQ   64(CX*8), CX         \
	SUBQ   AX, CX               \
	MOVQ   CX, POS

// FOUR decodes literal number N of a turn of each stream: an entry's low byte says how many bits it
// takes, its high byte is the literal.
#define FOUR(N) \
	SHRXQ   C53, BITS0, AX       \
	SHRXQ   C53, BITS1, BX       \
	SHRXQ   C53, BITS2, CX       \
	SHRXQ   C53, BITS3, DX       \
	MOVWLZX (TABLE)(AX*2), AX    \
	MOVWLZX (TABLE)(BX*2), BX    \
	MOVWLZX (TABLE)(CX*2), CX    \
	MOVWLZX (TABLE)(DX*2), DX    \
	SHLXQ   AX, BITS0, BITS0     \
	SHLXQ   BX, BITS1, BITS1     \
	SHLXQ   CX, BITS2, BITS2     \
	SHLXQ   DX, BITS3, BITS3     \
	MOVB    AH, N(OUT)           \
	MOVB    BH, N(OUT)(STEP1*1)  \
	MOVB    CH, N(OUT)(STEP1*2)  \
	MOVB    DH, N(OUT)(STEP3*1)

// func huffmanBMI2(s *streams)
TEXT ·huffmanBMI2(SB), NOSPLIT, $40-8
	MOVQ s+0(FP), S
	MOVQ streams_turns(S), AX
	MOVQ AX, count
	MOVQ streams_dst(S), OUT
	ADDQ streams_done(S), OUT
	MOVQ streams_stride(S), STEP1
	LEAQ (STEP1)(STEP1*2), STEP3
	MOVQ streams_table(S), TABLE
	MOVQ $53, C53
	LOAD(streams_pos+0(S), BITS0, in0)
	LOAD(streams_pos+8(S), BITS1, in1)
	LOAD(streams_pos+16(S), BITS2, in2)
	LOAD(streams_pos+24(S), BITS3, in3)

loop:
	FOUR(0)
	FOUR(1)
	FOUR(2)
	FOUR(3)
	FOUR(4)
	REFILL(BITS0, in0)
	REFILL(BITS1, in1)
	REFILL(BITS2, in2)
	REFILL(BITS3, in3)
	ADDQ $5, OUT
	DECQ count
	JNZ  loop

	STORE(streams_pos+0(S), BITS0, in0)
	STORE(streams_pos+8(S), BITS1, in1)
	STORE(streams_pos+16(S), BITS2, in2)
	STORE(streams_pos+24(S), BITS3, in3)
	RET
