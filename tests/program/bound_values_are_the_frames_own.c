// SPDX-License-Identifier: Apache-2.0
// What is bound is read from the slots of a frame: each frame has its own bytes, and a task that is
// resolved again has the new ones.
#include <string.h>

#include "support/check.h"
#include "tasks/frame.h"

enum { KERNEL, COPY, FILL, QUEUE, HOST, NUM_TASKS };

// The works of all but the kernel, one behind the other.
struct values {
    union work works[NUM_TASKS - 1];
};

static char memory[64];

static void count(void *user)
{
    ++*(char *)user;
}

static braid_status succeed(braid_device *device, braid_stream *stream, void *user)
{
    (void)device;
    (void)stream;
    (void)user;
    return BRAID_OK;
}

static struct values make_values(unsigned seed)
{
    return (struct values){ {
        [COPY - 1].copy = { .to = &memory[seed], .from = &memory[seed + 32], .bytes = seed },
        [FILL - 1].fill = { &memory[seed + 2], seed, 1, seed, 0 },
        [QUEUE - 1].queue = { succeed, &memory[seed + 3] },
        [HOST - 1].host = { count, &memory[seed] },
    } };
}

static void assert_has(const struct frame *frame, unsigned seed)
{
    const struct values expected = make_values(seed);
    const struct backend_task *tasks = frame->tasks;
    assert_int_equal(*(const uint32_t *)tasks[KERNEL].launch.args[0], seed);
    assert_int_equal(*(const uint32_t *)tasks[KERNEL].launch.args[1], 10 * seed);
    assert_ptr_equal(tasks[COPY].copy.to, expected.works[COPY - 1].copy.to);
    assert_ptr_equal(tasks[COPY].copy.from, expected.works[COPY - 1].copy.from);
    assert_int_equal(tasks[COPY].copy.bytes, seed);
    assert_ptr_equal(tasks[FILL].fill.to, expected.works[FILL - 1].fill.to);
    assert_int_equal(tasks[FILL].fill.value, seed);
    assert_ptr_equal(tasks[QUEUE].queue.user, expected.works[QUEUE - 1].queue.user);
    char before = memory[seed];
    tasks[HOST].host.call(tasks[HOST].host.user);
    assert_int_equal(memory[seed], before + 1);
    assert_int_equal(tasks[COPY].lane, 7); // what is not a value stays
    assert_int_equal(tasks[KERNEL].launch.grid.y, 10 * seed);
}

static struct task_control make_control(unsigned seed)
{
    return (struct task_control){ .grid = { 1, 10 * seed, 1 }, .enabled = 1 };
}

// Two arguments of four bytes: each has sixteen to itself.
struct arguments {
    _Alignas(16) uint32_t first;
    _Alignas(16) uint32_t second;
};

static void each_frame_reads_its_own_slots(void **state)
{
    (void)state;
    struct values first = make_values(1);
    struct arguments arguments = { 1, 10 };
    bool changed;
    static const uint32_t arg_bytes[] = { 4, 4 };
    struct backend_task items[NUM_TASKS] = {
        [KERNEL] = { .kind = WORK_KERNEL,
                     .launch = { .grid = { 1, 10, 1 },
                                 .block = { 1, 1, 1 },
                                 .num_args = 2,
                                 .arg_bytes = arg_bytes } },
        [COPY] = { .kind = WORK_COPY, .lane = 7 },
        [FILL] = { .kind = WORK_FILL },
        [QUEUE] = { .kind = WORK_QUEUE },
        [HOST] = { .kind = WORK_HOST },
    };
    struct task_control controls[NUM_TASKS] = { make_control(1) };
    for (int i = 1; i < NUM_TASKS; i++)
        controls[i].enabled = 1;
    struct tasks tasks = {
        .items = items,
        .num = NUM_TASKS,
        .offsets = (uint64_t[]){ 0, 0, sizeof(union work), 2 * sizeof(union work),
                                 3 * sizeof(union work) },
        .first_address = (uint32_t[NUM_TASKS + 1]){ 0 },
        .slot_bytes = { (unsigned char *)&arguments, (unsigned char *)&first,
                        (unsigned char *)controls },
        .num_slot_bytes = { sizeof(arguments), sizeof(first), sizeof(controls) },
        .num_args = 2,
        .max_args = 2,
    };
    struct frame one, two;
    check_ok(braid_frame_create(&tasks, NULL, 0, NULL, NULL, NULL, &one));
    check_ok(braid_frame_create(&tasks, NULL, 0, NULL, NULL, NULL, &two));
    assert_has(&one, 1);
    const struct arguments others = { 4, 40 };
    arguments = others;
    first = make_values(4);
    controls[KERNEL] = make_control(4);
    for (uint32_t i = 0; i < NUM_TASKS; i++) {
        check_ok(braid_frame_resolve(&tasks, &two, i, 0, &changed));
        assert_true(changed);
        check_ok(braid_frame_resolve(&tasks, &two, i, 0, &changed));
        assert_true(changed == (i == QUEUE)); // it is captured again
    }
    assert_has(&two, 4);
    assert_has(&one, 1);
    braid_frame_finish(&one);
    braid_frame_finish(&two);
}

// The address of a transient buffer stands in the slot of what it is for.
static void each_frame_writes_its_own_addresses(void **state)
{
    (void)state;
    union work work = { .copy = { .bytes = 1 } };
    uint64_t offset = 0;
    struct task_address address = { .slot = TASK_SLOT_WORKS,
                                    .offset = offsetof(struct work_copy, from),
                                    .arena_offset = 3 };
    struct backend_task item = { .kind = WORK_COPY };
    struct tasks tasks = {
        .items = &item,
        .num = 1,
        .offsets = &offset,
        .addresses = &address,
        .num_addresses = 1,
        .first_address = (uint32_t[]){ 0, 1 },
        .slot_bytes = { [TASK_SLOT_WORKS] = (unsigned char *)&work },
        .num_slot_bytes = { [TASK_SLOT_WORKS] = sizeof(work) },
    };
    unsigned char arenas[2][8];
    for (int i = 0; i < 2; i++) {
        struct frame frame;
        unsigned char *arena = arenas[i];
        check_ok(braid_frame_create(&tasks, &arena, 0, NULL, NULL, NULL, &frame));
        assert_ptr_equal(frame.tasks[0].copy.from, &arenas[i][3]);
        braid_frame_finish(&frame);
    }
}

// A backend whose calls are made late: all of them only when the last of what it made for them is
// given back, which waits for that.
struct late {
    struct backend backend;
    struct work_host calls[2];
    int num_prepared, num_held;
    char made[8]; // an address for each
    int num_made;
};

static braid_status prepare_late(struct backend *backend, struct backend_task *task)
{
    struct late *late = (struct late *)backend;
    late->calls[late->num_prepared++] = task->host;
    late->num_held++;
    task->detour = (struct backend_detour *)(void *)&late->made[late->num_made++];
    return BRAID_OK;
}

static void finish_late(struct backend *backend, struct backend_task *task)
{
    struct late *late = (struct late *)backend;
    task->detour = NULL;
    if (--late->num_held > 0)
        return;
    for (int i = 0; i < late->num_prepared; i++)
        late->calls[i].call(late->calls[i].user);
}

// A frame of one host call, over such a backend.
struct one_call {
    union work work;
    uint64_t offset;
    struct task_control control;
    struct backend_task item;
    struct tasks tasks;
};

static void make_one_call(struct one_call *one, struct late *late, char *counted,
                          struct frame *out_frame)
{
    static const struct backend_ops ops = { .task_prepare = prepare_late,
                                            .task_finish = finish_late };
    static uint32_t no_addresses[2];
    late->backend.ops = &ops;
    *one = (struct one_call){ .work.host = { count, counted },
                              .control = { .enabled = 1 },
                              .item = { .kind = WORK_HOST } };
    one->tasks = (struct tasks){
        .backend = &late->backend,
        .items = &one->item,
        .num = 1,
        .offsets = &one->offset,
        .first_address = no_addresses,
        .slot_bytes = { [TASK_SLOT_WORKS] = (unsigned char *)&one->work,
                        [TASK_SLOT_CONTROLS] = (unsigned char *)&one->control },
        .num_slot_bytes = { [TASK_SLOT_WORKS] = sizeof(one->work),
                            [TASK_SLOT_CONTROLS] = sizeof(one->control) },
    };
    check_ok(braid_frame_create(&one->tasks, NULL, 0, NULL, NULL, NULL, out_frame));
}

static void change_call(struct one_call *one, char *counted, struct frame *frame)
{
    bool changed;
    one->work.host.user = counted;
    check_ok(braid_frame_resolve(&one->tasks, frame, 0, 0, &changed));
}

static void calls_are_there_until_the_backend_has_left_them(void **state)
{
    (void)state;
    char counts[2] = { 0 };
    for (int num = 1; num <= 2; num++) {
        struct late late = { 0 };
        struct one_call one;
        struct frame frame;
        make_one_call(&one, &late, &counts[0], &frame);
        frame.num_launches = 1;
        if (num == 2) // the first is kept for the frame that was launched
            change_call(&one, &counts[1], &frame);
        assert_int_equal(late.num_held, num);
        braid_frame_finish(&frame);
        assert_int_equal(late.num_held, 0);
    }
    assert_int_equal(counts[0], 2);
    assert_int_equal(counts[1], 1);
}

// One that no launch has seen is given back at once, and one that a launch may use is not.
static void what_was_never_launched_is_not_kept(void **state)
{
    (void)state;
    char counts[2] = { 0 };
    struct late late = { .num_held = 1 };
    struct one_call one;
    struct frame frame;
    make_one_call(&one, &late, &counts[0], &frame);
    for (int i = 1; i < 6; i++) {
        late.num_prepared = 0;
        change_call(&one, &counts[i % 2], &frame);
        frame.num_launches += i == 3;
        assert_int_equal(late.num_held, i > 3 ? 3 : 2);
    }
    assert_int_equal(frame.num_replaced, 1);
    late.num_prepared = 0;
    braid_frame_finish(&frame);
    assert_int_equal(late.num_held, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_frame_reads_its_own_slots),
        cmocka_unit_test(each_frame_writes_its_own_addresses),
        cmocka_unit_test(calls_are_there_until_the_backend_has_left_them),
        cmocka_unit_test(what_was_never_launched_is_not_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
