// SPDX-License-Identifier: Apache-2.0
// Runs an entry: all threads of all blocks by turns, a few instructions each.
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "operations.h"
#include "ptx_machine.h"

enum { MOST_TURN = 12, MOST_ROUNDS = 100000 };

// ---- instructions ----

static unsigned char *param_of(const struct thread *thread, const struct instruction *instruction,
                               size_t operand)
{
    return thread->local + (instruction->operands[operand].value - CODE_FIRST_LOCAL);
}

// cudaGraphSetConditional(handle, value). The driver's other function, vprintf, prints nothing
// here.
static void set_condition(struct run *run, struct thread *thread,
                          const struct instruction *instruction)
{
    uint64_t handle;
    uint32_t value;
    memcpy(&handle, param_of(thread, instruction, 0), sizeof(handle));
    memcpy(&value, param_of(thread, instruction, 1), sizeof(value));
    if (!run->grid->set_condition || !run->grid->set_condition(handle, value))
        machine_fail(run, thread, "a condition of no loop");
}

static bool is_inside(const struct run *run, const struct thread *thread, size_t callee)
{
    for (size_t i = 0; i < thread->num_calls; i++)
        if (run->code->instructions[thread->calls[i]].callee == callee)
            return true;
    return false;
}

// False: the thread is in the function now.
static bool call(struct run *run, struct thread *thread, const struct instruction *instruction)
{
    if (instruction->callee == CODE_SETS_CONDITION)
        set_condition(run, thread, instruction);
    if (instruction->callee == CODE_SETS_CONDITION || instruction->callee == CODE_PRINTS)
        return true;
    const bool is_by_pointer = instruction->callee == CODE_BY_POINTER;
    const struct function *callee =
        is_by_pointer ? NULL : &run->code->functions[instruction->callee];
    if (!callee || callee->first == SIZE_MAX) {
        machine_fail(run, thread, "a call of a function that the text does not have");
        return true;
    }
    if (thread->num_calls == CODE_MOST_CALLS || is_inside(run, thread, instruction->callee)) {
        machine_fail(run, thread, "a function that calls itself, or too many in each other");
        return true;
    }
    for (size_t i = instruction->takes_result; i < callee->num_params; i++)
        memcpy(thread->local + callee->params[i].offset, param_of(thread, instruction, i),
               callee->params[i].bytes);
    thread->calls[thread->num_calls++] = thread->at;
    thread->at = callee->first;
    return false;
}

// From a function to behind its call, or the end of the thread.
static void leave(const struct run *run, struct thread *thread)
{
    if (thread->num_calls == 0) {
        machine_end(thread);
        return;
    }
    thread->at = thread->calls[--thread->num_calls];
    const struct instruction *instruction = &run->code->instructions[thread->at];
    const struct function *callee = &run->code->functions[instruction->callee];
    if (instruction->takes_result)
        memcpy(param_of(thread, instruction, 0), thread->local + callee->params[0].offset,
               callee->params[0].bytes);
    thread->at++;
}

// The stand-in has only copies in bulk into the cache.
static void fetch(struct run *run, struct thread *thread, const struct instruction *instruction)
{
    uint64_t address = machine_read(run, thread, &instruction->operands[0]);
    uint64_t bytes = machine_read(run, thread, &instruction->operands[1]);
    if (!run->grid->fetch || !code_has_part(instruction, PART_prefetch) || address % 16 ||
        bytes % 16)
        machine_fail(run, thread, "a copy that the stand-in does not have");
    else
        run->grid->fetch(address, bytes);
}

static void jump(struct run *run, struct thread *thread, const struct instruction *instruction)
{
    const struct operand *to = &instruction->operands[0];
    if (instruction->operation == OP_bra && to->kind == OPERAND_LABEL) {
        thread->at = to->index;
        return;
    }
    const struct operand *list = &instruction->operands[1];
    uint64_t which = machine_read(run, thread, to);
    if (list->kind != OPERAND_TARGETS || which >= run->code->targets[list->index].num)
        machine_fail(run, thread, "a branch to no label");
    else
        thread->at = run->code->targets[list->index].labels[which];
}

static void compute(struct run *run, struct thread *thread, const struct instruction *instruction)
{
    uint64_t values[4] = { 0 }, result = 0;
    const struct operand *to = &instruction->operands[0];
    for (size_t i = 1; i < instruction->num_operands && i <= 4; i++)
        values[i - 1] = machine_read(run, thread, &instruction->operands[i]);
    if (!arithmetic_run(instruction, values, &result))
        machine_fail(run, thread, "an operation that the stand-in does not have");
    else if (to->kind == OPERAND_VECTOR) { // setp p|q
        thread->registers[to->parts[0]] = result & 1;
        thread->registers[to->parts[1]] = !(result & 1);
    } else
        machine_write(thread, to, result);
}

// mov of a vector packs or unpacks equal parts.
static void move(struct run *run, struct thread *thread, const struct instruction *instruction)
{
    const struct operand *to = &instruction->operands[0], *from = &instruction->operands[1];
    size_t num = to->kind == OPERAND_VECTOR ? to->num_parts : from->num_parts;
    int bits = num ? instruction->type.bits / (int)num : 0;
    uint64_t value = from->kind == OPERAND_VECTOR ? 0 : machine_read(run, thread, from);
    for (size_t i = 0; from->kind == OPERAND_VECTOR && i < num; i++)
        value |= (machine_read_part(run, thread, from->parts[i]) & ((UINT64_C(1) << bits) - 1))
                 << i * (size_t)bits;
    if (to->kind != OPERAND_VECTOR)
        machine_write(thread, to, value);
    for (size_t i = 0; to->kind == OPERAND_VECTOR && i < num; i++)
        if (to->parts[i] < CODE_NUMBER)
            thread->registers[to->parts[i]] =
                value >> i * (size_t)bits & ((UINT64_C(1) << bits) - 1);
}

// False: the thread stays at its instruction, or has gone elsewhere.
static bool run_control(struct run *run, struct thread *thread,
                        const struct instruction *instruction)
{
    switch (instruction->operation) {
    case OP_bra:
    case OP_brx:
        jump(run, thread, instruction);
        return false;
    case OP_call:
        return call(run, thread, instruction);
    case OP_ret:
        leave(run, thread);
        return false;
    case OP_exit:
        machine_end(thread);
        return false;
    case OP_trap:
        machine_fail(run, thread, "a trap");
        return false;
    case OP_shfl:
        machine_warp(run, thread, &instruction->operands[4]);
        return false;
    case OP_vote:
    case OP_match:
        machine_warp(run, thread, &instruction->operands[2]);
        return false;
    case OP_bar:
    case OP_barrier:
        if (code_has_part(instruction, PART_warp)) {
            machine_warp(run, thread, &instruction->operands[0]);
            return false;
        }
        machine_barrier(run, thread, instruction);
        return true;
    default:
        return true;
    }
}

static void run_data(struct run *run, struct thread *thread, const struct instruction *instruction)
{
    switch (instruction->operation) {
    case OP_ld:
    case OP_ldu:
        machine_load(run, thread, instruction);
        break;
    case OP_st:
        machine_store(run, thread, instruction);
        break;
    case OP_atom:
    case OP_red:
        machine_atomic(run, thread, instruction);
        break;
    case OP_cp:
        fetch(run, thread, instruction);
        break;
    case OP_mov:
        move(run, thread, instruction);
        break;
    case OP_cvta:
        machine_write(thread, &instruction->operands[0],
                      machine_address(run, thread, instruction,
                                      machine_read(run, thread, &instruction->operands[1])));
        break;
    case OP_nanosleep: // at most a millisecond
        nanosleep(
            &(struct timespec){
                .tv_nsec = (long)(machine_read(run, thread, &instruction->operands[0]) % 1000001) },
            NULL);
        break;
    case OP_activemask: // threads of a warp may always run one by one
        machine_write(thread, &instruction->operands[0], UINT64_C(1) << thread->index % WARP);
        break;
    case OP_bar:
    case OP_barrier:
    case OP_membar:
    case OP_fence:
    case OP_pmevent:
    case OP_griddepcontrol:
    case OP_prefetch:
    case OP_call:
        break;
    default:
        compute(run, thread, instruction);
    }
}

static void step(struct run *run, struct thread *thread)
{
    const struct code *code = run->code;
    if (thread->at >= code->num) {
        machine_end(thread);
        return;
    }
    const struct instruction *instruction = &code->instructions[thread->at];
    bool skips = instruction->guard != CODE_NO_REGISTER &&
                 (thread->registers[instruction->guard] & 1) == instruction->guard_negated;
    if (!skips && !run_control(run, thread, instruction))
        return;
    if (!skips)
        run_data(run, thread, instruction);
    thread->at++;
}

// ---- all threads ----

static uint64_t next_random(struct run *run)
{
    run->random = run->random * UINT64_C(6364136223846793005) + 1442695040888963407;
    return run->random >> 33;
}

static bool turn(struct run *run, struct thread *thread)
{
    uint64_t num = 1 + next_random(run) % MOST_TURN;
    bool ran = thread->state == RUNS;
    for (uint64_t i = 0; i < num && thread->state == RUNS && !run->failed; i++)
        step(run, thread);
    return ran;
}

static bool run_round(struct run *run)
{
    bool ran = false;
    for (size_t i = 0; i < run->num_blocks && !run->failed; i++) {
        struct block *block = &run->blocks[i];
        unsigned first = (unsigned)(next_random(run) % block->num);
        for (unsigned j = 0; j < block->num && block->ended < block->num; j++)
            ran |= turn(run, &block->threads[(first + j) % block->num]);
    }
    return ran;
}

static void run_all(struct run *run)
{
    bool ran = true;
    for (long rounds = 0; ran && !run->failed; rounds++) {
        ran = run_round(run);
        if (rounds == MOST_ROUNDS)
            machine_fail(run, &run->blocks[0].threads[0], "it does not end");
    }
    for (size_t i = 0; i < run->num_blocks && !run->failed; i++)
        for (unsigned j = 0; j < run->blocks[i].num; j++)
            if (run->blocks[i].threads[j].state != ENDED)
                machine_fail(run, &run->blocks[i].threads[j], "threads wait for each other");
}

static bool create_block(struct run *run, struct block *block, size_t index)
{
    const struct grid *grid = run->grid;
    const struct code *code = run->code;
    const unsigned *size = grid->block;
    const size_t num_registers = code->num_registers + 1,
                 local_bytes = (code->local_bytes + 31) / 16 * 16;
    block->num = size[0] * size[1] * size[2];
    block->ctaid[0] = (unsigned)(index % grid->grid[0]);
    block->ctaid[1] = (unsigned)(index / grid->grid[0] % grid->grid[1]);
    block->ctaid[2] = (unsigned)(index / grid->grid[0] / grid->grid[1]);
    block->shared = calloc(code->shared_bytes + grid->shared_bytes + 16, 1);
    block->threads = calloc(block->num, sizeof(*block->threads));
    block->registers = calloc(block->num * num_registers, sizeof(*block->registers));
    block->local = calloc(block->num, local_bytes);
    if (!block->shared || !block->threads || !block->registers || !block->local)
        return false;
    memset(block->shared, 0xa5, code->shared_bytes + grid->shared_bytes);
    for (unsigned i = 0; i < block->num; i++) {
        struct thread *thread = &block->threads[i];
        *thread = (struct thread){ .index = i,
                                   .block = block,
                                   .registers = block->registers + i * num_registers,
                                   .local = block->local + i * local_bytes };
        thread->tid[0] = i % size[0];
        thread->tid[1] = i / size[0] % size[1];
        thread->tid[2] = i / size[0] / size[1];
    }
    return true;
}

static void destroy_block(struct block *block)
{
    free(block->registers);
    free(block->local);
    free(block->threads);
    free(block->shared);
}

bool code_run(const struct code *code, const struct grid *grid, struct text *error)
{
    struct run run = { .code = code, .grid = grid, .error = error, .random = grid->seed };
    run.num_blocks = (size_t)grid->grid[0] * grid->grid[1] * grid->grid[2];
    run.blocks = calloc(run.num_blocks, sizeof(*run.blocks));
    bool created = run.blocks != NULL;
    for (size_t i = 0; created && i < run.num_blocks; i++)
        created = create_block(&run, &run.blocks[i], i);
    if (created)
        run_all(&run);
    else
        text_add(error, "no memory");
    for (size_t i = 0; run.blocks && i < run.num_blocks; i++)
        destroy_block(&run.blocks[i]);
    free(run.blocks);
    return created && !run.failed;
}
