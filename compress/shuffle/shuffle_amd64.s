//go:build amd64 && !purego

#include "textflag.h"

// The forward direction. Registers of all functions: SI is the elements. DI is
// the first plane or row, BX the fifth, R8 the ninth, R9 the thirteenth. AX is
// the distance of two of them, and DX is three times as much. CX counts down.
//
// All work on 16 elements in each lane of eight or four registers, whose bytes
// have an address: the register's number, then the place in the lane. Registers
// i and i+4 (of four: i+2) are unpacked to 2i and 2i+1. That turns the address
// left by one bit. So the bits of the element's number, which come first, change
// places with the bits of the byte's number.

// UNPACK8 turns the addresses of the bytes in a0..a7.
#define UNPACK8(a0, a1, a2, a3, a4, a5, a6, a7, b0, b1, b2, b3, b4, b5, b6, b7) \
	VPUNPCKLBW a4, a0, b0 \
	VPUNPCKHBW a4, a0, b1 \
	VPUNPCKLBW a5, a1, b2 \
	VPUNPCKHBW a5, a1, b3 \
	VPUNPCKLBW a6, a2, b4 \
	VPUNPCKHBW a6, a2, b5 \
	VPUNPCKLBW a7, a3, b6 \
	VPUNPCKHBW a7, a3, b7

// PLANES8 makes eight planes, in Y0..Y7, of elements of eight bytes, two in
// each lane of Y0..Y7.
#define PLANES8 \
	UNPACK8(Y0, Y1, Y2, Y3, Y4, Y5, Y6, Y7, Y8, Y9, Y10, Y11, Y12, Y13, Y14, Y15) \
	UNPACK8(Y8, Y9, Y10, Y11, Y12, Y13, Y14, Y15, Y0, Y1, Y2, Y3, Y4, Y5, Y6, Y7) \
	UNPACK8(Y0, Y1, Y2, Y3, Y4, Y5, Y6, Y7, Y8, Y9, Y10, Y11, Y12, Y13, Y14, Y15) \
	UNPACK8(Y8, Y9, Y10, Y11, Y12, Y13, Y14, Y15, Y0, Y1, Y2, Y3, Y4, Y5, Y6, Y7)

// LOADLANES loads 16 bytes at off into the low lane and 16 at high into the
// high one.
#define LOADLANES(off, high, x, y) \
	VMOVDQU     off(SI), x        \
	VINSERTI128 $1, high(SI), y, y

// LOAD32OF8 loads 32 elements of eight bytes: 16 into the low lanes, two each,
// and 16 into the high ones.
#define LOAD32OF8 \
	LOADLANES(0, 128, X0, Y0)   \
	LOADLANES(16, 144, X1, Y1)  \
	LOADLANES(32, 160, X2, Y2)  \
	LOADLANES(48, 176, X3, Y3)  \
	LOADLANES(64, 192, X4, Y4)  \
	LOADLANES(80, 208, X5, Y5)  \
	LOADLANES(96, 224, X6, Y6)  \
	LOADLANES(112, 240, X7, Y7)

// STOREPLANES8 stores 32 bytes of each of eight planes.
#define STOREPLANES8 \
	VMOVDQU Y0, (DI)       \
	VMOVDQU Y1, (DI)(AX*1) \
	VMOVDQU Y2, (DI)(AX*2) \
	VMOVDQU Y3, (DI)(DX*1) \
	VMOVDQU Y4, (BX)       \
	VMOVDQU Y5, (BX)(AX*1) \
	VMOVDQU Y6, (BX)(AX*2) \
	VMOVDQU Y7, (BX)(DX*1)

// func shuffle2AVX2(dst, src *byte, pitch, n int)
TEXT ·shuffle2AVX2(SB), NOSPLIT, $0-32
	MOVQ     dst+0(FP), DI
	MOVQ     src+8(FP), SI
	MOVQ     pitch+16(FP), AX
	MOVQ     n+24(FP), CX
	VPCMPEQW Y7, Y7, Y7
	VPSRLW   $8, Y7, Y7         // the low byte of each word

loop2:
	LOADLANES(0, 32, X0, Y0)
	LOADLANES(16, 48, X1, Y1)
	VPAND     Y7, Y0, Y2
	VPAND     Y7, Y1, Y3
	VPSRLW    $8, Y0, Y0
	VPSRLW    $8, Y1, Y1
	VPACKUSWB Y3, Y2, Y2
	VPACKUSWB Y1, Y0, Y0
	VMOVDQU   Y2, (DI)
	VMOVDQU   Y0, (DI)(AX*1)
	ADDQ      $64, SI
	ADDQ      $32, DI
	SUBQ      $32, CX
	JNZ       loop2
	VZEROUPPER
	RET

// Four elements of four bytes become four dwords, one of each plane.
DATA fours<>+0(SB)/8, $0x0d0905010c080400
DATA fours<>+8(SB)/8, $0x0f0b07030e0a0602
GLOBL fours<>(SB), RODATA|NOPTR, $16

// func shuffle4AVX2(dst, src *byte, pitch, n int)
TEXT ·shuffle4AVX2(SB), NOSPLIT, $0-32
	MOVQ           dst+0(FP), DI
	MOVQ           src+8(FP), SI
	MOVQ           pitch+16(FP), AX
	MOVQ           n+24(FP), CX
	LEAQ           (AX)(AX*2), DX
	VBROADCASTI128 fours<>(SB), Y15

loop4:
	LOADLANES(0, 64, X0, Y0)
	LOADLANES(16, 80, X1, Y1)
	LOADLANES(32, 96, X2, Y2)
	LOADLANES(48, 112, X3, Y3)
	VPSHUFB    Y15, Y0, Y0
	VPSHUFB    Y15, Y1, Y1
	VPSHUFB    Y15, Y2, Y2
	VPSHUFB    Y15, Y3, Y3
	VPUNPCKLDQ Y2, Y0, Y4
	VPUNPCKHDQ Y2, Y0, Y5
	VPUNPCKLDQ Y3, Y1, Y6
	VPUNPCKHDQ Y3, Y1, Y7
	VPUNPCKLDQ Y6, Y4, Y0
	VPUNPCKHDQ Y6, Y4, Y1
	VPUNPCKLDQ Y7, Y5, Y2
	VPUNPCKHDQ Y7, Y5, Y3
	VMOVDQU    Y0, (DI)
	VMOVDQU    Y1, (DI)(AX*1)
	VMOVDQU    Y2, (DI)(AX*2)
	VMOVDQU    Y3, (DI)(DX*1)
	ADDQ       $128, SI
	ADDQ       $32, DI
	SUBQ       $32, CX
	JNZ        loop4
	VZEROUPPER
	RET

// func shuffle8AVX2(dst, src *byte, pitch, n int)
TEXT ·shuffle8AVX2(SB), NOSPLIT, $0-32
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ pitch+16(FP), AX
	MOVQ n+24(FP), CX
	LEAQ (AX)(AX*2), DX
	LEAQ (DI)(AX*4), BX

loop8:
	LOAD32OF8
	PLANES8
	STOREPLANES8
	ADDQ $256, SI
	ADDQ $32, DI
	ADDQ $32, BX
	SUBQ $32, CX
	JNZ  loop8
	VZEROUPPER
	RET

// func shuffle16AVX2(dst, src *byte, pitch, n int)
//
// The low lanes hold the first halves of the elements, the high lanes the
// others.
TEXT ·shuffle16AVX2(SB), NOSPLIT, $0-32
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ pitch+16(FP), AX
	MOVQ n+24(FP), CX
	LEAQ (AX)(AX*2), DX
	LEAQ (DI)(AX*4), BX
	LEAQ (BX)(AX*4), R8
	LEAQ (R8)(AX*4), R9

loop16:
	VPERMQ $0xD8, (SI), Y0
	VPERMQ $0xD8, 32(SI), Y1
	VPERMQ $0xD8, 64(SI), Y2
	VPERMQ $0xD8, 96(SI), Y3
	VPERMQ $0xD8, 128(SI), Y4
	VPERMQ $0xD8, 160(SI), Y5
	VPERMQ $0xD8, 192(SI), Y6
	VPERMQ $0xD8, 224(SI), Y7
	PLANES8
	VMOVDQU      X0, (DI)
	VMOVDQU      X1, (DI)(AX*1)
	VMOVDQU      X2, (DI)(AX*2)
	VMOVDQU      X3, (DI)(DX*1)
	VMOVDQU      X4, (BX)
	VMOVDQU      X5, (BX)(AX*1)
	VMOVDQU      X6, (BX)(AX*2)
	VMOVDQU      X7, (BX)(DX*1)
	VEXTRACTI128 $1, Y0, (R8)
	VEXTRACTI128 $1, Y1, (R8)(AX*1)
	VEXTRACTI128 $1, Y2, (R8)(AX*2)
	VEXTRACTI128 $1, Y3, (R8)(DX*1)
	VEXTRACTI128 $1, Y4, (R9)
	VEXTRACTI128 $1, Y5, (R9)(AX*1)
	VEXTRACTI128 $1, Y6, (R9)(AX*2)
	VEXTRACTI128 $1, Y7, (R9)(DX*1)
	ADDQ         $256, SI
	ADDQ         $16, DI
	ADDQ         $16, BX
	ADDQ         $16, R8
	ADDQ         $16, R9
	SUBQ         $16, CX
	JNZ          loop16
	VZEROUPPER
	RET

// TAKEROW stores the highest bit of each byte of Y0, and lifts the others.
#define TAKEROW(row) \
	VPMOVMSKB Y0, R10 \
	MOVL      R10, row \
	VPADDB    Y0, Y0, Y0

// func planeToBitsAVX2(rows, plane *byte, pitch, n int)
TEXT ·planeToBitsAVX2(SB), NOSPLIT, $0-32
	MOVQ rows+0(FP), DI
	MOVQ plane+8(FP), SI
	MOVQ pitch+16(FP), AX
	MOVQ n+24(FP), CX
	LEAQ (AX)(AX*2), DX
	LEAQ (DI)(AX*4), BX

loopAVX2:
	VMOVDQU (SI), Y0
	TAKEROW((BX)(DX*1))
	TAKEROW((BX)(AX*2))
	TAKEROW((BX)(AX*1))
	TAKEROW((BX))
	TAKEROW((DI)(DX*1))
	TAKEROW((DI)(AX*2))
	TAKEROW((DI)(AX*1))
	TAKEROW((DI))
	ADDQ $32, SI
	ADDQ $4, DI
	ADDQ $4, BX
	SUBQ $4, CX
	JNZ  loopAVX2
	VZEROUPPER
	RET

// Each qword's bytes, the last first.
DATA backwards<>+0(SB)/8, $0x0001020304050607
DATA backwards<>+8(SB)/8, $0x08090a0b0c0d0e0f
GLOBL backwards<>(SB), RODATA|NOPTR, $16

// The matrix whose row i is bit i alone.
DATA unit<>+0(SB)/8, $0x8040201008040201
GLOBL unit<>(SB), RODATA|NOPTR, $8

// BITS8 transposes the bits of each qword: backwards, times the unit matrix.
#define BITS8(y) \
	VPSHUFB        Y8, y, y \
	VGF2P8AFFINEQB $0, y, Y9, y

// func planeToBitsGFNI(rows, plane *byte, pitch, n int)
//
// A qword is one byte of each row when its bits are transposed; their bytes
// thereafter are shuffled as elements of eight bytes are.
TEXT ·planeToBitsGFNI(SB), NOSPLIT, $0-32
	MOVQ rows+0(FP), DI
	MOVQ plane+8(FP), SI
	MOVQ pitch+16(FP), AX
	MOVQ n+24(FP), CX
	LEAQ (AX)(AX*2), DX
	LEAQ (DI)(AX*4), BX

loopGFNI:
	VBROADCASTI128 backwards<>(SB), Y8
	VPBROADCASTQ   unit<>(SB), Y9
	LOAD32OF8
	BITS8(Y0)
	BITS8(Y1)
	BITS8(Y2)
	BITS8(Y3)
	BITS8(Y4)
	BITS8(Y5)
	BITS8(Y6)
	BITS8(Y7)
	PLANES8
	STOREPLANES8
	ADDQ           $256, SI
	ADDQ           $32, DI
	ADDQ           $32, BX
	SUBQ           $32, CX
	JNZ            loopGFNI
	VZEROUPPER
	RET
