//go:build amd64 && !purego

#include "go_asm.h"
#include "textflag.h"

// Registers of the loop.
#define S      R8
#define PTR    R9  // where in src the bits at work were loaded from
#define WORD   BP  // the bits at work
#define SHIFT  R15 // how many of them are left
#define LL     R10 // states
#define OF     R11
#define ML     R12
#define OFFSET BX  // value of the offset
#define LITLEN CX  // literal length
#define MATLEN DX  // match length
#define LIT    SI  // next literal
#define OUT    DI  // next byte of dst
#define RECENT R13 // the last offset
#define A      AX
#define B      R14

// What the loop has on the stack.
#define litEnd  0(SP)  // pointer to the end of the literals
#define wordEnd 8(SP)  // pointer to what matches must not exceed
#define start   16(SP) // pointer to the beginning of the frame in dst
#define bitEnd  24(SP) // what PTR must not come below
#define second  32(SP) // recent offsets
#define third   40(SP)
#define count   48(SP) // sequences to be done
#define shift   56(SP) // SHIFT when the sequence began, in its low three bits

// Parts of an entry.
#define next(TABLE, STATE)      TABLE(S)(STATE*8)
#define extra(TABLE, STATE)     (TABLE+2)(S)(STATE*8)
#define stateBits(TABLE, STATE) (TABLE+3)(S)(STATE*8)
#define base(TABLE, STATE)      (TABLE+4)(S)(STATE*8)

#define llTable sequences_llTable
#define ofTable sequences_ofTable
#define mlTable sequences_mlTable

// VALUE decodes what a state stands for.
#define VALUE(TABLE, STATE, TO) \
	MOVBLZX extra(TABLE, STATE), A \
	SUBL    A, SHIFT               \
	SHRXQ   SHIFT, WORD, TO        \
	BZHIQ   A, TO, TO              \
	ADDL    base(TABLE, STATE), TO

// STEP moves a state to the next, whose bits are those above the low SHIFT ones of WORD, and leaves
// their number in A.
#define STEP(TABLE, STATE) \
	MOVBLZX stateBits(TABLE, STATE), A \
	SHRXQ   SHIFT, WORD, B             \
	BZHIQ   A, B, B                    \
	ADDW    next(TABLE, STATE), B      \
	MOVQ    B, STATE

// func runBMI2(s *sequences)
TEXT ·runBMI2(SB), NOSPLIT, $64-8
	MOVQ s+0(FP), S
	MOVQ sequences_left(S), A
	DECQ A
	JLE  return
	MOVQ A, count

	MOVQ sequences_lit(S), LIT
	MOVQ LIT, A
	ADDQ (sequences_lit+8)(S), A
	MOVQ A, litEnd
	ADDQ sequences_litPos(S), LIT
	MOVQ sequences_dst(S), OUT
	MOVQ OUT, A
	ADDQ sequences_wordEnd(S), A
	MOVQ A, wordEnd
	MOVQ OUT, A
	ADDQ sequences_start(S), A
	MOVQ A, start
	ADDQ sequences_out(S), OUT

	// PTR is seven bytes before the one with bit BITPOS, so that there are 56 + BITPOS mod 8 bits
	// up to that.
	MOVQ sequences_bitEnd(S), A
	SHRQ $3, A
	SUBQ $7, A
	ADDQ sequences_src(S), A
	MOVQ A, bitEnd
	MOVQ sequences_bitPos(S), PTR
	MOVL PTR, SHIFT
	MOVL SHIFT, shift
	SHRQ $3, PTR
	SUBQ $7, PTR
	ADDQ sequences_src(S), PTR
	ANDL $7, SHIFT

	MOVQ sequences_llState(S), LL
	MOVQ sequences_ofState(S), OF
	MOVQ sequences_mlState(S), ML
	MOVQ sequences_recent(S), RECENT
	MOVQ (sequences_recent+8)(S), A
	MOVQ A, second
	MOVQ (sequences_recent+16)(S), A
	MOVQ A, third

loop:
	MOVQ (PTR), WORD
	ORL  $56, SHIFT
	VALUE(ofTable, OF, OFFSET)
	VALUE(mlTable, ML, MATLEN)
	VALUE(llTable, LL, LITLEN)

	// Short literals, whether they are allowed or not: there is room for 16.
	MOVUPS (LIT), X0
	MOVUPS X0, (OUT)
	ADDQ   LITLEN, LIT
	ADDQ   LITLEN, OUT
	CMPQ   LIT, litEnd
	JHI    undo
	LEAQ   (OUT)(MATLEN*1), A
	CMPQ   A, wordEnd
	JHI    undo

	// The next place in src, then the next states.
	MOVBLZX stateBits(llTable, LL), A
	ADDB    stateBits(mlTable, ML), A
	ADDB    stateBits(ofTable, OF), A
	SUBL    A, SHIFT
	JMI     undo
	MOVL    SHIFT, A
	SHRL    $3, A
	LEAQ    -7(PTR)(A*1), PTR
	MOVL    SHIFT, shift
	CMPQ    PTR, bitEnd
	JCS     leave
	STEP(ofTable, OF)
	ADDL    A, SHIFT
	STEP(mlTable, ML)
	ADDL    A, SHIFT
	STEP(llTable, LL)

	// Recent offsets. A becomes 0, 1, 2 where the offset is one of them. It becomes 3 where the
	// offset is the last one less one, and more where it is new. WORD becomes the offset.
	MOVQ    OFFSET, A
	CMPQ    LITLEN, $1
	ADCQ    $-1, A
	LEAQ    -3(OFFSET), WORD
	LEAQ    -1(RECENT), B
	CMPQ    OFFSET, $3
	CMOVQEQ B, WORD
	MOVQ    second, SHIFT
	MOVQ    third, B
	CMPQ    A, $2
	CMOVQEQ B, WORD
	CMOVQCC SHIFT, B
	MOVQ    B, third
	CMPQ    A, $1
	CMOVQEQ SHIFT, WORD
	CMOVQCC RECENT, SHIFT
	MOVQ    SHIFT, second
	TESTQ   A, A
	CMOVQNE WORD, RECENT
	MOVL    shift, SHIFT

	CMPQ LITLEN, $16
	JHI  moreLiterals

literalsDone:
	// Match: A is where it is copied from, B where it ends.
	MOVQ OUT, A
	SUBQ start, A
	CMPQ RECENT, A
	JHI  badOffset
	MOVQ OUT, A
	SUBQ RECENT, A
	LEAQ (OUT)(MATLEN*1), B
	MOVUPS (A), X0
	CMPQ RECENT, $16
	JCS  pattern
	MOVUPS X0, (OUT)
	CMPQ MATLEN, $16
	JHI  moreMatch
	MOVQ B, OUT
	DECQ count
	JNZ  loop
	JMP  leave

moreLiterals:
	SUBQ LITLEN, LIT
	SUBQ LITLEN, OUT
	MOVQ $16, WORD

literals32:
	MOVUPS (LIT)(WORD*1), X0
	MOVUPS 16(LIT)(WORD*1), X1
	MOVUPS X0, (OUT)(WORD*1)
	MOVUPS X1, 16(OUT)(WORD*1)
	ADDQ   $32, WORD
	CMPQ   WORD, LITLEN
	JCS    literals32
	ADDQ   LITLEN, LIT
	ADDQ   LITLEN, OUT
	JMP    literalsDone

moreMatch:
	MOVQ $16, WORD

match16:
	MOVUPS (A)(WORD*1), X0
	MOVUPS X0, (OUT)(WORD*1)
	ADDQ   $16, WORD
	CMPQ   WORD, MATLEN
	JCS    match16
	MOVQ   B, OUT
	DECQ   count
	JNZ    loop
	JMP    leave

	// A match that overlaps itself within 16 bytes: they hold its whole period.
pattern:
	MOVQ   RECENT, WORD
	SHLQ   $4, WORD
	JEQ    badOffset
	LEAQ   ·patterns(SB), A
	MOVUPS (A)(WORD*1), X1
	PSHUFB X1, X0
	MOVUPS X0, (OUT)
	CMPQ   MATLEN, $16
	JHI    morePattern
	MOVQ   B, OUT
	DECQ   count
	JNZ    loop
	JMP    leave

morePattern:
	LEAQ   ·turns(SB), A
	MOVUPS (A)(WORD*1), X2
	LEAQ   ·turns2(SB), A
	MOVUPS (A)(WORD*1), X3
	MOVO   X0, X1
	PSHUFB X2, X1
	MOVUPS X1, 16(OUT)
	MOVQ   $32, WORD
	CMPQ   WORD, MATLEN
	JCC    patternDone

pattern32:
	PSHUFB X3, X0
	PSHUFB X3, X1
	MOVUPS X0, (OUT)(WORD*1)
	MOVUPS X1, 16(OUT)(WORD*1)
	ADDQ   $32, WORD
	CMPQ   WORD, MATLEN
	JCS    pattern32

patternDone:
	MOVQ B, OUT
	DECQ count
	JNZ  loop
	JMP  leave

undo:
	SUBQ LITLEN, LIT
	SUBQ LITLEN, OUT

leave:
	SUBQ sequences_src(S), PTR
	MOVL shift, SHIFT
	ANDL $7, SHIFT
	LEAQ 56(SHIFT)(PTR*8), PTR

store:
	MOVQ PTR, sequences_bitPos(S)
	SUBQ sequences_lit(S), LIT
	MOVQ LIT, sequences_litPos(S)
	SUBQ sequences_dst(S), OUT
	MOVQ OUT, sequences_out(S)
	MOVQ LL, sequences_llState(S)
	MOVQ OF, sequences_ofState(S)
	MOVQ ML, sequences_mlState(S)
	MOVQ RECENT, sequences_recent(S)
	MOVQ second, A
	MOVQ A, (sequences_recent+8)(S)
	MOVQ third, A
	MOVQ A, (sequences_recent+16)(S)
	MOVQ count, A
	INCQ A
	MOVQ A, sequences_left(S)

return:
	RET

badOffset:
	MOVQ $-1, PTR
	JMP  store
