// SPDX-License-Identifier: Apache-2.0
// Several frames in flight. A node does not know which frame it runs in, but that its runs are of
// as many frames: so what stands before it in a frame has ended as often as it has begun, and what
// stands before it in the next frame once less.
#include "fuzz/graphs.h"

enum { max_frames = 8 };

static bool counts(const struct subject *subject, uint32_t node)
{
    enum order_kind kind = subject->model.nodes[node].kind;
    return kind == ORDER_KERNEL || kind == ORDER_HOST || kind == ORDER_QUEUE;
}

static uint64_t num_ended(const struct subject_work *work)
{
    return atomic_load(&work->blocks_ended) / (work->num_blocks ? work->num_blocks : 1);
}

// Some runs take longer than others, so that frames that nothing orders pass each other.
static void dawdle(uint32_t number)
{
    for (volatile uint32_t i = number % 3 ? 0 : 4000; i > 0; i--)
        continue;
}

uint64_t subject_begin_in_flight(struct subject_work *work, uint64_t num_blocks)
{
    const struct subject *subject = work->subject;
    uint64_t each = work->num_blocks ? work->num_blocks : 1;
    uint64_t begun = atomic_fetch_add(&work->blocks_begun, num_blocks) + num_blocks;
    uint64_t count = (begun + each - 1) / each;
    for (uint32_t i = 0; i < subject->model.num_nodes; i++) {
        if (!counts(subject, i))
            continue;
        if (subject->order.before[work->node] >> i & 1)
            fuzz_expect(num_ended(&subject->work[i]) >= count);
        else if (order_holds_between_frames(&subject->model, i, work->node))
            fuzz_expect(num_ended(&subject->work[i]) + 1 >= count);
    }
    dawdle(work->node + (uint32_t)count);
    return count;
}

void subject_end_in_flight(struct subject_work *work, uint64_t num_blocks)
{
    atomic_fetch_add(&work->blocks_ended, num_blocks);
}

// Copies and fills leave marks of single frames: they are left out, and what stands behind them
// stays there.
static void leave_out(const struct subject *subject, braid_exec *exec)
{
    for (uint32_t i = 0; i < subject->model.num_nodes; i++) {
        enum order_kind kind = subject->model.nodes[i].kind;
        if (kind == ORDER_COPY || kind == ORDER_FILL)
            fuzz_expect_status(braid_exec_set(exec, subject->handles[i], BRAID_TARGET_ENABLED, 0,
                                              &(bool){ false }),
                               BRAID_OK);
    }
}

static uint32_t launch_all(const struct subject *subject, struct random *input, braid_exec *exec,
                           braid_stream *stream)
{
    uint32_t numbers[max_frames], num_launched = 0;
    while (num_launched < max_frames / 2) {
        uint32_t num = 1 + random_below(input, 4);
        for (uint32_t i = 0; i < num; i++)
            numbers[i] = ++num_launched;
        if (num == 1) {
            fuzz_expect_status(braid_exec_set_parameter(exec, subject->number, numbers), BRAID_OK);
            fuzz_expect_status(braid_exec_launch(exec, stream), BRAID_OK);
        } else {
            const braid_parameter_rows rows = { subject->number, numbers, num };
            fuzz_expect_status(braid_exec_launch_many(exec, stream, num, &rows, 1), BRAID_OK);
        }
    }
    return num_launched;
}

void subject_fly(struct subject *subject, struct random *input, braid_device *device,
                 braid_stream *stream)
{
    braid_exec_options options = { .mode = (braid_exec_mode)random_below(input, 3),
                                   .frames_in_flight = 3 - random_below(input, 3) };
    braid_exec *exec;
    if (options.frames_in_flight == 1)
        return;
    braid_status status = braid_exec_create(device, subject->graph, &options, &exec);
    if (status == BRAID_UNSUPPORTED)
        return; // queue calls in graph replay: looked at for one frame
    fuzz_expect_status(status, BRAID_OK);
    leave_out(subject, exec);
    subject->in_flight = true;
    uint32_t num = launch_all(subject, input, exec, random_below(input, 2) ? NULL : stream);
    fuzz_expect_status(braid_exec_wait(exec), BRAID_OK);
    for (uint32_t i = 0; i < subject->model.num_nodes; i++)
        fuzz_expect(!counts(subject, i) || num_ended(&subject->work[i]) == num);
    braid_exec_destroy(exec);
    subject->in_flight = false;
}
