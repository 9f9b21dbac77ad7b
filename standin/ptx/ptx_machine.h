// SPDX-License-Identifier: Apache-2.0
// Threads of blocks as they run: registers, memory, and where they wait for each other.
#ifndef BRAID_STANDIN_PTX_MACHINE_H
#define BRAID_STANDIN_PTX_MACHINE_H

#include "ptx_run.h"

enum { WARP = 32, NUM_BARRIERS = 16 };

enum state { RUNS, AT_BARRIER, AT_WARP, ENDED };

struct thread {
    uint64_t *registers;
    unsigned char *local;
    size_t at;                                // the next instruction
    size_t calls[CODE_MOST_CALLS], num_calls; // that it is in: their instructions
    enum state state;
    size_t barrier;               // that it waits at
    const struct operand *result; // where that barrier writes; NULL: nowhere
    uint32_t mask;                // the warp's threads that it waits for
    unsigned index;               // in its block
    unsigned tid[3];
    struct block *block;
};

struct barrier {
    unsigned arrived, wanted;
    const struct instruction *first; // by which a thread arrived
    unsigned sum;                    // threads whose predicate is true
};

struct block {
    struct thread *threads;
    unsigned num, ended;
    unsigned ctaid[3];
    uint64_t *registers; // one thread's behind the other's, as in local
    unsigned char *shared, *local;
    struct barrier barriers[NUM_BARRIERS];
};

struct run {
    const struct code *code;
    const struct grid *grid;
    struct block *blocks;
    size_t num_blocks;
    struct text *error;
    bool failed;
    uint64_t random;
};

void machine_fail(struct run *run, const struct thread *thread, const char *why);

uint64_t machine_read_special(const struct run *run, const struct thread *thread, size_t index);

static inline uint64_t machine_read(const struct run *run, const struct thread *thread,
                                    const struct operand *operand)
{
    uint64_t value = operand->value;
    if (operand->kind == OPERAND_REGISTER)
        value = thread->registers[operand->index];
    else if (operand->kind == OPERAND_SPECIAL)
        value = machine_read_special(run, thread, operand->index);
    return operand->negated ? !(value & 1) : value;
}

static inline void machine_write(struct thread *thread, const struct operand *operand,
                                 uint64_t value)
{
    if (operand->kind == OPERAND_REGISTER)
        thread->registers[operand->index] = value;
}

// A register of a vector, or a number in it.
static inline uint64_t machine_read_part(const struct run *run, const struct thread *thread,
                                         uint32_t part)
{
    return part >= CODE_NUMBER ? run->code->numbers[part - CODE_NUMBER] : thread->registers[part];
}

void machine_load(struct run *run, struct thread *thread, const struct instruction *instruction);
void machine_store(struct run *run, struct thread *thread, const struct instruction *instruction);
void machine_atomic(struct run *run, struct thread *thread, const struct instruction *instruction);
// Shared and local memory have addresses of their own, and are somewhere in the one of all.
uint64_t machine_address(const struct run *run, const struct thread *thread,
                         const struct instruction *instruction, uint64_t value);

// Waits at a barrier of the block, or for the warp's threads that the mask names.
void machine_barrier(struct run *run, struct thread *thread, const struct instruction *instruction);
void machine_warp(struct run *run, struct thread *thread, const struct operand *mask);
void machine_end(struct thread *thread);

#endif
