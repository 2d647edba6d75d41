/* SPDX-License-Identifier: MIT */
/*
** switch_aarch64.S - the switch for aarch64 with the System V ABI (AAPCS64).
**
** A stack that was left looks like this, from its saved sp upwards: d8 to d15 (64 bytes), x19 to
** x28 (80), x29 and x30 (16), fpcr (8), 8 unused. weft__switch_prepare builds the same.
**
** The way out is `ret`, unlike on x86-64: where branch targets are enforced (BTI), any other
** indirect branch may only land on a marked instruction, and the place behind a call is none.
*/
#include "platform/switch.h"

#ifdef WEFT_SWITCH_BY_AARCH64

        .text

        .globl  weft__switch
        .hidden weft__switch
        .type   weft__switch, %function
        .globl  weft__switch_bool
        .hidden weft__switch_bool
        .type   weft__switch_bool, %function
        .p2align 6
weft__switch:
weft__switch_bool:
        .cfi_startproc
        hint    #34                     /* bti c */
        sub     sp, sp, #176
        .cfi_adjust_cfa_offset 176
        stp     d8, d9, [sp, #0]
        stp     d10, d11, [sp, #16]
        stp     d12, d13, [sp, #32]
        stp     d14, d15, [sp, #48]
        stp     x19, x20, [sp, #64]
        stp     x21, x22, [sp, #80]
        stp     x23, x24, [sp, #96]
        stp     x25, x26, [sp, #112]
        stp     x27, x28, [sp, #128]
        stp     x29, x30, [sp, #144]
        .cfi_rel_offset x19, 64
        .cfi_rel_offset x20, 72
        .cfi_rel_offset x21, 80
        .cfi_rel_offset x22, 88
        .cfi_rel_offset x23, 96
        .cfi_rel_offset x24, 104
        .cfi_rel_offset x25, 112
        .cfi_rel_offset x26, 120
        .cfi_rel_offset x27, 128
        .cfi_rel_offset x28, 136
        .cfi_rel_offset x29, 144
        .cfi_rel_offset x30, 152
        mrs     x4, fpcr
        str     x4, [sp, #160]

        mov     x3, sp
        str     x3, [x0]
        mov     sp, x1

        /* Writing fpcr is slow, and it hardly ever differs. */
        ldr     x5, [sp, #160]
        cmp     x4, x5
        b.eq    1f
        msr     fpcr, x5
1:      ldp     d8, d9, [sp, #0]
        ldp     d10, d11, [sp, #16]
        ldp     d12, d13, [sp, #32]
        ldp     d14, d15, [sp, #48]
        ldp     x19, x20, [sp, #64]
        ldp     x21, x22, [sp, #80]
        ldp     x23, x24, [sp, #96]
        ldp     x25, x26, [sp, #112]
        ldp     x27, x28, [sp, #128]
        ldp     x29, x30, [sp, #144]
        .cfi_restore x29
        .cfi_restore x30
        mov     x0, x2
        add     sp, sp, #176
        .cfi_adjust_cfa_offset -176
        ret
        .cfi_endproc
        .size   weft__switch, .-weft__switch
        .size   weft__switch_bool, .-weft__switch_bool

/* The first thing on a new stack: x19 is the entry, x20 its argument. Nobody called this, so
   unwinders are told that there is no caller. */
        .type   switch_start, %function
        .p2align 4
switch_start:
        .cfi_startproc
        .cfi_undefined x30
        hint    #34                     /* bti c */
        mov     x30, #0
        mov     x0, x20
        blr     x19
        brk     #1
        .cfi_endproc
        .size   switch_start, .-switch_start

/* void *weft__switch_prepare(char *top, void (*entry)(void *), void *arg) */
        .globl  weft__switch_prepare
        .hidden weft__switch_prepare
        .type   weft__switch_prepare, %function
        .p2align 4
weft__switch_prepare:
        .cfi_startproc
        hint    #34                     /* bti c */
        adrp    x3, switch_start
        add     x3, x3, :lo12:switch_start
        sub     x4, x0, #176
        stp     xzr, xzr, [x4, #0]      /* d8 to d15 */
        stp     xzr, xzr, [x4, #16]
        stp     xzr, xzr, [x4, #32]
        stp     xzr, xzr, [x4, #48]
        stp     x1, x2, [x4, #64]       /* x19, x20 */
        stp     xzr, xzr, [x4, #80]     /* x21 to x28 */
        stp     xzr, xzr, [x4, #96]
        stp     xzr, xzr, [x4, #112]
        stp     xzr, xzr, [x4, #128]
        stp     xzr, x3, [x4, #144]     /* x29, x30 */
        mrs     x5, fpcr
        stp     x5, xzr, [x4, #160]
        mov     x0, x4
        ret
        .cfi_endproc
        .size   weft__switch_prepare, .-weft__switch_prepare

/* GNU property note: fit for branch target identification and pointer authentication. */
        .section .note.gnu.property, "a"
        .p2align 3
        .long   4                       /* size of the name */
        .long   16                      /* size of the property list */
        .long   5                       /* NT_GNU_PROPERTY_TYPE_0 */
        .asciz  "GNU"
        .long   0xc0000000              /* GNU_PROPERTY_AARCH64_FEATURE_1_AND */
        .long   4
        .long   3                       /* BTI and PAC */
        .long   0

#endif

#if defined(__linux__) && defined(__ELF__)
        .section .note.GNU-stack, "", %progbits
#endif
