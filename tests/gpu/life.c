// SPDX-License-Identifier: Apache-2.0
// A whole life on a device with every kind of call, in which driver calls may fail at any place.
#include "gpu/life.h"

#include <stdio.h>
#include <string.h>

#include "gpu/life_changes.h"
#include "gpu/life_external.h"
#include "gpu/life_loop.h"
#include "gpu/life_overlap.h"
#include "gpu/life_prefetch.h"
#include "support/check.h"
#include "support/left_out.h"

enum { NUM_ROOTS = 8, SHARED_BYTES = 64 << 10, LONG_NS = 50000 };

// What a life holds, to be destroyed in the end.
struct world {
    struct life *life;
    struct frame frame;
    braid_exec *wide, *overlapping, *timed;
    struct life_changes changes;
    struct life_loop loop, driven;
    struct life_prefetch prefetch;
    struct life_external external;
    braid_event *start, *end;
    uint32_t in[2], out[2]; // the program's own memory
    int num_host_calls, num_blocking_calls;
};

static void append(char *text, size_t size, const char *line)
{
    size_t used = strlen(text);
    snprintf(text + used, size - used, "%s\n", line);
}

static void take_log(braid_status status, const char *message, void *user)
{
    struct life *life = user;
    (void)status;
    append(life->logged, sizeof(life->logged), message);
}

void life_begin(struct life *life)
{
    life->num_failed = 0;
    life->returned[0] = life->logged[0] = '\0';
    braid_log_set(take_log, life);
}

void life_end(void)
{
    braid_log_set(NULL, NULL);
}

void life_before_destroying(struct life *life)
{
    if (life->before_destroying)
        life->before_destroying(life);
}

// What is not ready yet is no failure of a driver call.
bool life_note(struct life *life, braid_status status)
{
    if (status == BRAID_OK || status == BRAID_NOT_READY)
        return true;
    life->num_failed++;
    append(life->returned, sizeof(life->returned), braid_error_get_message());
    return false;
}

static bool note(struct world *world, braid_status status)
{
    return life_note(world->life, status);
}

static void heal(const struct world *world)
{
    if (world->life->heal)
        world->life->heal();
}

static void count_host_call(void *user)
{
    ++*(int *)user;
}

static void find_device(struct world *world)
{
    braid_found_device found;
    note(world, braid_backend_get_device(world->life->backend, 0, &found));
}

static void make_buffer(struct world *world)
{
    braid_device *device = world->frame.device;
    braid_graph *graph = NULL;
    braid_resource resource;
    void *memory = NULL;
    if (note(world, braid_graph_create(&graph)))
        note(world, braid_graph_add_device_buffer(graph, device, "in", world->in, sizeof(world->in),
                                                  &memory, &resource));
    braid_memory_free(device, memory);
    braid_graph_destroy(graph);
}

static void move_memory(struct world *world)
{
    braid_device *device = world->frame.device;
    braid_prefetch prefetch = { .bytes = 64 };
    void *memory = NULL;
    if (!life_is_over_cuda() ||
        !note(world, braid_memory_allocate(device, BRAID_MEMORY_MANAGED, prefetch.bytes, &memory)))
        return;
    prefetch.memory = memory;
    note(world, unless_left_out(braid_queue_prefetch(device, world->frame.stream, &prefetch)));
    note(world, braid_stream_wait(world->frame.stream));
    braid_memory_free(device, memory);
}

static void use_events(struct world *world)
{
    braid_device *device = world->frame.device;
    uint64_t ns = 0;
    const braid_event_options timed = { .timing = true };
    if (!note(world, braid_event_create(device, &timed, &world->start)) ||
        !note(world, braid_event_create(device, &timed, &world->end)))
        return;
    bool recorded = note(world, braid_event_record(world->start, world->frame.stream));
    note(world,
         braid_stream_host_call(world->frame.stream, count_host_call, &world->num_host_calls));
    recorded = note(world, braid_event_record(world->end, world->frame.stream)) && recorded;
    note(world, braid_stream_follow(NULL, world->end));
    note(world, braid_stream_query(braid_device_get_default_stream(device)));
    note(world, braid_event_query(world->end));
    note(world, braid_event_wait(world->end));
    note(world, braid_stream_wait(world->frame.stream));
    if (recorded) // else it is refused, for the very same reason
        note(world, braid_event_get_elapsed(world->start, world->end, &ns));
}

static void fill_and_copy(struct world *world)
{
    braid_stream *stream = world->frame.stream;
    uint32_t *words = world->frame.words, *read = world->frame.read;
    int before = world->life->num_failed;
    note(world, braid_stream_fill(stream, &words[0], 0x11, 1, 4));
    note(world, braid_stream_fill(stream, &words[1], 0x2222, 2, 2));
    note(world, braid_stream_fill(stream, &words[2], 0x33333333, 4, 1));
    note(world, braid_stream_copy(stream, read, words, 3 * sizeof(*read)));
    note(world, braid_stream_wait(stream));
    if (world->life->num_failed > before)
        return;
    assert_int_equal(read[0], 0x11111111);
    assert_int_equal(read[1], 0x22222222);
    assert_int_equal(read[2], 0x33333333);
}

// Fills of every width, a copy in from the program's memory and one out to it, a host call: many
// roots, joined by an empty node that two run behind; then two kernels, the first with much shared
// memory, the second to start early behind it.
static braid_status fill_wide_graph(struct world *world, braid_graph *graph)
{
    static braid_kernel early;
    early = sum_kernel;
    early.programmatic = true;
    uint32_t *words = world->frame.words, one = 1;
    const braid_fill fills[] = {
        { .node = { .cost_ns = LONG_NS },
          .to = &words[0],
          .value = 0x11,
          .value_bytes = 1,
          .num_values = 4 },
        { .node = { .cost_ns = LONG_NS },
          .to = &words[1],
          .value = 0x2222,
          .value_bytes = 2,
          .num_values = 2 },
        { .node = { .cost_ns = LONG_NS },
          .to = &words[2],
          .value = 5,
          .value_bytes = 4,
          .num_values = 1 },
    };
    braid_node roots[NUM_ROOTS] = { 0 }, fence = { 0 }, first = { 0 }, second = { 0 };
    braid_status status = BRAID_OK;
    for (int i = 0; i < 3 && !status; i++)
        status = braid_graph_add_fill(graph, &fills[i], &roots[i]);
    for (int i = 6; i < NUM_ROOTS && !status; i++) {
        const braid_fill fill = {
            .node = { .cost_ns = LONG_NS }, .to = &words[i + 2], .value_bytes = 4, .num_values = 1
        };
        status = braid_graph_add_fill(graph, &fill, &roots[i]);
    }
    const braid_copy in = { .node = { .cost_ns = LONG_NS },
                            .to = &words[3],
                            .from = world->in,
                            .bytes = sizeof(world->in) };
    if (!status)
        status = braid_graph_add_copy(graph, &in, &roots[3]);
    const braid_host_call call = { .node = { .cost_ns = LONG_NS },
                                   .call = count_host_call,
                                   .user = &world->num_host_calls };
    if (!status)
        status = braid_graph_add_host_call(graph, &call, &roots[4]);
    const braid_host_call blocks = { .node = { .cost_ns = LONG_NS },
                                     .call = count_host_call,
                                     .user = &world->num_blocking_calls,
                                     .blocking = true };
    if (!status)
        status = braid_graph_add_host_call(graph, &blocks, &roots[5]);
    const braid_empty joined = { .node = { .after = roots, .num_after = NUM_ROOTS } };
    if (!status)
        status = braid_graph_add_empty(graph, &joined, &fence);
    const braid_fill beside = {
        .node = { .after = &fence, .num_after = 1 },
        .to = &words[7],
        .value_bytes = 4,
        .num_values = 1,
    };
    if (!status)
        status = braid_graph_add_fill(graph, &beside, NULL);
    uint32_t *to = &words[5], *a = &words[2], *b = &words[3];
    const bool cuda = strcmp(world->life->backend, "cuda") == 0;
    const braid_kernel_node shared = {
        .node = { .after = &fence, .num_after = 1 },
        .kernel = &sum_kernel,
        .shared_bytes = cuda ? SHARED_BYTES : 0,
        .cluster = { cuda, cuda, cuda },
        .priority = -1,
        BRAID_ARGS(BRAID_ARG(to), BRAID_ARG(a), BRAID_ARG(b), BRAID_ARG(one)),
    };
    if (!status)
        status = braid_graph_add_kernel(graph, &shared, &first);
    uint32_t *last = &words[6], *sum = &words[5];
    const braid_kernel_node behind = {
        .node = { .after = &first, .num_after = 1 },
        .kernel = &early,
        BRAID_ARGS(BRAID_ARG(last), BRAID_ARG(sum), BRAID_ARG(sum), BRAID_ARG(one)),
    };
    if (!status)
        status = braid_graph_add_kernel(graph, &behind, &second);
    const braid_copy out = {
        .node = { .after = &second, .num_after = 1 },
        .to = world->out,
        .from = &words[5],
        .bytes = sizeof(world->out),
    };
    return status ? status : braid_graph_add_copy(graph, &out, NULL);
}

static braid_status create_wide(struct world *world)
{
    braid_graph *graph = NULL;
    const braid_exec_options options = {
        .mode = world->life->mode,
        .max_lanes = NUM_ROOTS,
        .fixed_lanes = true,
    };
    braid_status status = braid_graph_create(&graph);
    if (!status)
        status = fill_wide_graph(world, graph);
    if (!status)
        status = braid_exec_create(world->frame.device, graph, &options, &world->wide);
    braid_graph_destroy(graph);
    return status;
}

static braid_status run_wide(struct world *world)
{
    braid_status status = braid_exec_launch(world->wide, world->frame.stream);
    return status ? status : braid_exec_wait(world->wide);
}

static braid_status create_overlapping(struct world *world)
{
    return life_create_overlapping(world->frame.device, world->frame.words, world->life->mode,
                                   &world->overlapping);
}

static braid_status run_overlapping(struct world *world)
{
    return life_run_overlapping(world->overlapping, world->frame.stream);
}

static braid_status create_timed(struct world *world)
{
    return life_create_timed(world->frame.device, world->frame.words, world->life->mode,
                             &world->timed);
}

static braid_status run_timed(struct world *world)
{
    return life_run_timed(world->timed, world->frame.stream);
}

static braid_status create_changes(struct world *world)
{
    world->changes.device = world->frame.device;
    world->changes.words = world->frame.words;
    world->changes.has_no_queue_calls =
        strcmp(world->life->backend, "cpu") == 0 && world->life->mode == BRAID_MODE_GRAPH;
    return life_create_changes(&world->changes, world->life->mode);
}

static braid_status run_changes(struct world *world)
{
    return life_run_changes(&world->changes, world->frame.stream);
}

static braid_status create_prefetch(struct world *world)
{
    return life_create_prefetch(world->frame.device, world->frame.words, world->life->mode,
                                &world->prefetch);
}

static braid_status create_external(struct world *world)
{
    return life_create_external(&world->frame, world->life->mode, world->end, &world->external);
}

static braid_status run_external(struct world *world)
{
    return life_run_external(&world->frame, &world->external);
}

static braid_status run_prefetch(struct world *world)
{
    return life_run_prefetch(&world->prefetch, world->frame.words);
}

// HIP's graphs play none.
static bool has_loop(const struct world *world)
{
    return strcmp(world->life->backend, "hip") != 0;
}

static braid_status create_loop(struct world *world)
{
    return life_create_loop(world->frame.device, world->life->mode, &world->loop);
}

static braid_status run_loop(struct world *world)
{
    return life_run_loop(&world->loop, world->frame.stream);
}

static bool has_driven(const struct world *world)
{
    return strcmp(world->life->backend, "cpu") != 0 && world->life->mode == BRAID_MODE_STREAMS;
}

static braid_status create_driven(struct world *world)
{
    world->driven.is_driven = true;
    world->driven.is_noted = strcmp(world->life->backend, "hip") != 0;
    return life_create_loop(world->frame.device, world->life->mode, &world->driven);
}

static braid_status run_driven(struct world *world)
{
    return life_run_loop(&world->driven, world->frame.stream);
}

static braid_status open_frame(struct world *world)
{
    return frame_open(&world->frame, world->life->backend);
}

static braid_status create_frame(struct world *world)
{
    return frame_create_exec(&world->frame, world->life->mode);
}

static braid_status run_frame(struct world *world)
{
    return frame_run(&world->frame, 7);
}

static braid_status read_frame(struct world *world)
{
    return frame_read(&world->frame);
}

// Nothing is half-made: what failed works when it is tried again.
static void do_or_redo(struct world *world, braid_status (*step)(struct world *world))
{
    if (note(world, step(world)))
        return;
    heal(world);
    check_ok(step(world));
}

static void run_execs(struct world *world)
{
    do_or_redo(world, create_frame);
    do_or_redo(world, run_frame);
    do_or_redo(world, read_frame);
    assert_int_equal(world->frame.read[5], frame_result(7));
    do_or_redo(world, create_wide);
    do_or_redo(world, run_wide);
    assert_int_equal(world->out[0], 5 + world->in[0] + 1);
    assert_int_equal(world->out[1], 2 * world->out[0] + 1);
    note(world, braid_exec_wait_for(world->wide, BRAID_LAST_FRAME, 0));
    do_or_redo(world, create_overlapping);
    do_or_redo(world, run_overlapping);
    do_or_redo(world, create_timed);
    do_or_redo(world, run_timed);
    do_or_redo(world, create_prefetch);
    bool fetches =
        strcmp(world->life->backend, "cuda") == 0 && world->life->mode == BRAID_MODE_GRAPH;
    assert_int_equal(world->prefetch.num, fetches ? 1 : 0);
    do_or_redo(world, run_prefetch);
    do_or_redo(world, create_external);
    do_or_redo(world, run_external);
    if (has_loop(world)) {
        do_or_redo(world, create_loop);
        do_or_redo(world, run_loop);
        assert_int_equal(world->loop.num, LIFE_ITERATIONS);
    }
    if (has_driven(world)) {
        do_or_redo(world, create_driven);
        do_or_redo(world, run_driven);
        assert_int_equal(world->driven.num, LIFE_ITERATIONS);
    }
    do_or_redo(world, create_changes);
    do_or_redo(world, run_changes);
}

static void leave_work_in_flight(struct world *world)
{
    struct frame *frame = &world->frame;
    for (int i = 0; i < 2; i++) {
        if (has_driven(world))
            note(world, braid_exec_launch(world->driven.exec, frame->stream));
        note(world, braid_exec_launch(frame->exec, frame->stream));
        note(world, braid_exec_launch(world->wide, frame->stream));
        if (has_loop(world))
            note(world, braid_exec_launch(world->loop.exec, frame->stream));
    }
    if (has_loop(world))
        note(world, braid_exec_wait(world->loop.exec)); // which tells what a loop could not queue
    if (has_driven(world))
        note(world, braid_exec_wait(world->driven.exec)); // and so does this
    if (world->end)
        note(world, braid_event_record(world->end, frame->stream));
    note(world, braid_stream_host_call(frame->stream, count_host_call, &world->num_host_calls));
}

void life_live(struct life *life)
{
    struct world world = { .life = life };
    life_begin(life);
    do_or_redo(&world, open_frame);
    world.in[0] = 3;
    world.in[1] = 9;
    fill_and_copy(&world);
    find_device(&world);
    make_buffer(&world);
    move_memory(&world);
    use_events(&world);
    run_execs(&world);
    leave_work_in_flight(&world);
    life_before_destroying(life);
    braid_event_destroy(world.start);
    braid_event_destroy(world.end);
    life_finish_loop(&world.loop);
    life_finish_external(&world.external);
    life_finish_loop(&world.driven);
    life_finish_prefetch(world.frame.device, &world.prefetch);
    braid_exec_destroy(world.changes.exec);
    braid_exec_destroy(world.timed);
    braid_exec_destroy(world.overlapping);
    braid_exec_destroy(world.wide);
    frame_finish(&world.frame);
    life_end();
}
