// SPDX-License-Identifier: Apache-2.0
// Forwarding a call whatever its signature.
//
// A trampoline puts its number into a scratch register and jumps to where its slot of
// recorder_targets points: to the driver, or to one of the two routines here.
#if defined(__x86_64__)
    .text
// recorder_enter(number) says where to go on. All registers that carry arguments are kept.
    .globl recorder_forward
    .hidden recorder_forward
    .hidden recorder_enter
    .type recorder_forward, @function
recorder_forward:
    .cfi_startproc
    subq $200, %rsp
    .cfi_adjust_cfa_offset 200
    movq %rdi, 0(%rsp)
    movq %rsi, 8(%rsp)
    movq %rdx, 16(%rsp)
    movq %rcx, 24(%rsp)
    movq %r8, 32(%rsp)
    movq %r9, 40(%rsp)
    movups %xmm0, 48(%rsp)
    movups %xmm1, 64(%rsp)
    movups %xmm2, 80(%rsp)
    movups %xmm3, 96(%rsp)
    movups %xmm4, 112(%rsp)
    movups %xmm5, 128(%rsp)
    movups %xmm6, 144(%rsp)
    movups %xmm7, 160(%rsp)
    movl %eax, 184(%rsp)
    movl %eax, %edi
    call recorder_enter
    movq %rax, %r11
    movq 0(%rsp), %rdi
    movq 8(%rsp), %rsi
    movq 16(%rsp), %rdx
    movq 24(%rsp), %rcx
    movq 32(%rsp), %r8
    movq 40(%rsp), %r9
    movups 48(%rsp), %xmm0
    movups 64(%rsp), %xmm1
    movups 80(%rsp), %xmm2
    movups 96(%rsp), %xmm3
    movups 112(%rsp), %xmm4
    movups 128(%rsp), %xmm5
    movups 144(%rsp), %xmm6
    movups 160(%rsp), %xmm7
    movl 184(%rsp), %eax
    addq $200, %rsp
    .cfi_adjust_cfa_offset -200
    jmpq *%r11
    .cfi_endproc
    .size recorder_forward, .-recorder_forward
// recorder_call(number, twelve words) makes the call and returns what it returned: the words are
// six registers, and six that may lie on the stack.
    .globl recorder_noted
    .hidden recorder_noted
    .hidden recorder_call
    .type recorder_noted, @function
recorder_noted:
    .cfi_startproc
    subq $104, %rsp
    .cfi_adjust_cfa_offset 104
    movq %rdi, 0(%rsp)
    movq %rsi, 8(%rsp)
    movq %rdx, 16(%rsp)
    movq %rcx, 24(%rsp)
    movq %r8, 32(%rsp)
    movq %r9, 40(%rsp)
    movups 112(%rsp), %xmm0
    movups 128(%rsp), %xmm1
    movups 144(%rsp), %xmm2
    movups %xmm0, 48(%rsp)
    movups %xmm1, 64(%rsp)
    movups %xmm2, 80(%rsp)
    movl %eax, %edi
    movq %rsp, %rsi
    call recorder_call
    addq $104, %rsp
    .cfi_adjust_cfa_offset -104
    ret
    .cfi_endproc
    .size recorder_noted, .-recorder_noted
    .macro trampoline name
    .globl \name
    .type \name, @function
\name:
    .cfi_startproc
    endbr64
    movl $trampoline_number, %eax
    jmpq *recorder_targets+8*trampoline_number(%rip)
    .cfi_endproc
    .size \name, .-\name
    .set trampoline_number, trampoline_number+1
    .endm
#elif defined(__aarch64__)
    .text
    .globl recorder_forward
    .hidden recorder_forward
    .hidden recorder_enter
    .type recorder_forward, %function
recorder_forward:
    .cfi_startproc
    stp x29, x30, [sp, #-256]!
    .cfi_adjust_cfa_offset 256
    .cfi_rel_offset x29, 0
    .cfi_rel_offset x30, 8
    mov x29, sp
    stp x0, x1, [sp, #16]
    stp x2, x3, [sp, #32]
    stp x4, x5, [sp, #48]
    stp x6, x7, [sp, #64]
    str x8, [sp, #80]
    stp q0, q1, [sp, #96]
    stp q2, q3, [sp, #128]
    stp q4, q5, [sp, #160]
    stp q6, q7, [sp, #192]
    str w16, [sp, #224]
    mov w0, w16
    bl recorder_enter
    mov x17, x0
    ldr w16, [sp, #224]
    ldp x0, x1, [sp, #16]
    ldp x2, x3, [sp, #32]
    ldp x4, x5, [sp, #48]
    ldp x6, x7, [sp, #64]
    ldr x8, [sp, #80]
    ldp q0, q1, [sp, #96]
    ldp q2, q3, [sp, #128]
    ldp q4, q5, [sp, #160]
    ldp q6, q7, [sp, #192]
    ldp x29, x30, [sp], #256
    .cfi_adjust_cfa_offset -256
    .cfi_restore x29
    .cfi_restore x30
    br x17
    .cfi_endproc
    .size recorder_forward, .-recorder_forward
// Eight words are registers here, and four may lie on the stack.
    .globl recorder_noted
    .hidden recorder_noted
    .hidden recorder_call
    .type recorder_noted, %function
recorder_noted:
    .cfi_startproc
    stp x29, x30, [sp, #-112]!
    .cfi_adjust_cfa_offset 112
    .cfi_rel_offset x29, 0
    .cfi_rel_offset x30, 8
    mov x29, sp
    stp x0, x1, [sp, #16]
    stp x2, x3, [sp, #32]
    stp x4, x5, [sp, #48]
    stp x6, x7, [sp, #64]
    ldp x2, x3, [sp, #112]
    ldp x4, x5, [sp, #128]
    stp x2, x3, [sp, #80]
    stp x4, x5, [sp, #96]
    mov w0, w16
    add x1, sp, #16
    bl recorder_call
    ldp x29, x30, [sp], #112
    .cfi_adjust_cfa_offset -112
    .cfi_restore x29
    .cfi_restore x30
    ret
    .cfi_endproc
    .size recorder_noted, .-recorder_noted
    .macro trampoline name
    .globl \name
    .type \name, %function
\name:
    .cfi_startproc
    hint #34
    mov w16, #trampoline_number
    adrp x17, recorder_targets
    add x17, x17, :lo12:recorder_targets
    ldr x17, [x17, x16, lsl #3]
    br x17
    .cfi_endproc
    .size \name, .-\name
    .set trampoline_number, trampoline_number+1
    .endm
#else
#error "the recorder has trampolines for x86-64 and aarch64 only"
#endif
    .hidden recorder_targets
    .set trampoline_number, 0
#define SYMBOL(name) trampoline name
#include "record/symbols.inc"
#undef SYMBOL
// Their addresses, in the same order.
    .section .data.rel.ro,"aw",%progbits
    .globl recorder_trampolines
    .hidden recorder_trampolines
    .balign 8
recorder_trampolines:
#define SYMBOL(name) .quad name
#include "record/symbols.inc"
    .section .note.GNU-stack,"",%progbits
