//go:build amd64 && !purego

#include "textflag.h"

// func streamLines(dst, src *byte, n, rows, to, from int64)
TEXT ·streamLines(SB), NOSPLIT, $0-48
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ n+16(FP), CX
	MOVQ rows+24(FP), DX
	MOVQ to+32(FP), R8
	MOVQ from+40(FP), R9

row:
	XORQ AX, AX

lines:
	VMOVDQU  (SI)(AX*1), Y0
	VMOVDQU  32(SI)(AX*1), Y1
	VMOVNTDQ Y0, (DI)(AX*1)
	VMOVNTDQ Y1, 32(DI)(AX*1)
	ADDQ     $64, AX
	CMPQ     AX, CX
	JLT      lines

	ADDQ R8, DI
	ADDQ R9, SI
	DECQ DX
	JNZ  row
	VZEROUPPER
	RET

// func settle()
TEXT ·settle(SB), NOSPLIT, $0-0
	SFENCE
	RET
