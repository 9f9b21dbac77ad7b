// SPDX-License-Identifier: Apache-2.0
// Forwarding a call whatever its signature: keep every argument register, ask where to go, go there.
//
// A generated trampoline puts its number into a scratch register and jumps here. This saves all
// registers that can carry arguments, calls interpose_enter(number, &code), restores them, and
// jumps to the address it got: arguments on the stack are where the callee expects them, because
// by then nothing is pushed any more. An address of zero means: return code.
    .text
    .globl interpose_forward
    .hidden interpose_forward
    .hidden interpose_enter
#if defined(__x86_64__)
// The System V ABI passes arguments in rdi rsi rdx rcx r8 r9 and xmm0-7. al, the number of vector
// registers of a variadic call, is lost: no interposed function is variadic. At entry the stack is
// 8 off a multiple of 16; 200 bytes more make it one, as a call requires.
    .type interpose_forward, @function
interpose_forward:
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
    movl %eax, %edi
    leaq 184(%rsp), %rsi
    call interpose_enter
    movq %rax, %r11
    movl 184(%rsp), %eax
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
    addq $200, %rsp
    .cfi_adjust_cfa_offset -200
    testq %r11, %r11
    jz 1f
    jmpq *%r11
1:  ret
    .cfi_endproc
    .size interpose_forward, .-interpose_forward
#elif defined(__aarch64__)
// AAPCS64 passes arguments in x0-x7 and v0-v7, and the place of a large result in x8.
    .type interpose_forward, %function
interpose_forward:
    .cfi_startproc
    stp x29, x30, [sp, #-240]!
    .cfi_adjust_cfa_offset 240
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
    mov w0, w16
    add x1, sp, #224
    bl interpose_enter
    mov x16, x0
    ldr w17, [sp, #224]
    ldp x0, x1, [sp, #16]
    ldp x2, x3, [sp, #32]
    ldp x4, x5, [sp, #48]
    ldp x6, x7, [sp, #64]
    ldr x8, [sp, #80]
    ldp q0, q1, [sp, #96]
    ldp q2, q3, [sp, #128]
    ldp q4, q5, [sp, #160]
    ldp q6, q7, [sp, #192]
    ldp x29, x30, [sp], #240
    .cfi_adjust_cfa_offset -240
    .cfi_restore x29
    .cfi_restore x30
    cbz x16, 1f
    br x16
1:  mov w0, w17
    ret
    .cfi_endproc
    .size interpose_forward, .-interpose_forward
#else
#error "the interposer has trampolines for x86-64 and aarch64 only"
#endif
    .section .note.GNU-stack,"",%progbits
