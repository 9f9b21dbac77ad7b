// SPDX-License-Identifier: Apache-2.0
// What is bound is read from the slots of a frame: each frame has its own bytes, and a task that is
// resolved again has the new ones.
#include <string.h>

#include "program/frame.h"
#include "support/check.h"

struct values {
    braid_dim3 grid;
    void *to;
    const void *from;
    uint64_t bytes;
    void *fill_to;
    uint32_t value;
    void *user;
    struct graph_host host;
    double argument;
};

enum { KERNEL, COPY, FILL, NATIVE, HOST, NUM_TASKS };

#define AT(member) .offset = offsetof(struct values, member)

static const struct task_binding bindings[] = {
    { .field = TASK_ARGUMENT, .index = 0, AT(argument) },
    { .field = TASK_GRID, AT(grid) },
    { .field = TASK_COPY_TO, AT(to) },
    { .field = TASK_COPY_FROM, AT(from) },
    { .field = TASK_COPY_BYTES, AT(bytes) },
    { .field = TASK_FILL_TO, AT(fill_to) },
    { .field = TASK_FILL_VALUE, AT(value) },
    { .field = TASK_USER, AT(user) },
    { .field = TASK_HOST_CALL, AT(host) },
};

#undef AT

static char memory[8];

static void count(void *user)
{
    ++*(char *)user;
}

static struct values make_values(unsigned seed)
{
    return (struct values){
        { seed, 2, 3 }, &memory[seed],     &memory[seed + 1],        seed, &memory[seed + 2],
        seed,           &memory[seed + 3], { count, &memory[seed] }, seed
    };
}

static void assert_has(const struct frame *frame, unsigned seed)
{
    const struct values expected = make_values(seed);
    const struct backend_task *tasks = frame->tasks;
    assert_memory_equal(tasks[KERNEL].launch.args[0], &expected.argument, sizeof(double));
    assert_memory_equal(&tasks[KERNEL].launch.grid, &expected.grid, sizeof(expected.grid));
    assert_ptr_equal(tasks[COPY].copy.to, expected.to);
    assert_ptr_equal(tasks[COPY].copy.from, expected.from);
    assert_int_equal(tasks[COPY].copy.bytes, expected.bytes);
    assert_ptr_equal(tasks[FILL].fill.to, expected.fill_to);
    assert_int_equal(tasks[FILL].fill.value, expected.value);
    assert_ptr_equal(tasks[NATIVE].native.user, expected.user);
    char before = memory[seed];
    tasks[HOST].host.call(tasks[HOST].host.user);
    assert_int_equal(memory[seed], before + 1);
    assert_int_equal(tasks[COPY].lane, 7); // what is not bound stays
}

static void each_frame_reads_its_own_slots(void **state)
{
    (void)state;
    struct values first = make_values(1), second = make_values(4);
    uint32_t arg_bytes = sizeof(double);
    struct backend_task items[NUM_TASKS] = {
        [KERNEL] = { .kind = BACKEND_TASK_KERNEL,
                     .launch = { .num_args = 1, .arg_bytes = &arg_bytes } },
        [COPY] = { .kind = BACKEND_TASK_COPY, .lane = 7 },
        [FILL] = { .kind = BACKEND_TASK_FILL },
        [NATIVE] = { .kind = BACKEND_TASK_NATIVE },
        [HOST] = { .kind = BACKEND_TASK_HOST },
    };
    struct tasks tasks = {
        .items = items,
        .num = NUM_TASKS,
        .bindings = (struct task_binding *)(uintptr_t)bindings,
        .first_binding = (uint32_t[]){ 0, 2, 5, 7, 8, 9 },
        .slot_bytes = { (unsigned char *)&first },
        .num_slot_bytes = { sizeof(first) },
        .num_args = 1,
        .max_args = 1,
    };
    struct frame one, two;
    check_ok(braid_frame_create(&tasks, NULL, &one));
    check_ok(braid_frame_create(&tasks, NULL, &two));
    assert_has(&one, 1);
    memcpy(two.slots[TASK_SLOT_ARGUMENTS], &second, sizeof(second));
    for (uint32_t i = 0; i < NUM_TASKS; i++)
        braid_frame_resolve(&tasks, &two, i);
    assert_has(&two, 4);
    assert_has(&one, 1);
    braid_frame_finish(&one);
    braid_frame_finish(&two);
}

// The address of a transient buffer stands in the slot of what it is for.
static void each_frame_writes_its_own_addresses(void **state)
{
    (void)state;
    struct values values = make_values(1);
    static const struct task_binding from[] = {
        { .field = TASK_COPY_FROM, .slot = 0, .offset = 8 }
    };
    struct task_address address = { .slot = 0, .offset = 8, .arena_offset = 3 };
    struct backend_task item = { .kind = BACKEND_TASK_COPY };
    struct tasks tasks = {
        .items = &item,
        .num = 1,
        .bindings = (struct task_binding *)(uintptr_t)from,
        .first_binding = (uint32_t[]){ 0, 1 },
        .addresses = &address,
        .num_addresses = 1,
        .slot_bytes = { (unsigned char *)&values },
        .num_slot_bytes = { sizeof(values) },
    };
    unsigned char arenas[2][8];
    for (int i = 0; i < 2; i++) {
        struct frame frame;
        check_ok(braid_frame_create(&tasks, arenas[i], &frame));
        assert_ptr_equal(frame.tasks[0].copy.from, &arenas[i][3]);
        braid_frame_finish(&frame);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_frame_reads_its_own_slots),
        cmocka_unit_test(each_frame_writes_its_own_addresses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
