//go:build amd64 && !purego

#include "textflag.h"

// Registers of all functions: DI is the output. SI is the first plane or row,
// BX the fifth, R8 the ninth, R9 the thirteenth. AX is the distance of two of
// them, and DX is three times as much. CX counts down.

// LOAD8 loads 32 bytes of each of eight planes.
#define LOAD8(r0, r1, r2, r3, r4, r5, r6, r7) \
	VMOVDQU (SI), r0         \
	VMOVDQU (SI)(AX*1), r1   \
	VMOVDQU (SI)(AX*2), r2   \
	VMOVDQU (SI)(DX*1), r3   \
	VMOVDQU (BX), r4         \
	VMOVDQU (BX)(AX*1), r5   \
	VMOVDQU (BX)(AX*2), r6   \
	VMOVDQU (BX)(DX*1), r7

// TRANSPOSE8 makes qwords of the eight planes in Y0..Y7, each lane on its own.
// In the low lanes Y8 gets elements 0 and 1, Y9 2 and 3, up to Y15 with 14 and
// 15. The high lanes get those 16 further on.
#define TRANSPOSE8 \
	VPUNPCKLBW Y1, Y0, Y8    \
	VPUNPCKHBW Y1, Y0, Y9    \
	VPUNPCKLBW Y3, Y2, Y10   \
	VPUNPCKHBW Y3, Y2, Y11   \
	VPUNPCKLBW Y5, Y4, Y12   \
	VPUNPCKHBW Y5, Y4, Y13   \
	VPUNPCKLBW Y7, Y6, Y14   \
	VPUNPCKHBW Y7, Y6, Y15   \
	VPUNPCKLWD Y10, Y8, Y0   \
	VPUNPCKHWD Y10, Y8, Y1   \
	VPUNPCKLWD Y11, Y9, Y2   \
	VPUNPCKHWD Y11, Y9, Y3   \
	VPUNPCKLWD Y14, Y12, Y4  \
	VPUNPCKHWD Y14, Y12, Y5  \
	VPUNPCKLWD Y15, Y13, Y6  \
	VPUNPCKHWD Y15, Y13, Y7  \
	VPUNPCKLDQ Y4, Y0, Y8    \
	VPUNPCKHDQ Y4, Y0, Y9    \
	VPUNPCKLDQ Y5, Y1, Y10   \
	VPUNPCKHDQ Y5, Y1, Y11   \
	VPUNPCKLDQ Y6, Y2, Y12   \
	VPUNPCKHDQ Y6, Y2, Y13   \
	VPUNPCKLDQ Y7, Y3, Y14   \
	VPUNPCKHDQ Y7, Y3, Y15

// STORE8 stores the 32 qwords of TRANSPOSE8 in their order.
#define STORE8 \
	VPERM2I128 $0x20, Y9, Y8, Y0   \
	VPERM2I128 $0x20, Y11, Y10, Y1 \
	VPERM2I128 $0x20, Y13, Y12, Y2 \
	VPERM2I128 $0x20, Y15, Y14, Y3 \
	VPERM2I128 $0x31, Y9, Y8, Y4   \
	VPERM2I128 $0x31, Y11, Y10, Y5 \
	VPERM2I128 $0x31, Y13, Y12, Y6 \
	VPERM2I128 $0x31, Y15, Y14, Y7 \
	VMOVDQU    Y0, (DI)            \
	VMOVDQU    Y1, 32(DI)          \
	VMOVDQU    Y2, 64(DI)          \
	VMOVDQU    Y3, 96(DI)          \
	VMOVDQU    Y4, 128(DI)         \
	VMOVDQU    Y5, 160(DI)         \
	VMOVDQU    Y6, 192(DI)         \
	VMOVDQU    Y7, 224(DI)

// func unshuffle2AVX2(dst, src *byte, pitch, n int)
TEXT ·unshuffle2AVX2(SB), NOSPLIT, $0-32
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ pitch+16(FP), AX
	MOVQ n+24(FP), CX

loop2:
	VMOVDQU    (SI), Y0
	VMOVDQU    (SI)(AX*1), Y1
	VPUNPCKLBW Y1, Y0, Y2           // elements 0..7 and 16..23
	VPUNPCKHBW Y1, Y0, Y3           // elements 8..15 and 24..31
	VPERM2I128 $0x20, Y3, Y2, Y4
	VPERM2I128 $0x31, Y3, Y2, Y5
	VMOVDQU    Y4, (DI)
	VMOVDQU    Y5, 32(DI)
	ADDQ       $32, SI
	ADDQ       $64, DI
	SUBQ       $32, CX
	JNZ        loop2
	VZEROUPPER
	RET

// func unshuffle4AVX2(dst, src *byte, pitch, n int)
TEXT ·unshuffle4AVX2(SB), NOSPLIT, $0-32
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ pitch+16(FP), AX
	MOVQ n+24(FP), CX
	LEAQ (AX)(AX*2), DX

loop4:
	VMOVDQU    (SI), Y0
	VMOVDQU    (SI)(AX*1), Y1
	VMOVDQU    (SI)(AX*2), Y2
	VMOVDQU    (SI)(DX*1), Y3
	VPUNPCKLBW Y1, Y0, Y4
	VPUNPCKHBW Y1, Y0, Y5
	VPUNPCKLBW Y3, Y2, Y6
	VPUNPCKHBW Y3, Y2, Y7
	VPUNPCKLWD Y6, Y4, Y0           // elements 0..3 and 16..19
	VPUNPCKHWD Y6, Y4, Y1           // elements 4..7 and 20..23
	VPUNPCKLWD Y7, Y5, Y2           // elements 8..11 and 24..27
	VPUNPCKHWD Y7, Y5, Y3           // elements 12..15 and 28..31
	VPERM2I128 $0x20, Y1, Y0, Y4
	VPERM2I128 $0x20, Y3, Y2, Y5
	VPERM2I128 $0x31, Y1, Y0, Y6
	VPERM2I128 $0x31, Y3, Y2, Y7
	VMOVDQU    Y4, (DI)
	VMOVDQU    Y5, 32(DI)
	VMOVDQU    Y6, 64(DI)
	VMOVDQU    Y7, 96(DI)
	ADDQ       $32, SI
	ADDQ       $128, DI
	SUBQ       $32, CX
	JNZ        loop4
	VZEROUPPER
	RET

// func unshuffle8AVX2(dst, src *byte, pitch, n int)
TEXT ·unshuffle8AVX2(SB), NOSPLIT, $0-32
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ pitch+16(FP), AX
	MOVQ n+24(FP), CX
	LEAQ (AX)(AX*2), DX
	LEAQ (SI)(AX*4), BX

loop8:
	LOAD8(Y0, Y1, Y2, Y3, Y4, Y5, Y6, Y7)
	TRANSPOSE8
	STORE8
	ADDQ $32, SI
	ADDQ $32, BX
	ADDQ $256, DI
	SUBQ $32, CX
	JNZ  loop8
	VZEROUPPER
	RET

// func unshuffle16AVX2(dst, src *byte, pitch, n int)
//
// The low lanes hold the first eight planes, the high lanes the others, so
// that both halves of an element meet in one register.
TEXT ·unshuffle16AVX2(SB), NOSPLIT, $0-32
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ pitch+16(FP), AX
	MOVQ n+24(FP), CX
	LEAQ (AX)(AX*2), DX
	LEAQ (SI)(AX*4), BX
	LEAQ (BX)(AX*4), R8
	LEAQ (R8)(AX*4), R9

loop16:
	LOAD8(X0, X1, X2, X3, X4, X5, X6, X7)
	VINSERTI128 $1, (R8), Y0, Y0
	VINSERTI128 $1, (R8)(AX*1), Y1, Y1
	VINSERTI128 $1, (R8)(AX*2), Y2, Y2
	VINSERTI128 $1, (R8)(DX*1), Y3, Y3
	VINSERTI128 $1, (R9), Y4, Y4
	VINSERTI128 $1, (R9)(AX*1), Y5, Y5
	VINSERTI128 $1, (R9)(AX*2), Y6, Y6
	VINSERTI128 $1, (R9)(DX*1), Y7, Y7
	TRANSPOSE8
	VPERMQ      $0xD8, Y8, Y8
	VPERMQ      $0xD8, Y9, Y9
	VPERMQ      $0xD8, Y10, Y10
	VPERMQ      $0xD8, Y11, Y11
	VPERMQ      $0xD8, Y12, Y12
	VPERMQ      $0xD8, Y13, Y13
	VPERMQ      $0xD8, Y14, Y14
	VPERMQ      $0xD8, Y15, Y15
	VMOVDQU     Y8, (DI)
	VMOVDQU     Y9, 32(DI)
	VMOVDQU     Y10, 64(DI)
	VMOVDQU     Y11, 96(DI)
	VMOVDQU     Y12, 128(DI)
	VMOVDQU     Y13, 160(DI)
	VMOVDQU     Y14, 192(DI)
	VMOVDQU     Y15, 224(DI)
	ADDQ        $16, SI
	ADDQ        $16, BX
	ADDQ        $16, R8
	ADDQ        $16, R9
	ADDQ        $256, DI
	SUBQ        $16, CX
	JNZ         loop16
	VZEROUPPER
	RET

// BUTTERFLY exchanges the bits of a under mask<<shift with those of b under
// mask.
#define BUTTERFLY(shift, mask, a, b) \
	VPSRLQ $shift, a, Y8  \
	VPXOR  b, Y8, Y8      \
	VPAND  mask, Y8, Y8   \
	VPXOR  Y8, b, b       \
	VPSLLQ $shift, Y8, Y8 \
	VPXOR  Y8, a, a

DATA nibbles<>+0(SB)/8, $0x0f0f0f0f0f0f0f0f
DATA pairs<>+0(SB)/8, $0x3333333333333333
DATA odds<>+0(SB)/8, $0x5555555555555555
GLOBL nibbles<>(SB), RODATA|NOPTR, $8
GLOBL pairs<>(SB), RODATA|NOPTR, $8
GLOBL odds<>(SB), RODATA|NOPTR, $8

// func bitsToPlaneAVX2(plane, rows *byte, pitch, n int)
//
// The bits are transposed first, between the rows; their bytes thereafter.
TEXT ·bitsToPlaneAVX2(SB), NOSPLIT, $0-32
	MOVQ plane+0(FP), DI
	MOVQ rows+8(FP), SI
	MOVQ pitch+16(FP), AX
	MOVQ n+24(FP), CX
	LEAQ (AX)(AX*2), DX
	LEAQ (SI)(AX*4), BX

loopAVX2:
	VPBROADCASTQ nibbles<>(SB), Y9
	VPBROADCASTQ pairs<>(SB), Y10
	VPBROADCASTQ odds<>(SB), Y11
	LOAD8(Y0, Y1, Y2, Y3, Y4, Y5, Y6, Y7)
	BUTTERFLY(4, Y9, Y0, Y4)
	BUTTERFLY(4, Y9, Y1, Y5)
	BUTTERFLY(4, Y9, Y2, Y6)
	BUTTERFLY(4, Y9, Y3, Y7)
	BUTTERFLY(2, Y10, Y0, Y2)
	BUTTERFLY(2, Y10, Y1, Y3)
	BUTTERFLY(2, Y10, Y4, Y6)
	BUTTERFLY(2, Y10, Y5, Y7)
	BUTTERFLY(1, Y11, Y0, Y1)
	BUTTERFLY(1, Y11, Y2, Y3)
	BUTTERFLY(1, Y11, Y4, Y5)
	BUTTERFLY(1, Y11, Y6, Y7)
	TRANSPOSE8
	STORE8
	ADDQ         $32, SI
	ADDQ         $32, BX
	ADDQ         $256, DI
	SUBQ         $32, CX
	JNZ          loopAVX2
	VZEROUPPER
	RET

// The matrix whose row i is bit i alone.
DATA identity<>+0(SB)/8, $0x8040201008040201
GLOBL identity<>(SB), RODATA|NOPTR, $8

// func bitsToPlaneGFNI(plane, rows *byte, pitch, n int)
//
// The bytes are transposed first: a qword then holds one byte of each row,
// the last row's first, and times the identity it is its bits transposed.
TEXT ·bitsToPlaneGFNI(SB), NOSPLIT, $0-32
	MOVQ plane+0(FP), DI
	MOVQ rows+8(FP), SI
	MOVQ pitch+16(FP), AX
	MOVQ n+24(FP), CX
	LEAQ (AX)(AX*2), DX
	LEAQ (SI)(AX*4), BX

loopGFNI:
	LOAD8(Y7, Y6, Y5, Y4, Y3, Y2, Y1, Y0)
	TRANSPOSE8
	VPBROADCASTQ   identity<>(SB), Y0
	VGF2P8AFFINEQB $0, Y8, Y0, Y8
	VGF2P8AFFINEQB $0, Y9, Y0, Y9
	VGF2P8AFFINEQB $0, Y10, Y0, Y10
	VGF2P8AFFINEQB $0, Y11, Y0, Y11
	VGF2P8AFFINEQB $0, Y12, Y0, Y12
	VGF2P8AFFINEQB $0, Y13, Y0, Y13
	VGF2P8AFFINEQB $0, Y14, Y0, Y14
	VGF2P8AFFINEQB $0, Y15, Y0, Y15
	STORE8
	ADDQ           $32, SI
	ADDQ           $32, BX
	ADDQ           $256, DI
	SUBQ           $32, CX
	JNZ            loopGFNI
	VZEROUPPER
	RET
