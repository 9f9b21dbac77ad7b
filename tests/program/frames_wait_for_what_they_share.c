// SPDX-License-Identifier: Apache-2.0
// Of random graphs with overlapping frames, every pair of conflicting accesses of three frames is
// ordered, by brute force; the proof of two frames says so too, and finds each wait that is taken
// out: there is none too many.
#include <string.h>

#include "exec/exec.h"
#include "program/program_frames.h"
#include "support/check.h"
#include "support/random.h"
#include "verify/verify_program.h"

enum { NUM_GRAPHS = 200, MAX_NODES = 40, NUM_FRAMES = 3, NUM_BUFFERS = 3, BUFFER_BYTES = 8 };
enum { MAX_ACCESSES = 3, MAX_RANGES = 12 };

struct use {
    uint32_t buffer, begin, end;
    braid_access_mode mode;
};

struct random_frames {
    braid_graph *graph;
    uint32_t num_nodes;
    bool has_work[MAX_NODES];
    uint32_t num_uses[MAX_NODES];
    struct use uses[MAX_NODES][MAX_ACCESSES];
};

static void nothing(void *user)
{
    (void)user;
}

// A part of a buffer, or all of it.
static braid_access make_access(struct random *random, braid_graph *graph,
                                const braid_resource *buffers, struct use *use)
{
    *use = (struct use){ .buffer = random_below(random, NUM_BUFFERS), .end = BUFFER_BYTES };
    use->mode = (braid_access_mode)(1 + random_below(random, 5));
    if (random_below(random, 3))
        use->mode = BRAID_READ;
    braid_resource resource = buffers[use->buffer];
    if (use->buffer && random_below(random, 2)) {
        use->begin = random_below(random, BUFFER_BYTES);
        use->end = use->begin + 1 + random_below(random, BUFFER_BYTES - use->begin);
        check_ok(
            braid_graph_add_range(graph, resource, use->begin, use->end - use->begin, &resource));
    }
    return (braid_access){ resource, use->mode };
}

static void add_node(struct random *random, struct random_frames *frames,
                     const braid_resource *buffers, braid_node *nodes)
{
    uint32_t i = frames->num_nodes++;
    braid_access accesses[MAX_ACCESSES];
    uint32_t num = frames->num_uses[i] = 1 + random_below(random, MAX_ACCESSES);
    for (uint32_t k = 0; k < num; k++)
        accesses[k] = make_access(random, frames->graph, buffers, &frames->uses[i][k]);
    braid_node_options options = { .accesses = accesses, .num_accesses = num, .cost_ns = 1000 };
    if (i && random_below(random, 6) == 0 && nodes[i - 1].graph &&
        frames->has_work[i - 1]) // a bundle of two
        options.epilogue_of = nodes[i - 1];
    frames->has_work[i] = random_below(random, 8) || options.epilogue_of.graph;
    braid_status status =
        frames->has_work[i]
            ? braid_graph_add_host_call(
                  frames->graph, &(braid_host_call){ .node = options, .call = nothing }, &nodes[i])
            : braid_graph_add_empty(frames->graph, &(braid_empty){ .node = options }, &nodes[i]);
    if (options.epilogue_of.graph)
        nodes[i] = (braid_node){ 0 }; // nothing can be an epilogue of it
    check_ok(status);
}

static struct random_frames make_frames(struct random *random)
{
    struct random_frames frames = { 0 };
    braid_resource buffers[NUM_BUFFERS];
    braid_node nodes[MAX_NODES];
    check_ok(braid_graph_create(&frames.graph));
    for (uint32_t i = 0; i < NUM_BUFFERS; i++)
        check_ok(braid_graph_add_buffer(frames.graph, "buffer", NULL, BUFFER_BYTES, &buffers[i]));
    uint32_t num = 1 + random_below(random, MAX_NODES);
    while (frames.num_nodes < num)
        add_node(random, &frames, buffers, nodes);
    return frames;
}

static bool conflict(const struct random_frames *frames, uint32_t a, uint32_t b)
{
    for (uint32_t i = 0; i < frames->num_uses[a]; i++)
        for (uint32_t k = 0; k < frames->num_uses[b]; k++) {
            const struct use *x = &frames->uses[a][i], *y = &frames->uses[b][k];
            bool commute =
                x->mode == y->mode && (x->mode == BRAID_READ || x->mode == BRAID_ACCUMULATE);
            if (x->buffer == y->buffer && x->begin < y->end && y->begin < x->end && !commute)
                return true;
        }
    return false;
}

// Which tasks have ended, of all frames: bit frame * MAX_NODES + task.
struct ended {
    uint64_t words[2];
};

static bool has(const struct ended *ended, uint32_t bit)
{
    return ended->words[bit / 64] >> bit % 64 & 1;
}

static void join(struct ended *to, const struct ended *other)
{
    for (int i = 0; i < 2; i++)
        to->words[i] |= other->words[i];
}

struct brute_force {
    const struct random_frames *frames;
    struct ended positions[4 * MAX_NODES], published[NUM_FRAMES][MAX_NODES];
    uint32_t num_unordered;
};

static void run_task(struct brute_force *force, uint32_t frame, uint32_t task, struct ended *lane)
{
    for (uint32_t before = 0; before < frame; before++)
        for (uint32_t i = 0; i < force->frames->num_nodes; i++)
            if (force->frames->has_work[i] && conflict(force->frames, i, task))
                force->num_unordered += !has(lane, before * MAX_NODES + i);
    uint32_t bit = frame * MAX_NODES + task;
    lane->words[bit / 64] |= UINT64_C(1) << bit % 64;
}

static void run_frame(struct brute_force *force, const struct program *program, uint32_t frame)
{
    struct ended lanes[MAX_NODES] = { 0 };
    struct program_walk walk;
    assert_true(braid_program_walk_begin(program, &walk));
    for (const struct program_op *op; (op = program_walk_next(program, &walk));) {
        struct ended *lane = &lanes[walk.lane];
        if (op->kind == PROGRAM_RUN)
            run_task(force, frame, op->index, lane);
        else if (op->kind == PROGRAM_PUBLISH)
            force->positions[op->index] = *lane;
        else if (op->kind == PROGRAM_WAIT)
            join(lane, &force->positions[op->index]);
        else if (op->kind == PROGRAM_PUBLISH_FRAME)
            force->published[frame][op->index] = *lane;
        else if (frame)
            join(lane, &force->published[frame - 1][op->index]);
    }
    braid_program_walk_end(&walk);
}

static uint32_t count_unordered(const struct random_frames *frames, const struct program *program)
{
    struct brute_force force = { .frames = frames };
    for (uint32_t i = 0; i < NUM_FRAMES; i++)
        run_frame(&force, program, i);
    return force.num_unordered;
}

// A wait taken out becomes one for what the lane has just published, or the first position: here it
// is enough to let it name another task's position that says nothing, by making it a RUN of none.
static uint32_t take_out_each(const struct random_frames *frames, struct program *program)
{
    uint32_t num = 0;
    for (size_t i = 0; i < program->num_ops; i++) {
        if (program->ops[i].kind != PROGRAM_AWAIT_FRAME)
            continue;
        program->ops[i].kind = PROGRAM_PUBLISH_FRAME; // of a position that is published again
        uint32_t extra = program->num_frame_positions;
        struct program_op old = program->ops[i];
        struct program_position *positions = program->frame_positions;
        struct program_position more[MAX_NODES + 1];
        memcpy(more, positions, extra * sizeof(*more));
        more[extra] = (struct program_position){ .task = positions[old.index].task };
        program->frame_positions = more;
        program->num_frame_positions++;
        program->ops[i].index = extra; // which nobody awaits
        assert_true(count_unordered(frames, program) > 0);
        assert_int_equal(braid_program_verify_frames(program, frames->graph), BRAID_INTERNAL);
        program->num_frame_positions--;
        program->frame_positions = positions;
        program->ops[i] = (struct program_op){ PROGRAM_AWAIT_FRAME, old.index };
        num++;
    }
    return num;
}

static void frames_are_ordered_and_no_wait_is_too_many(void **state)
{
    (void)state;
    struct random random = { 12 };
    braid_device *device = NULL;
    uint32_t num_waits = 0, num_free = 0;
    check_ok(
        braid_device_open(&(braid_device_options){ .backend = "cpu", .num_workers = 2 }, &device));
    for (uint32_t i = 0; i < NUM_GRAPHS; i++) {
        struct random_frames frames = make_frames(&random);
        const braid_exec_options options = { .mode = BRAID_MODE_STREAMS,
                                             .frames = NUM_FRAMES,
                                             .plan = { .max_lanes = 4, .fixed_lanes = true } };
        braid_exec *exec = NULL;
        check_ok(braid_exec_create(device, frames.graph, &options, &exec));
        assert_false(exec->whole_frames);
        assert_int_equal(count_unordered(&frames, &exec->program), 0);
        uint32_t num = take_out_each(&frames, &exec->program);
        assert_int_equal(num, exec->info.num_frame_waits);
        num_free += num == 0;
        num_waits += num;
        braid_exec_destroy(exec);
        braid_graph_destroy(frames.graph);
    }
    print_message("%u graphs, %u waits between frames, none in %u\n", (unsigned)NUM_GRAPHS,
                  num_waits, num_free);
    check_ok(braid_device_close(device));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_are_ordered_and_no_wait_is_too_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
