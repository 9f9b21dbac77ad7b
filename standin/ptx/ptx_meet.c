// SPDX-License-Identifier: Apache-2.0
// Where threads wait for each other: barriers of a block, and of the threads of a warp.
#include <string.h>

#include "operations.h"
#include "ptx_machine.h"

static uint64_t result_of(const struct barrier *barrier)
{
    if (code_has_part(barrier->first, PART_popc))
        return barrier->sum;
    return code_has_part(barrier->first, PART_and) ? barrier->sum == barrier->arrived
                                                   : barrier->sum;
}

static void release_barrier(struct block *block, size_t index)
{
    struct barrier *barrier = &block->barriers[index];
    const uint64_t result = result_of(barrier);
    for (unsigned i = 0; i < block->num; i++) {
        struct thread *thread = &block->threads[i];
        if (thread->state != AT_BARRIER || thread->barrier != index)
            continue;
        thread->state = RUNS;
        if (thread->result)
            machine_write(thread, thread->result,
                          code_has_part(barrier->first, PART_popc) ? result : result != 0);
    }
    *barrier = (struct barrier){ 0 };
}

static void check_barriers(struct block *block)
{
    for (size_t i = 0; i < NUM_BARRIERS; i++) {
        struct barrier *barrier = &block->barriers[i];
        unsigned wanted = barrier->wanted ? barrier->wanted : block->num - block->ended;
        if (barrier->arrived && barrier->arrived >= wanted)
            release_barrier(block, i);
    }
}

// Without their operands, and without .aligned.
static bool are_alike(const struct instruction *a, const struct instruction *b)
{
    static const enum part parts[] = { PART_red,    PART_popc, PART_or,  PART_and,
                                       PART_ballot, PART_any,  PART_all, PART_down,
                                       PART_up,     PART_bfly, PART_idx, PART_warp };
    uint32_t telling = 0;
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        telling |= UINT32_C(1) << parts[i];
    return a->operation == b->operation && ((a->parts ^ b->parts) & telling) == 0;
}

// barrier.red.OP d, index{, count}, p; barrier.sync index{, count}
void machine_barrier(struct run *run, struct thread *thread, const struct instruction *instruction)
{
    const bool is_red = code_has_part(instruction, PART_red);
    const struct operand *operands = instruction->operands + is_red;
    const size_t num = instruction->num_operands - 2 * (size_t)is_red;
    uint64_t index = machine_read(run, thread, &operands[0]);
    unsigned wanted = num > 1 ? (unsigned)machine_read(run, thread, &operands[1]) : 0;
    if (index >= NUM_BARRIERS || wanted % WARP) {
        machine_fail(run, thread, "a barrier that there is not");
        return;
    }
    struct barrier *barrier = &thread->block->barriers[index];
    if (barrier->arrived && barrier->wanted != wanted) {
        machine_fail(run, thread, "threads meet at one barrier with different counts");
        return;
    }
    if (barrier->arrived && (is_red || code_has_part(barrier->first, PART_red)) &&
        !are_alike(barrier->first, instruction)) {
        machine_fail(run, thread, "threads meet at one barrier in different ways");
        return;
    }
    barrier->first = instruction;
    barrier->arrived++;
    barrier->wanted = wanted;
    barrier->sum += is_red && (machine_read(run, thread, &operands[num]) & 1);
    if (!code_has_part(instruction, PART_arrive)) {
        thread->state = AT_BARRIER;
        thread->barrier = index;
        thread->result = is_red ? instruction->operands : NULL;
    }
    check_barriers(thread->block);
}

static struct thread *lane_of(const struct thread *thread, unsigned lane)
{
    unsigned index = thread->index / WARP * WARP + lane;
    return index < thread->block->num ? &thread->block->threads[index] : NULL;
}

// The second operand of the instruction that a thread is at: threads may meet at several.
static uint64_t given_by(const struct run *run, const struct thread *thread)
{
    return machine_read(run, thread, &run->code->instructions[thread->at].operands[1]);
}

// shfl.sync.MODE d|p, a, b, c
static uint64_t shuffle(const struct run *run, const struct thread *thread,
                        const struct instruction *instruction, bool *out_inside)
{
    unsigned lane = thread->index % WARP;
    uint64_t b = machine_read(run, thread, &instruction->operands[2]);
    uint64_t c = machine_read(run, thread, &instruction->operands[3]);
    unsigned segment = (unsigned)(c >> 8 & 31), clamp = (unsigned)(c & 31), by = (unsigned)(b & 31);
    unsigned most = (lane & segment) | (clamp & ~segment), least = lane & segment, from;
    if (code_has_part(instruction, PART_up)) {
        from = lane - by;
        *out_inside = (int)from >= (int)most;
    } else if (code_has_part(instruction, PART_down)) {
        from = lane + by;
        *out_inside = from <= most;
    } else {
        from = code_has_part(instruction, PART_bfly) ? lane ^ by : least | (by & ~segment);
        *out_inside = from <= most;
    }
    const struct thread *other = lane_of(thread, *out_inside ? from : lane);
    return given_by(run, other && other->state == AT_WARP ? other : thread);
}

static uint64_t vote(const struct run *run, const struct thread *thread,
                     const struct instruction *instruction)
{
    uint32_t ballot = 0, all = thread->mask;
    for (unsigned lane = 0; lane < WARP; lane++) {
        const struct thread *other = lane_of(thread, lane);
        bool counts = other && (all >> lane & 1);
        if (counts && (given_by(run, other) & 1))
            ballot |= UINT32_C(1) << lane;
    }
    if (code_has_part(instruction, PART_ballot))
        return ballot;
    return code_has_part(instruction, PART_all) ? ballot == all : ballot != 0;
}

// match.any: the threads that give the same value.
static uint64_t match(const struct run *run, const struct thread *thread)
{
    uint32_t alike = 0;
    for (unsigned lane = 0; lane < WARP; lane++) {
        const struct thread *other = thread->mask >> lane & 1 ? lane_of(thread, lane) : NULL;
        if (other && given_by(run, other) == given_by(run, thread))
            alike |= UINT32_C(1) << lane;
    }
    return alike;
}

static uint64_t meet(const struct run *run, const struct thread *thread, bool *out_inside)
{
    const struct instruction *instruction = &run->code->instructions[thread->at];
    *out_inside = true;
    if (instruction->operation == OP_shfl)
        return shuffle(run, thread, instruction, out_inside);
    if (instruction->operation == OP_match)
        return match(run, thread);
    return instruction->operation == OP_vote ? vote(run, thread, instruction) : 0;
}

// All that the mask names are here: first all read, then all write and go on.
static void release_warp(const struct run *run, struct thread *thread)
{
    uint64_t results[WARP] = { 0 };
    bool inside[WARP];
    uint32_t mask = thread->mask;
    for (unsigned lane = 0; lane < WARP; lane++)
        if (mask >> lane & 1)
            results[lane] = meet(run, lane_of(thread, lane), &inside[lane]);
    for (unsigned lane = 0; lane < WARP; lane++) {
        if (!(mask >> lane & 1))
            continue;
        struct thread *other = lane_of(thread, lane);
        const struct instruction *instruction = &run->code->instructions[other->at];
        const struct operand *to = &instruction->operands[0];
        if (to->kind == OPERAND_VECTOR) {
            other->registers[to->parts[0]] = results[lane];
            other->registers[to->parts[1]] = inside[lane];
        } else if (instruction->operation == OP_shfl || instruction->operation == OP_vote ||
                   instruction->operation == OP_match) {
            machine_write(other, to, results[lane]);
        }
        other->state = RUNS;
        other->at++;
    }
}

void machine_warp(struct run *run, struct thread *thread, const struct operand *mask)
{
    const struct instruction *instructions = run->code->instructions;
    uint32_t wanted = (uint32_t)machine_read(run, thread, mask), all = 0;
    for (unsigned lane = 0; lane < WARP; lane++) {
        const struct thread *other = lane_of(thread, lane);
        all |= (uint32_t)(other && other->state != ENDED) << lane;
    }
    thread->state = AT_WARP;
    thread->mask = wanted & all;
    for (unsigned lane = 0; lane < WARP; lane++) {
        const struct thread *other = thread->mask >> lane & 1 ? lane_of(thread, lane) : NULL;
        if (other && (other->state != AT_WARP ||
                      !are_alike(&instructions[other->at], &instructions[thread->at])))
            return;
    }
    for (unsigned lane = 0; lane < WARP; lane++)
        if (thread->mask >> lane & 1)
            lane_of(thread, lane)->mask = thread->mask;
    release_warp(run, thread);
}

// Threads that wait for it look anew who is there.
void machine_end(struct thread *thread)
{
    thread->state = ENDED;
    thread->block->ended++;
    for (unsigned lane = 0; lane < WARP; lane++) {
        struct thread *other = lane_of(thread, lane);
        if (other && other->state == AT_WARP)
            other->state = RUNS;
    }
    check_barriers(thread->block);
}
