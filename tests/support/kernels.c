// SPDX-License-Identifier: Apache-2.0
// The kernels of the tests on the CPU.
#include "support/kernels.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "support/clock.h"
#include "support/kernels_source.h"

// Data is touched by plain loads and stores on purpose: ThreadSanitizer then sees every ordering
// that the library fails to make. Only what stands for a GPU's atomics is atomic, and relaxed, so
// that it orders nothing by itself.

static void wait_ns(uint64_t ns)
{
    if (!ns)
        return;
    uint64_t start = clock_now_ns();
    while (clock_now_ns() - start < ns)
        sched_yield();
}

// Waits for *flag; false when time runs out.
static bool wait_for(const uint32_t *flag, uint64_t timeout_ns)
{
    const _Atomic uint32_t *shared = (const _Atomic uint32_t *)flag;
    uint64_t start = clock_now_ns();
    while (!atomic_load_explicit(shared, memory_order_relaxed)) {
        if (clock_now_ns() - start > timeout_ns)
            return false;
        sched_yield();
    }
    return true;
}

static uint32_t add_atomic(uint32_t *to, uint32_t addend)
{
    return atomic_fetch_add_explicit((_Atomic uint32_t *)to, addend, memory_order_relaxed);
}

static void store_atomic(uint32_t *to, uint32_t value)
{
    atomic_store_explicit((_Atomic uint32_t *)to, value, memory_order_relaxed);
}

// Argument `index` of a kernel.
static uint32_t *pointer_arg(void *const *args, int index)
{
    return *(uint32_t *const *)args[index];
}

static uint64_t *pointer64_arg(void *const *args, int index)
{
    return *(uint64_t *const *)args[index];
}

static uint32_t arg(void *const *args, int index)
{
    return *(const uint32_t *)args[index];
}

static uint64_t arg64(void *const *args, int index)
{
    return *(const uint64_t *)args[index];
}

// Threads in x of the part of the grid that a call does, as a GPU's kernel would count them.
struct threads {
    uint64_t first, end, num;
};

static struct threads threads_of(const braid_blocks *blocks)
{
    return (struct threads){ blocks->begin * blocks->block.x, blocks->end * blocks->block.x,
                             (uint64_t)blocks->grid.x * blocks->block.x };
}

static void axpy(const braid_blocks *blocks, void *const *args)
{
    uint32_t *to = pointer_arg(args, 0);
    const uint32_t *from = pointer_arg(args, 1);
    uint32_t factor = arg(args, 2), addend = arg(args, 3), num = arg(args, 4);
    struct threads threads = threads_of(blocks);
    for (uint64_t thread = threads.first; thread < threads.end; thread++)
        for (uint64_t i = thread; i < num; i += threads.num)
            to[i] = from[i] * factor + addend;
}

static void add(const braid_blocks *blocks, void *const *args)
{
    uint32_t *to = pointer_arg(args, 0);
    const uint32_t *a = pointer_arg(args, 1), *b = pointer_arg(args, 2);
    uint32_t num = arg(args, 3);
    struct threads threads = threads_of(blocks);
    for (uint64_t thread = threads.first; thread < threads.end; thread++)
        for (uint64_t i = thread; i < num; i += threads.num)
            to[i] = a[i] + b[i];
}

static void busy(const braid_blocks *blocks, void *const *args)
{
    if (blocks->begin != 0)
        return;
    uint64_t *interval = pointer64_arg(args, 0);
    interval[0] = clock_now_ns();
    wait_ns(arg64(args, 1));
    interval[1] = clock_now_ns();
}

static void handshake(const braid_blocks *blocks, void *const *args)
{
    if (blocks->begin != 0)
        return;
    uint32_t *flags = pointer_arg(args, 0), *met = pointer_arg(args, 1);
    uint32_t me = arg(args, 2), other = arg(args, 3);
    store_atomic(&flags[me], 1);
    if (!wait_for(&flags[other], arg64(args, 4)))
        met[me] = 2;
    else if (met[me] != 2)
        met[me] = 1;
}

static void meet(const braid_blocks *blocks, void *const *args)
{
    bool is_whole = blocks->begin == 0 && blocks->end == blocks->grid.x;
    add_atomic(pointer_arg(args, 1) + !is_whole, (uint32_t)(blocks->end - blocks->begin));
}

static void gate(const braid_blocks *blocks, void *const *args)
{
    if (blocks->begin != 0)
        return;
    uint32_t *report = pointer_arg(args, 1);
    store_atomic(report, GATE_ENTERED);
    bool passed = wait_for(pointer_arg(args, 0), arg64(args, 2));
    store_atomic(report, passed ? GATE_PASSED : GATE_TIMED_OUT);
}

static void stamp(const braid_blocks *blocks, void *const *args)
{
    if (blocks->begin != 0)
        return;
    uint32_t *counter = pointer_arg(args, 0), *stamps = pointer_arg(args, 1);
    uint32_t index = arg(args, 2);
    // Two frames in flight have no last writer where they are not ordered.
    store_atomic(&stamps[2 * index], add_atomic(counter, 1) + 1);
    wait_ns(arg64(args, 3));
    store_atomic(&stamps[2 * index + 1], add_atomic(counter, 1) + 1);
}

static void keep(const braid_blocks *blocks, void *const *args)
{
    uint32_t *scratch = pointer_arg(args, 0), *to = pointer_arg(args, 1);
    uint32_t num = arg(args, 3);
    if (blocks->begin != 0)
        return;
    for (uint32_t i = 0; i < num; i++)
        scratch[i] = arg(args, 2) + i;
    wait_ns(arg64(args, 4));
    for (uint32_t i = 0; i < num; i++)
        to[i] = scratch[i];
}

static void expect(const braid_blocks *blocks, void *const *args)
{
    const uint32_t *seen = pointer_arg(args, 0);
    uint32_t value = arg(args, 2), factor = arg(args, 3), addend = arg(args, 4);
    struct threads threads = threads_of(blocks);
    for (uint64_t thread = threads.first; thread < threads.end; thread++)
        for (uint64_t i = thread; i < arg(args, 5); i += threads.num)
            if (seen[i] != (value + (uint32_t)i) * factor + addend)
                add_atomic(pointer_arg(args, 1), 1);
}

uint64_t test_mix_values(uint64_t a, uint64_t b)
{
    uint64_t value = (a ^ (b + 0x9e3779b97f4a7c15u)) * 0xff51afd7ed558ccdu;
    return (value ^ (value >> 33)) * 0xc4ceb9fe1a85ec53u;
}

void test_mix_run(uint64_t *cells, uint64_t *outputs, const uint32_t *words, uint32_t node,
                  uint32_t frame, uint64_t salt, uint64_t delay_ns)
{
    uint64_t value = test_mix_values(salt, frame);
    for (uint32_t left = *words++; left; left--)
        value = test_mix_values(value, outputs[*words++]);
    for (uint32_t left = *words++; left; left--)
        value = test_mix_values(value, cells[*words++]);
    wait_ns(delay_ns);
    for (uint32_t left = *words++; left; left--, words++)
        cells[*words] = test_mix_values(value, *words);
    outputs[node] = value;
}

static void mix(const braid_blocks *blocks, void *const *args)
{
    if (blocks->begin != 0)
        return;
    test_mix_run(pointer64_arg(args, 0), pointer64_arg(args, 1),
                 pointer_arg(args, 2) + arg(args, 3), arg(args, 4), *pointer_arg(args, 5),
                 arg64(args, 6), arg64(args, 7));
}

static void clear_list(const braid_blocks *blocks, void *const *args)
{
    if (blocks->begin == 0)
        pointer_arg(args, 0)[0] = 0;
}

static void generate_list(const braid_blocks *blocks, void *const *args)
{
    uint32_t *list = pointer_arg(args, 0);
    const uint32_t *mask = pointer_arg(args, 1);
    struct threads threads = threads_of(blocks);
    for (uint64_t thread = threads.first; thread < threads.end; thread++)
        for (uint64_t i = thread; i < arg(args, 2); i += threads.num)
            if (mask[i])
                list[1 + add_atomic(list, 1)] = (uint32_t)i;
}

static void generate_from_parent(const braid_blocks *blocks, void *const *args)
{
    uint32_t *list = pointer_arg(args, 0);
    const uint32_t *parent = pointer_arg(args, 1), *mask = pointer_arg(args, 2);
    uint32_t per_parent = arg(args, 3);
    struct threads threads = threads_of(blocks);
    for (uint64_t thread = threads.first; thread < threads.end; thread++)
        for (uint64_t i = thread; i < (uint64_t)parent[0] * per_parent; i += threads.num) {
            uint32_t cell = parent[1 + i / per_parent] * per_parent + (uint32_t)(i % per_parent);
            if (mask[cell])
                list[1 + add_atomic(list, 1)] = cell;
        }
}

static void loop_over_list(const braid_blocks *blocks, void *const *args)
{
    const uint32_t *list = pointer_arg(args, 0);
    uint32_t *to = pointer_arg(args, 1), addend = arg(args, 2);
    struct threads threads = threads_of(blocks);
    for (uint64_t thread = threads.first; thread < threads.end; thread++)
        for (uint64_t i = thread; i < list[0]; i += threads.num)
            to[list[1 + i]] += addend;
}

static void alone(const braid_blocks *blocks, void *const *args)
{
    if (blocks->begin == 0)
        pointer_arg(args, 0)[0] += arg(args, 1);
}

static void count_blocks(const braid_blocks *blocks, void *const *args)
{
    uint32_t *counts = pointer_arg(args, 0), *grid = pointer_arg(args, 1);
    for (uint64_t block = blocks->begin; block < blocks->end; block++)
        counts[block]++;
    if (blocks->begin)
        return;
    grid[0] = blocks->grid.x;
    grid[1] = blocks->grid.y;
    grid[2] = blocks->grid.z;
}

static const char alone_source[] =
    "extern \"C\" __global__ void test_alone(unsigned int *to, unsigned int addend)\n"
    "{\n"
    "    if (blockIdx.x == 0 && threadIdx.x == 0)\n"
    "        to[0] += addend;\n"
    "}\n";

const braid_kernel test_axpy = { .name = "test_axpy", .cpu = axpy, .source = test_kernels_source };
const braid_kernel test_add = { .name = "test_add", .cpu = add, .source = test_kernels_source };
const braid_kernel test_busy = { .name = "test_busy", .cpu = busy, .source = test_kernels_source };
const braid_kernel test_handshake = { .name = "test_handshake",
                                      .cpu = handshake,
                                      .source = test_kernels_source };
const braid_kernel test_meet = { .name = "test_meet", .cpu = meet, .source = test_kernels_source };
const braid_kernel test_gate = { .name = "test_gate", .cpu = gate, .source = test_kernels_source };
const braid_kernel test_stamp = { .name = "test_stamp",
                                  .cpu = stamp,
                                  .source = test_kernels_source };
const braid_kernel test_keep = { .name = "test_keep", .cpu = keep, .source = test_kernels_source };
const braid_kernel test_expect = { .name = "test_expect",
                                   .cpu = expect,
                                   .source = test_kernels_source };
const braid_kernel test_mix = { .name = "test_mix", .cpu = mix, .source = test_kernels_source };
const braid_kernel test_clear_list = { .name = "test_clear_list",
                                       .cpu = clear_list,
                                       .source = test_kernels_source };
const braid_kernel test_generate_list = { .name = "test_generate_list",
                                          .cpu = generate_list,
                                          .source = test_kernels_source };
const braid_kernel test_generate_from_parent = { .name = "test_generate_from_parent",
                                                 .cpu = generate_from_parent,
                                                 .source = test_kernels_source };
const braid_kernel test_loop_over_list = { .name = "test_loop_over_list",
                                           .cpu = loop_over_list,
                                           .source = test_kernels_source };
const braid_kernel test_count_blocks = { .name = "test_count_blocks",
                                         .cpu = count_blocks,
                                         .source = test_kernels_source };
const braid_kernel test_count_read_blocks = { .name = "test_count_blocks",
                                              .cpu = count_blocks,
                                              .source = test_kernels_source };
const braid_kernel test_alone = { .name = "test_alone", .cpu = alone, .source = alone_source };
