// SPDX-License-Identifier: Apache-2.0
// What a thread reads and writes: operands, memory, atomics.
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "operations.h"
#include "ptx_machine.h"

void machine_fail(struct run *run, const struct thread *thread, const char *why)
{
    const struct instruction *instruction = &run->code->instructions[thread->at];
    if (!run->failed)
        text_add(run->error, "line %d: %s", instruction->line, why);
    run->failed = true;
}

// ---- operands ----

uint64_t machine_read_special(const struct run *run, const struct thread *thread, size_t index)
{
    struct timespec time;
    switch (index) {
    case SPECIAL_LANEID:
        return thread->index % WARP;
    case SPECIAL_WARPID:
        return thread->index / WARP;
    case SPECIAL_SMID:
        return thread->block->ctaid[0] % 4;
    case SPECIAL_TIMER:
    case SPECIAL_CLOCK:
        clock_gettime(CLOCK_MONOTONIC, &time);
        return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
    case SPECIAL_DYNAMIC_SHARED:
        return run->code->shared_bytes;
    default:
        return index >= SPECIAL_NCTAID  ? run->grid->grid[index - SPECIAL_NCTAID]
               : index >= SPECIAL_CTAID ? thread->block->ctaid[index - SPECIAL_CTAID]
               : index >= SPECIAL_NTID  ? run->grid->block[index - SPECIAL_NTID]
                                        : thread->tid[index];
    }
}

// ---- memory ----

// The address may be anywhere, since kernels are random.
static unsigned char *moved(const void *base, uint64_t bytes)
{
    return (unsigned char *)((uintptr_t)base + bytes);
}

static unsigned char *address_of(const struct run *run, const struct thread *thread,
                                 const struct instruction *instruction,
                                 const struct operand *operand)
{
    uint64_t address = operand->value;
    if (operand->kind == OPERAND_REGISTER)
        address += thread->registers[operand->index];
    else if (operand->kind == OPERAND_SPECIAL)
        address += machine_read_special(run, thread, operand->index);
    switch (instruction->space) {
    case SPACE_SHARED:
        return moved(thread->block->shared, (uint32_t)address);
    case SPACE_LOCAL:
        return moved(thread->local, (uint32_t)address);
    case SPACE_PARAM:
        if (address >= CODE_FIRST_LOCAL)
            return moved(thread->local, (uint32_t)(address - CODE_FIRST_LOCAL));
        return moved(run->grid->arguments, address - CODE_FIRST_PARAM);
    default:
        return (unsigned char *)(uintptr_t)address;
    }
}

static bool is_in(const unsigned char *at, size_t bytes, const void *memory, size_t num)
{
    const uintptr_t begin = (uintptr_t)memory, first = (uintptr_t)at;
    return first >= begin && first - begin <= num && num - (first - begin) >= bytes;
}

// NULL: there is no such memory, and the run has failed.
static unsigned char *find_memory(struct run *run, const struct thread *thread,
                                  const struct instruction *instruction,
                                  const struct operand *operand, bool writes)
{
    const size_t bytes = (size_t)instruction->type.bits / 8 * (size_t)instruction->width;
    const struct code *code = run->code;
    const struct grid *grid = run->grid;
    unsigned char *at = address_of(run, thread, instruction, operand);
    if (!grid->touch ||
        is_in(at, bytes, thread->block->shared, code->shared_bytes + grid->shared_bytes) ||
        is_in(at, bytes, thread->local, code->local_bytes) ||
        (!writes && is_in(at, bytes, grid->arguments, CODE_MOST_ARGUMENTS)))
        return at;
    // Memory of the device is reached by addresses of its own only.
    const bool is_of_device = instruction->space != SPACE_SHARED &&
                              instruction->space != SPACE_LOCAL &&
                              instruction->space != SPACE_PARAM;
    if (is_of_device && grid->touch((uintptr_t)at, bytes, writes))
        return at;
    machine_fail(run, thread, "an access to no memory");
    return NULL;
}

// Little-endian, as the device is. The host may write words while a device reads them, and read
// them while the device writes.
static uint64_t load(const unsigned char *from, const struct type *type)
{
    uint64_t value = 0;
    if (type->bits == 32 && (uintptr_t)from % 4 == 0)
        value = atomic_load_explicit((const atomic_uint *)(const void *)from, memory_order_relaxed);
    else if (type->bits == 64 && (uintptr_t)from % 8 == 0)
        value = atomic_load_explicit((const _Atomic uint64_t *)(const void *)from,
                                     memory_order_relaxed);
    else
        memcpy(&value, from, (size_t)type->bits / 8);
    if (type->kind == 's' && type->bits < 64)
        value = (uint64_t)((int64_t)(value << (64 - type->bits)) >> (64 - type->bits));
    return value;
}

void machine_load(struct run *run, struct thread *thread, const struct instruction *instruction)
{
    const struct operand *to = &instruction->operands[0];
    const unsigned char *from =
        find_memory(run, thread, instruction, &instruction->operands[1], false);
    if (!from)
        return;
    if (to->kind != OPERAND_VECTOR)
        machine_write(thread, to, load(from, &instruction->type));
    for (size_t i = 0; i < to->num_parts; i++)
        if (to->parts[i] < CODE_NUMBER)
            thread->registers[to->parts[i]] =
                load(from + i * (size_t)instruction->type.bits / 8, &instruction->type);
}

static void store(unsigned char *to, uint64_t value, size_t bytes)
{
    if (bytes == 4 && (uintptr_t)to % 4 == 0)
        atomic_store_explicit((atomic_uint *)(void *)to, (unsigned)value, memory_order_relaxed);
    else if (bytes == 8 && (uintptr_t)to % 8 == 0)
        atomic_store_explicit((_Atomic uint64_t *)(void *)to, value, memory_order_relaxed);
    else
        memcpy(to, &value, bytes);
}

void machine_store(struct run *run, struct thread *thread, const struct instruction *instruction)
{
    const struct operand *from = &instruction->operands[1];
    unsigned char *to = find_memory(run, thread, instruction, &instruction->operands[0], true);
    size_t bytes = (size_t)instruction->type.bits / 8;
    if (!to)
        return;
    uint64_t value = from->kind == OPERAND_VECTOR ? 0 : machine_read(run, thread, from);
    if (from->kind != OPERAND_VECTOR)
        store(to, value, bytes);
    for (size_t i = 0; i < from->num_parts; i++)
        store(to + i * bytes, machine_read_part(run, thread, from->parts[i]), bytes);
}

// What an atomic operation leaves in memory that held `old`.
static uint64_t combine(const struct instruction *instruction, uint64_t old, uint64_t a, uint64_t b)
{
    static const struct {
        enum part part;
        int operation;
    } names[] = { { PART_add, OP_add }, { PART_min, OP_min }, { PART_max, OP_max },
                  { PART_and, OP_and }, { PART_or, OP_or },   { PART_xor, OP_xor } };
    struct instruction plain = *instruction;
    const uint64_t values[4] = { old, a };
    uint64_t result = a;
    uint64_t most = instruction->type.bits == 64 ? UINT64_MAX : UINT32_MAX;
    if (code_has_part(instruction, PART_cas))
        return ((old ^ a) & most) == 0 ? b : old;
    if (code_has_part(instruction, PART_inc))
        return (old & most) >= (a & most) ? 0 : old + 1;
    if (code_has_part(instruction, PART_dec))
        return old == 0 || (old & most) > (a & most) ? a : old - 1;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        plain.operation = names[i].operation;
        plain.parts = 0;
        if (code_has_part(instruction, names[i].part))
            arithmetic_run(&plain, values, &result);
    }
    return result;
}

void machine_atomic(struct run *run, struct thread *thread, const struct instruction *instruction)
{
    bool gives = instruction->operation == OP_atom;
    const struct operand *operands = instruction->operands + gives;
    unsigned char *at = find_memory(run, thread, instruction, &operands[0], true);
    if (!at)
        return;
    struct type bits = { 'b', instruction->type.bits };
    uint64_t old = load(at, &bits);
    uint64_t value = combine(instruction, old, machine_read(run, thread, &operands[1]),
                             machine_read(run, thread, &operands[2]));
    store(at, value, (size_t)bits.bits / 8);
    if (gives)
        machine_write(thread, &instruction->operands[0], old);
}

// Shared and local memory have addresses of their own, and are somewhere in the one of all.
uint64_t machine_address(const struct run *run, const struct thread *thread,
                         const struct instruction *instruction, uint64_t value)
{
    const unsigned char *base = instruction->space == SPACE_SHARED  ? thread->block->shared
                                : instruction->space == SPACE_LOCAL ? thread->local
                                : instruction->space == SPACE_PARAM
                                    ? (const unsigned char *)run->grid->arguments - CODE_FIRST_PARAM
                                    : NULL;
    bool to = code_has_part(instruction, PART_to);
    return to ? value - (uintptr_t)base : value + (uintptr_t)base;
}
