#include "textflag.h"

// Weights of the bytes of a block: how often each is counted in the sum of sums.
DATA adlerWeights<>+0(SB)/8, $0x191a1b1c1d1e1f20
DATA adlerWeights<>+8(SB)/8, $0x1112131415161718
DATA adlerWeights<>+16(SB)/8, $0x090a0b0c0d0e0f10
DATA adlerWeights<>+24(SB)/8, $0x0102030405060708
GLOBL adlerWeights<>(SB), RODATA|NOPTR, $32

DATA adlerOnes<>+0(SB)/8, $0x0001000100010001
DATA adlerOnes<>+8(SB)/8, $0x0001000100010001
DATA adlerOnes<>+16(SB)/8, $0x0001000100010001
DATA adlerOnes<>+24(SB)/8, $0x0001000100010001
GLOBL adlerOnes<>(SB), RODATA|NOPTR, $32

// func adlerBlocks(p *byte, n int) (sum, before, weighted uint64)
//
// Y0 sum, Y1 before (four 64-bit lanes each), Y2 weighted (eight 32-bit lanes), Y3 zero,
// Y4 weights, Y5 ones.
TEXT ·adlerBlocks(SB), NOSPLIT, $0-40
	MOVQ    p+0(FP), SI
	MOVQ    n+8(FP), CX
	VPXOR   Y0, Y0, Y0
	VPXOR   Y1, Y1, Y1
	VPXOR   Y2, Y2, Y2
	VPXOR   Y3, Y3, Y3
	VMOVDQU adlerWeights<>(SB), Y4
	VMOVDQU adlerOnes<>(SB), Y5

loop:
	VMOVDQU    (SI), Y6
	VPADDQ     Y0, Y1, Y1
	VPMADDUBSW Y4, Y6, Y7
	VPSADBW    Y3, Y6, Y6
	VPMADDWD   Y5, Y7, Y7
	VPADDQ     Y6, Y0, Y0
	VPADDD     Y7, Y2, Y2
	ADDQ       $32, SI
	DECQ       CX
	JNZ        loop

	// Lanes of Y2 are widened to 64 bits, then each accumulator's four lanes are added.
	VPUNPCKLDQ   Y3, Y2, Y6
	VPUNPCKHDQ   Y3, Y2, Y7
	VPADDQ       Y6, Y7, Y2
	VEXTRACTI128 $1, Y0, X6
	VPADDQ       X6, X0, X0
	VPSRLDQ      $8, X0, X6
	VPADDQ       X6, X0, X0
	VEXTRACTI128 $1, Y1, X6
	VPADDQ       X6, X1, X1
	VPSRLDQ      $8, X1, X6
	VPADDQ       X6, X1, X1
	VEXTRACTI128 $1, Y2, X6
	VPADDQ       X6, X2, X2
	VPSRLDQ      $8, X2, X6
	VPADDQ       X6, X2, X2
	VMOVQ        X0, AX
	VMOVQ        X1, BX
	VMOVQ        X2, CX
	VZEROUPPER
	MOVQ         AX, sum+16(FP)
	MOVQ         BX, before+24(FP)
	MOVQ         CX, weighted+32(FP)
	RET
