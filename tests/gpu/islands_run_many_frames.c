// SPDX-License-Identifier: Apache-2.0
// An island runs many frames in one launch, each with its own arguments, and after a fault it names
// the nodes that were running.
//
// A host function stands for the island's kernel: it walks the words that the kernel would read,
// lane after lane as far as each goes, and notes where it is as the kernel does.
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/gpu_testing.h"
#include "support/check.h"

enum { CHAINS = 3, CHAIN = 3, MOST_LANES = 8, MOST_VALUES = 3000, TRAPPED = 719 };

#define SOURCE "extern \"C\" __global__ void island_push(unsigned *list, unsigned value) {}\n"
static const braid_kernel push = { .name = "island_push", .source = SOURCE };

typedef void kernel_function(const unsigned grid[3], const unsigned block[3], unsigned shared_bytes,
                             void **args);
BRAID_API kernel_function braid_standin_island_push, braid_standin_braid_island;

static unsigned num_launches, num_faults;
static unsigned trap_at;     // the value whose node traps; 0: none
static atomic_bool may_trap; // it waits for this

struct lane {
    const uint32_t *units, *waits;
    uint32_t first, next, end, told;
};

struct walk {
    struct lane lanes[MOST_LANES];
    uint32_t num_lanes;
    _Atomic uint32_t *notes;
    bool trapped; // the lane at hand
};

// list[0] counts what stands behind it.
static void push_value(struct walk *walk, unsigned *list, unsigned value)
{
    walk->trapped = trap_at && value == trap_at;
    if (!walk->trapped)
        list[++list[0]] = value;
}

void braid_standin_island_push(const unsigned grid[3], const unsigned block[3],
                               unsigned shared_bytes, void **args)
{
    struct walk walk = { .num_lanes = 0 };
    (void)grid, (void)block, (void)shared_bytes;
    push_value(&walk, *(unsigned **)args[0], *(unsigned *)args[1]);
}

static bool may_go(const struct walk *walk, const struct lane *lane, const uint32_t *call)
{
    uint32_t num = call[0] >> 16 & 0x7fff;
    for (uint32_t i = 0; i < num; i++) {
        uint32_t wait = num <= 2 ? call[2 + i] : lane->waits[call[2] + i];
        if (walk->lanes[wait >> 20].told < (wait & 0xfffff))
            return false;
    }
    return true;
}

static void note(const struct walk *walk, uint32_t index, uint32_t state)
{
    const struct lane *lane = &walk->lanes[index];
    if (walk->notes)
        atomic_store_explicit(&walk->notes[index], 2 * (lane->next - lane->first) + state,
                              memory_order_relaxed);
}

// Goes on with a lane until it waits, ends or traps. Whether it has moved.
static bool go_on(struct walk *walk, uint32_t index, const unsigned char *args)
{
    struct lane *lane = &walk->lanes[index];
    uint32_t begin = lane->next;
    for (; lane->next < lane->end; lane->next++) {
        const uint32_t *call = lane->units + (size_t)4 * lane->next;
        const uint32_t *shape = lane->units + (size_t)12 * (call[0] & 0xffff);
        note(walk, index, 1);
        if (!may_go(walk, lane, call))
            return lane->next != begin;
        note(walk, index, 2);
        unsigned *list, value;
        memcpy(&list, args + call[1], sizeof(list));
        memcpy(&value, args + call[1] + 8, sizeof(value));
        if (shape[1])
            push_value(walk, list, value);
        if (walk->trapped) {
            while (!atomic_load(&may_trap))
                sched_yield();
            num_faults++;
            walk->trapped = false;
            lane->end = lane->next; // it stays where it is
            return true;
        }
        lane->told += call[0] >> 31;
    }
    if (lane->next == lane->end && walk->notes && lane->next != begin)
        atomic_store_explicit(&walk->notes[index], 0, memory_order_relaxed);
    return lane->next != begin;
}

static void find_lanes(struct walk *walk, const uint32_t *words, unsigned num_blocks)
{
    walk->num_lanes = 0;
    for (unsigned b = 0; b < num_blocks; b++) {
        const uint32_t *head = words + (size_t)4 * b, *units = words + (size_t)4 * head[0];
        const uint32_t *list = units + (size_t)4 * head[2];
        uint32_t first_call = list[0];
        for (uint32_t i = 0; 2 * i < 4 * (first_call - head[2]); i++) {
            if (list[2 * i] == 0 || list[2 * i + 1] < list[2 * i])
                continue;
            assert_true(walk->num_lanes < MOST_LANES);
            walk->lanes[walk->num_lanes++] = (struct lane){
                units, units + (size_t)4 * head[3], list[2 * i], list[2 * i], list[2 * i + 1], 0
            };
        }
    }
}

void braid_standin_braid_island(const unsigned grid[3], const unsigned block[3],
                                unsigned shared_bytes, void **args)
{
    (void)block, (void)shared_bytes;
    struct walk walk = { .notes = *(_Atomic uint32_t **)args[6] };
    uint32_t num_frames = *(uint32_t *)args[3];
    const unsigned char *rows = *(unsigned char **)args[4];
    // Shapes, args and lists share a block's memory, of which the arguments are the first part: how
    // much that is, is known here from the arguments of the calls, two of 8 and 4 bytes each,
    // rounded up to an even number of 16 bytes.
    size_t row = (16 * CHAINS * CHAIN + 31) / 32 * 32;
    num_launches++;
    for (uint32_t frame = 0; frame < num_frames; frame++) {
        find_lanes(&walk, *(const uint32_t **)args[0], grid[0]);
        for (bool moved = true; moved;) {
            moved = false;
            for (uint32_t i = 0; i < walk.num_lanes; i++)
                moved |= go_on(&walk, i, rows ? rows + frame * row : args[5]);
        }
        if (num_faults) {
            standin_trap(TRAPPED);
            return;
        }
    }
}

struct setup {
    braid_device *device;
    braid_exec *exec;
    braid_parameter value;
    unsigned *list; // what the nodes pushed
};

// Chains of nodes, chain c pushing 100 c + 1, 100 c + 2 and so on to a list of its own; the first
// of the first chain pushes the parameter.
static struct setup set_up(uint32_t num_lanes)
{
    struct setup setup;
    reset_standin();
    num_launches = num_faults = trap_at = 0;
    atomic_store(&may_trap, false);
    setup.device = own_device("cuda");
    setup.list =
        own_memory(setup.device, BRAID_MEMORY_DEVICE, CHAINS * MOST_VALUES * sizeof(unsigned));
    memset(setup.list, 0, CHAINS * MOST_VALUES * sizeof(unsigned));
    braid_graph *graph;
    check_ok(braid_graph_create(&graph));
    check_ok(braid_graph_add_parameter(graph, "value", sizeof(unsigned), &setup.value));
    for (uint32_t chain = 0; chain < CHAINS; chain++) {
        unsigned *list = setup.list + (size_t)chain * MOST_VALUES;
        braid_node last;
        for (uint32_t i = 0; i < CHAIN; i++) {
            char name[32];
            unsigned value = 100 * (chain + 1) + i + 1;
            snprintf(name, sizeof(name), "chain %u, %u", chain, i);
            const braid_kernel_node launch = {
                .node = { .name = name, .after = &last, .num_after = i > 0, .cost_ns = 50000 },
                .kernel = &push,
                BRAID_ARGS(BRAID_ARG(list), BRAID_ARG(value)),
            };
            check_ok(braid_graph_add_kernel(graph, &launch, &last));
            if (chain == 0 && i == 0)
                check_ok(braid_graph_use_parameter(
                    graph, setup.value, &(braid_parameter_use){ .node = last, .argument = 1 }));
        }
    }
    const braid_exec_options options = { .islands = BRAID_ISLANDS_WHOLE, .max_lanes = num_lanes };
    setup.exec = own_exec(setup.device, graph, &options);
    braid_graph_destroy(graph); // the exec needs it no more
    return setup;
}

static void check_lists(const struct setup *setup, const unsigned *rows, uint32_t num_frames)
{
    for (uint32_t chain = 0; chain < CHAINS; chain++) {
        const unsigned *list = setup->list + (size_t)chain * MOST_VALUES;
        assert_int_equal(list[0], CHAIN * num_frames);
        for (uint32_t i = 0; i < CHAIN * num_frames; i++) {
            bool is_row = rows && chain == 0 && i % CHAIN == 0;
            assert_int_equal(list[i + 1],
                             is_row ? rows[i / CHAIN] : 100 * (chain + 1) + i % CHAIN + 1);
        }
    }
}

static void many_frames_are_one_launch(void **state)
{
    (void)state;
    for (uint32_t lanes = 1; lanes <= CHAINS; lanes += 2) {
        struct setup setup = set_up(lanes);
        check_ok(braid_exec_launch_many(setup.exec, NULL, 500, NULL, 0));
        check_ok(braid_exec_wait(setup.exec));
        assert_int_equal(num_launches, 1);
        check_lists(&setup, NULL, 500);
        finish_standin();
    }
}

// More than there is room for at once take a few launches.
static void each_frame_has_its_row(void **state)
{
    (void)state;
    static unsigned rows[900];
    for (unsigned i = 0; i < 900; i++)
        rows[i] = 7 * i;
    for (uint32_t lanes = 1; lanes <= CHAINS; lanes += 2) {
        struct setup setup = set_up(lanes);
        assert_true(standin_configure("BRAID_STANDIN_SLOW_US", "2000"));
        check_ok(braid_exec_launch_many(setup.exec, NULL, 900,
                                        &(braid_parameter_rows){ setup.value, rows, 900 }, 1));
        check_ok(braid_exec_wait(setup.exec));
        assert_in_range(num_launches, 2, 3);
        check_lists(&setup, rows, 900);
        finish_standin();
    }
}

// The others have ended.
static void after_a_fault_the_running_nodes_are_named(void **state)
{
    (void)state;
    struct setup setup = set_up(CHAINS);
    check_ok(braid_exec_launch_many(setup.exec, NULL, 3, NULL, 0));
    check_ok(braid_exec_wait(setup.exec));
    trap_at = 202; // chain 1, 1
    check_ok(braid_exec_launch(setup.exec, NULL));
    atomic_store(&may_trap, true);
    check_fails(braid_exec_wait(setup.exec), BRAID_DEVICE_ERROR,
                "; in its island these nodes were running: 4 'chain 1, 1' (lane ");
    assert_null(strstr(braid_error_get_message(), "chain 0"));
    assert_null(strstr(braid_error_get_message(), "chain 2"));
    check_fails(braid_exec_wait_for(setup.exec, BRAID_LAST_FRAME, 0), BRAID_DEVICE_ERROR,
                "'chain 1, 1' (lane ");
    check_fails(braid_exec_launch(setup.exec, NULL), BRAID_DEVICE_ERROR, "'chain 1, 1' (lane ");
    assert_int_equal(num_faults, 1);
    standin_forget_faults();
    finish_standin();
}

static void without_notes_the_island_is_named(void **state)
{
    (void)state;
    assert_int_equal(setenv("BRAID_NOTE_NODES", "0", 1), 0);
    struct setup setup = set_up(CHAINS);
    assert_int_equal(unsetenv("BRAID_NOTE_NODES"), 0);
    trap_at = 202;
    check_ok(braid_exec_launch(setup.exec, NULL));
    atomic_store(&may_trap, true);
    check_fails(braid_exec_wait(setup.exec), BRAID_DEVICE_ERROR, "; its island of 9 calls");
    standin_forget_faults();
    finish_standin();
}

// A launch that the driver has no room for leaves nothing behind: of the island's graph, and of its
// kernel, as which frames of new arguments are launched.
static void a_launch_without_room_is_refused(void **state)
{
    (void)state;
    static const char *const rules[] = { "cuGraphLaunch:2=720", "cuLaunchKernelEx:1=720" };
    for (unsigned i = 0; i < 2; i++) {
        const unsigned values[] = { 101, 102 }; // the first is as it was
        struct setup setup = set_up(CHAINS);
        fail_calls(rules[i]);
        check_ok(braid_exec_launch(setup.exec, NULL));
        if (i == 1)
            check_ok(braid_exec_set_parameter(setup.exec, setup.value, &values[1]));
        check_fails(braid_exec_launch(setup.exec, NULL), BRAID_DEVICE_ERROR,
                    "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE");
        check_ok(braid_exec_launch(setup.exec, NULL));
        check_ok(braid_exec_wait(setup.exec));
        check_lists(&setup, i ? values : NULL, 2);
        finish_standin();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        standin_test(many_frames_are_one_launch),
        standin_test(each_frame_has_its_row),
        standin_test(after_a_fault_the_running_nodes_are_named),
        standin_test(without_notes_the_island_is_named),
        standin_test(a_launch_without_room_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
