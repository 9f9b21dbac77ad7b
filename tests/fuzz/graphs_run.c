// SPDX-License-Identifier: Apache-2.0
// Frames of a graph on the CPU: every kernel and call looks whether all nodes that it stands behind
// have run in this frame.
#include <stdatomic.h>

#include "fuzz/graphs.h"

enum { max_frames = 3, fill_mark = 0x01010101 };

// ---- the nodes ----

static void check_before(const struct subject_work *work)
{
    const struct subject *subject = work->subject;
    uint64_t before = subject->order.before[work->node];
    for (uint32_t i = 0; i < subject->model.num_nodes; i++)
        if (before >> i & 1 && leaves_frame(subject->model.nodes[i].kind))
            fuzz_expect(subject->work[i].done == subject->frame);
}

static void run_on_cpu(const braid_blocks *blocks, void *const *args)
{
    struct subject_work *work = *(struct subject_work **)args[0];
    uint32_t num = (uint32_t)(blocks->end - blocks->begin);
    if (work->subject->in_flight) {
        subject_use_memory(work, args, subject_begin_in_flight(work, num));
        subject_end_in_flight(work, num);
        return;
    }
    check_before(work);
    subject_use_memory(work, args, 0);
    if (blocks->begin == 0)
        work->seen = *(const uint32_t *)args[1];
    _Atomic uint32_t *blocks_done = (_Atomic uint32_t *)&work->blocks_done;
    if (atomic_fetch_add(blocks_done, num) + num == work->num_blocks) {
        atomic_store(blocks_done, 0);
        work->done = work->subject->frame;
    }
}

const braid_kernel subject_kernel = { .name = "checker", .cpu = run_on_cpu };
const braid_kernel subject_memory_kernel = { .name = "memory", .cpu = run_on_cpu };

void subject_host_call(void *user)
{
    struct subject_work *work = user;
    if (work->subject->in_flight) {
        subject_begin_in_flight(work, 1);
        subject_end_in_flight(work, 1);
        return;
    }
    check_before(work);
    work->done = work->subject->frame;
}

braid_status subject_queue_call(braid_device *device, braid_stream *stream, void *user)
{
    (void)device;
    struct subject_work *work = user;
    if (work->node == work->subject->failing)
        return BRAID_IO_ERROR;
    return braid_stream_host_call(stream, subject_host_call, work);
}

// ---- the frames ----

static bool has_queue_call(const struct subject *subject)
{
    for (uint32_t i = 0; i < subject->model.num_nodes; i++)
        if (subject->model.nodes[i].kind == ORDER_QUEUE)
            return true;
    return false;
}

// Copies whose source is known to have run, and fills, which would show a frame of the past, start
// from nothing.
static void check_frame(const struct subject *subject)
{
    for (uint32_t i = 0; i < subject->model.num_nodes; i++) {
        const struct subject_work *work = &subject->work[i];
        enum order_kind kind = subject->model.nodes[i].kind;
        if (leaves_frame(kind))
            fuzz_expect(work->done == subject->frame);
        if (kind == ORDER_FILL)
            fuzz_expect(work->seen == fill_mark);
        if (kind == ORDER_KERNEL)
            fuzz_expect(work->seen == work->token);
    }
}

static void change_token(struct subject *subject, struct random *input, braid_exec *exec)
{
    uint32_t place = random_below(input, subject->model.num_nodes);
    struct subject_work *work = &subject->work[place];
    uint32_t token = random_byte(input) + 1;
    bool valid = subject->model.num_nodes && subject->model.nodes[place].kind == ORDER_KERNEL;
    fuzz_expect_status(braid_exec_set_arg(exec, subject->handles[place], 1, BRAID_ARG(token)),
                       valid ? BRAID_OK : BRAID_INVALID_ARGUMENT);
    if (valid)
        work->token = token;
}

static void launch_failing(struct subject *subject, braid_exec *exec, braid_stream *stream)
{
    uint32_t num = subject->model.num_nodes;
    for (uint32_t i = 0; i < num; i++)
        if (subject->model.nodes[i].kind == ORDER_QUEUE)
            subject->failing = i;
    fuzz_expect_status(braid_exec_launch(exec, stream),
                       subject->failing == num ? BRAID_OK : BRAID_IO_ERROR);
    fuzz_expect_status(braid_exec_wait(exec), BRAID_OK);
    subject->failing = num;
}

static void run_frames(struct subject *subject, struct random *input, braid_exec *exec,
                       braid_stream *stream)
{
    uint32_t num_frames = 1 + random_below(input, max_frames);
    for (uint32_t i = 0; i < num_frames; i++) {
        uint32_t flags = random_byte(input);
        subject->frame++;
        for (uint32_t k = 0; k < subject->model.num_nodes; k++)
            if (subject->model.nodes[k].kind == ORDER_FILL)
                subject->work[k].seen = 0;
        if (flags & 1)
            change_token(subject, input, exec);
        if (flags & 16)
            subject_set_token(subject, input, exec);
        if (flags & 2)
            launch_failing(subject, exec, stream);
        if (flags & 4)
            fuzz_expect_status(braid_exec_launch(exec, NULL), BRAID_OK);
        fuzz_expect_status(braid_exec_launch(exec, stream), BRAID_OK);
        if (flags & 8 && i + 1 == num_frames)
            return; // destroyed in flight
        fuzz_expect_status(braid_exec_wait(exec), BRAID_OK);
        fuzz_expect_status(braid_exec_wait_for(exec, BRAID_LAST_FRAME, 0), BRAID_OK);
        check_frame(subject);
    }
}

static braid_device *device;
static braid_stream *stream;

static void open_device(void)
{
    const braid_device_options options = { .backend = "cpu", .num_workers = 2 };
    fuzz_expect_status(braid_device_open(&options, &device), BRAID_OK);
    fuzz_expect_status(braid_stream_create(device, NULL, &stream), BRAID_OK);
}

void subject_run(struct subject *subject, struct random *input, const braid_schedule *schedule)
{
    if (!device)
        open_device();
    braid_exec_options options = { .mode = (braid_exec_mode)random_below(input, 3) };
    if (random_below(input, 2))
        options.schedule = schedule;
    braid_exec *exec;
    braid_status status = braid_exec_create(device, subject->graph, &options, &exec);
    if (options.mode == BRAID_MODE_GRAPH && has_queue_call(subject)) {
        fuzz_expect_status(status, BRAID_UNSUPPORTED);
        return;
    }
    fuzz_expect_status(status, BRAID_OK);
    subject->failing = subject->model.num_nodes;
    run_frames(subject, input, exec, random_below(input, 2) ? stream : NULL);
    braid_exec_destroy(exec);
    subject_fly(subject, input, device, stream);
}
