//go:build amd64 && !purego

#include "go_asm.h"
#include "textflag.h"

#define ACC   AX
#define N     DX  // bits in it
#define TO    DI
#define NEXT  SI
#define CODES BX
#define LL    R8  // tables
#define OF    R9
#define ML    R10
#define SLL   R11 // states
#define SOF   R12
#define SML   R13

// STATE writes bits of a state of TABLE for the symbol in R14, and goes on to the next one.
#define STATE(TABLE, S) \
	MOVL    (fseEncoder_steps+fseStep_width)(TABLE)(R14*8), R15 \
	MOVL    (fseEncoder_steps+fseStep_find)(TABLE)(R14*8), R14  \
	ADDL    S, R15                             \
	SHRL    $16, R15                           \
	BZHIQ   R15, S, CX                         \
	SHLXQ   N, CX, CX                          \
	ORQ     CX, ACC                            \
	ADDQ    R15, N                             \
	SHRXL   R15, S, S                          \
	ADDL    R14, S                             \
	MOVWLZX fseEncoder_table(TABLE)(S*2), S

// func writeBMI2(w *sequenceWriter)
TEXT ·writeBMI2(SB), NOSPLIT, $0-8
	MOVQ w+0(FP), CX
	MOVQ sequenceWriter_to(CX), TO
	ADDQ sequenceWriter_at(CX), TO
	MOVQ sequenceWriter_acc(CX), ACC
	MOVQ sequenceWriter_n(CX), N
	MOVQ sequenceWriter_ll(CX), LL
	MOVQ sequenceWriter_of(CX), OF
	MOVQ sequenceWriter_ml(CX), ML
	MOVL sequenceWriter_llState(CX), SLL
	MOVL sequenceWriter_ofState(CX), SOF
	MOVL sequenceWriter_mlState(CX), SML
	MOVQ sequenceWriter_next(CX), NEXT
	MOVQ sequenceWriter_nextCodes(CX), CODES

loop:
	CMPL    sequence_literals(NEXT), $const_shortLiterals
	JAE     done
	CMPL    sequence_match(NEXT), $const_shortMatch
	JAE     done
	MOVBLZX sequenceCodes_offset(CODES), R14
	STATE(OF, SOF)
	MOVBLZX sequenceCodes_match(CODES), R14
	STATE(ML, SML)
	MOVBLZX sequenceCodes_literals(CODES), R14
	STATE(LL, SLL)
	MOVBLZX sequenceCodes_offset(CODES), R14
	MOVL    sequence_offset(NEXT), CX
	BZHIQ   R14, CX, CX
	SHLXQ   N, CX, CX
	ORQ     CX, ACC
	ADDQ    R14, N
	MOVQ    ACC, (TO)
	MOVQ    N, CX
	SHRQ    $3, CX
	ADDQ    CX, TO
	SHLQ    $3, CX
	SHRXQ   CX, ACC, ACC
	ANDL    $7, N
	SUBQ    $sequence__size, NEXT
	SUBQ    $sequenceCodes__size, CODES
	MOVQ    w+0(FP), CX
	DECQ    sequenceWriter_left(CX)
	JNZ     loop

done:
	MOVQ w+0(FP), CX
	SUBQ sequenceWriter_to(CX), TO
	MOVQ TO, sequenceWriter_at(CX)
	MOVQ ACC, sequenceWriter_acc(CX)
	MOVQ N, sequenceWriter_n(CX)
	MOVL SLL, sequenceWriter_llState(CX)
	MOVL SOF, sequenceWriter_ofState(CX)
	MOVL SML, sequenceWriter_mlState(CX)
	RET
