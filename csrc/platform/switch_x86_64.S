/* SPDX-License-Identifier: MIT */
/*
** switch_x86_64.S - the switch for x86-64 with the System V ABI.
**
** A stack that was left looks like this, from its saved sp upwards: mxcsr (4 bytes), x87 control
** word (4), r15, r14, r13, r12, rbx, rbp, return address. weft__switch_prepare builds the same.
**
** The way out is a jump through a register. A `ret` would be predicted to go back where this
** switch was called from, which is always wrong, and that also keeps the processor from working
** ahead on the next stack. The object is marked fit for indirect branch tracking, but not for
** shadow stacks, which it does not switch: loaders then leave shadow stacks off.
*/
#include "platform/switch.h"

#ifdef WEFT_SWITCH_BY_X86_64

        .text

        .globl  weft__switch
        .hidden weft__switch
        .type   weft__switch, @function
        .globl  weft__switch_bool
        .hidden weft__switch_bool
        .type   weft__switch_bool, @function
        .p2align 6
weft__switch:
weft__switch_bool:
        .cfi_startproc
        endbr64
        pushq   %rbp
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset rbp, 0
        pushq   %rbx
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset rbx, 0
        pushq   %r12
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset r12, 0
        pushq   %r13
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset r13, 0
        pushq   %r14
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset r14, 0
        pushq   %r15
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset r15, 0
        subq    $8, %rsp
        .cfi_adjust_cfa_offset 8
        stmxcsr (%rsp)
        fnstcw  4(%rsp)

        movq    %rsp, (%rdi)
        movq    %rsi, %rsp

        ldmxcsr (%rsp)
        fldcw   4(%rsp)
        addq    $8, %rsp
        .cfi_adjust_cfa_offset -8
        movq    %rdx, %rax
        popq    %r15
        .cfi_adjust_cfa_offset -8
        .cfi_restore r15
        popq    %r14
        .cfi_adjust_cfa_offset -8
        .cfi_restore r14
        popq    %r13
        .cfi_adjust_cfa_offset -8
        .cfi_restore r13
        popq    %r12
        .cfi_adjust_cfa_offset -8
        .cfi_restore r12
        popq    %rbx
        .cfi_adjust_cfa_offset -8
        .cfi_restore rbx
        popq    %rbp
        .cfi_adjust_cfa_offset -8
        .cfi_restore rbp
        popq    %rcx
        .cfi_adjust_cfa_offset -8
        .cfi_register rip, rcx
        notrack jmp *%rcx
        .cfi_endproc
        .size   weft__switch, .-weft__switch
        .size   weft__switch_bool, .-weft__switch_bool

/* The first thing on a new stack: r12 is the entry, r13 its argument. Nobody called this, so
   unwinders are told that there is no caller. */
        .type   switch_start, @function
        .p2align 4
switch_start:
        .cfi_startproc
        .cfi_undefined rip
        endbr64
        movq    %r13, %rdi
        callq   *%r12
        ud2
        .cfi_endproc
        .size   switch_start, .-switch_start

/* void *weft__switch_prepare(char *top, void (*entry)(void *), void *arg) */
        .globl  weft__switch_prepare
        .hidden weft__switch_prepare
        .type   weft__switch_prepare, @function
        .p2align 4
weft__switch_prepare:
        .cfi_startproc
        endbr64
        leaq    switch_start(%rip), %rcx
        xorl    %r8d, %r8d
        movq    %rcx, -8(%rdi)          /* popped into rcx and jumped to; rsp is top then */
        movq    %r8, -16(%rdi)          /* rbp */
        movq    %r8, -24(%rdi)          /* rbx */
        movq    %rsi, -32(%rdi)         /* r12 */
        movq    %rdx, -40(%rdi)         /* r13 */
        movq    %r8, -48(%rdi)          /* r14 */
        movq    %r8, -56(%rdi)          /* r15 */
        stmxcsr -64(%rdi)
        fnstcw  -60(%rdi)
        movw    %r8w, -58(%rdi)
        leaq    -64(%rdi), %rax
        ret
        .cfi_endproc
        .size   weft__switch_prepare, .-weft__switch_prepare

/* GNU property note: indirect branch tracking yes, shadow stack no. */
        .section .note.gnu.property, "a"
        .p2align 3
        .long   4                       /* size of the name */
        .long   16                      /* size of the property list */
        .long   5                       /* NT_GNU_PROPERTY_TYPE_0 */
        .asciz  "GNU"
        .long   0xc0000002              /* GNU_PROPERTY_X86_FEATURE_1_AND */
        .long   4
        .long   1                       /* IBT */
        .long   0

#endif

#if defined(__linux__) && defined(__ELF__)
        .section .note.GNU-stack, "", %progbits
#endif
