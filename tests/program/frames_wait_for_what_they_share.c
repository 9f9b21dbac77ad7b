// SPDX-License-Identifier: Apache-2.0
// Of random graphs with overlapping frames, every pair of conflicting accesses of several frames is
// ordered, by brute force; the proof says so too, and finds each wait that is taken out: there is
// none too many. Where buffers have versions there may be, and the proof tells which.
#include <stdlib.h>
#include <string.h>

#include "base/host_memory.h"
#include "exec/exec.h"
#include "support/check.h"
#include "support/random.h"
#include "tasks/program_frames.h"
#include "verify/verify_program.h"

enum { NUM_GRAPHS = 200, MAX_NODES = 40, NUM_FRAMES = 8, NUM_BUFFERS = 3, BUFFER_BYTES = 8 };
enum { MAX_ACCESSES = 3, MAX_RANGES = 12, MAX_VERSIONS = 4, NUM_WORDS = 5 };

struct use {
    uint32_t buffer, begin, end;
    uint32_t num_versions, frames_before; // 1 and 0 of a buffer without
    braid_access_mode mode;
};

struct random_frames {
    braid_graph *graph;
    uint32_t num_slots, num_nodes;
    uint32_t num_versions[NUM_BUFFERS];
    bool has_work[MAX_NODES];
    uint32_t num_uses[MAX_NODES];
    struct use uses[MAX_NODES][MAX_ACCESSES];
};

static void nothing(void *user)
{
    (void)user;
}

// A part of a buffer, or all of it.
static braid_access make_access(struct random *random, const struct random_frames *frames,
                                const braid_resource *buffers, struct use *use)
{
    braid_graph *graph = frames->graph;
    *use = (struct use){ .buffer = random_below(random, NUM_BUFFERS), .end = BUFFER_BYTES };
    use->mode = (braid_access_mode)(1 + random_below(random, 5));
    if (random_below(random, 3))
        use->mode = BRAID_READ;
    braid_resource resource = buffers[use->buffer];
    use->num_versions = frames->num_versions[use->buffer];
    if (use->num_versions > 1) {
        use->frames_before = random_below(random, use->num_versions);
        if (use->frames_before)
            check_ok(
                braid_graph_add_earlier_version(graph, resource, use->frames_before, &resource));
        return (braid_access){ resource, use->mode };
    }
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
        accesses[k] = make_access(random, frames, buffers, &frames->uses[i][k]);
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

static struct random_frames make_frames(struct random *random, bool has_versions)
{
    struct random_frames frames = { .num_slots = 3 };
    if (has_versions)
        frames.num_slots = 2 + random_below(random, 4);
    braid_resource buffers[NUM_BUFFERS];
    braid_node nodes[MAX_NODES];
    check_ok(braid_graph_create(&frames.graph));
    for (uint32_t i = 0; i < NUM_BUFFERS; i++) {
        frames.num_versions[i] = has_versions ? 1 + random_below(random, MAX_VERSIONS) : 1;
        if (frames.num_versions[i] > 1)
            check_ok(braid_graph_add_versioned_buffer(
                frames.graph, "versions", NULL, frames.num_versions[i], BUFFER_BYTES, &buffers[i]));
        else
            check_ok(
                braid_graph_add_buffer(frames.graph, "buffer", NULL, BUFFER_BYTES, &buffers[i]));
    }
    uint32_t num = 1 + random_below(random, MAX_NODES);
    while (frames.num_nodes < num)
        add_node(random, &frames, buffers, nodes);
    return frames;
}

static bool is_same_memory(const struct use *x, uint32_t x_frame, const struct use *y,
                           uint32_t y_frame)
{
    uint32_t num = x->num_versions;
    return x->buffer == y->buffer && x->begin < y->end && y->begin < x->end &&
           (x_frame + num - x->frames_before) % num == (y_frame + num - y->frames_before) % num;
}

// Node a of one frame and b of another.
static bool conflict(const struct random_frames *frames, uint32_t a, uint32_t a_frame, uint32_t b,
                     uint32_t b_frame)
{
    for (uint32_t i = 0; i < frames->num_uses[a]; i++)
        for (uint32_t k = 0; k < frames->num_uses[b]; k++) {
            const struct use *x = &frames->uses[a][i], *y = &frames->uses[b][k];
            bool commute =
                x->mode == y->mode && (x->mode == BRAID_READ || x->mode == BRAID_ACCUMULATE);
            if (is_same_memory(x, a_frame, y, b_frame) && !commute)
                return true;
        }
    return false;
}

// Which tasks have ended, of all frames: bit frame * MAX_NODES + task.
struct ended {
    uint64_t words[NUM_WORDS];
};

static bool has(const struct ended *ended, uint32_t bit)
{
    return ended->words[bit / 64] >> bit % 64 & 1;
}

static void join(struct ended *to, const struct ended *other)
{
    for (int i = 0; i < NUM_WORDS; i++)
        to->words[i] |= other->words[i];
}

struct brute_force {
    const struct random_frames *frames;
    struct ended positions[4 * MAX_NODES], published[NUM_FRAMES][4 * MAX_NODES];
    uint32_t num_unordered;
};

static void run_task(struct brute_force *force, uint32_t frame, uint32_t task, struct ended *lane)
{
    for (uint32_t before = 0; before < frame; before++)
        for (uint32_t i = 0; i < force->frames->num_nodes; i++)
            if (force->frames->has_work[i] && conflict(force->frames, i, before, task, frame))
                force->num_unordered += !has(lane, before * MAX_NODES + i);
    uint32_t bit = frame * MAX_NODES + task;
    lane->words[bit / 64] |= UINT64_C(1) << bit % 64;
}

static void run_frame(struct brute_force *force, const struct program *program, uint32_t frame)
{
    struct ended lanes[MAX_NODES] = { 0 };
    if (frame >= force->frames->num_slots) // it takes the place of one that has ended
        for (uint32_t i = 0; i < MAX_NODES; i++)
            for (uint32_t bit = 0; bit <= (frame - force->frames->num_slots) * MAX_NODES + 39;
                 bit++)
                lanes[i].words[bit / 64] |= UINT64_C(1) << bit % 64;
    for (size_t i = 0; i < program->num_ops; i++) {
        const braid_step *op = &program->ops[i];
        struct ended *lane = &lanes[op->lane];
        uint32_t before = program_frames_before(program, op);
        if (program_runs(program, op))
            run_task(force, frame, op->node, lane);
        else if (op->kind == BRAID_STEP_RECORD)
            force->positions[op->position] = *lane;
        else if (op->kind == BRAID_STEP_WAIT)
            join(lane, &force->positions[op->position]);
        else if (op->kind == PROGRAM_RECORD_FRAME)
            force->published[frame][op->position] = *lane;
        else if (op->kind == PROGRAM_AWAIT_FRAME && frame >= before)
            join(lane, &force->published[frame - before][program_position_index(program, op)]);
    }
}

static uint32_t count_unordered(const struct random_frames *frames, const struct program *program)
{
    struct brute_force force = { .frames = frames };
    for (uint32_t i = 0; i < NUM_FRAMES; i++)
        run_frame(&force, program, i);
    return force.num_unordered;
}

static uint32_t num_proven(const struct random_frames *frames)
{
    uint32_t num = 2;
    for (uint32_t i = 0; i < NUM_BUFFERS; i++)
        num = 2 * frames->num_versions[i] > num ? 2 * frames->num_versions[i] : num;
    return num < frames->num_slots ? num : frames->num_slots;
}

static bool is_right_without(const struct random_frames *frames, const struct program *program,
                             size_t op)
{
    struct program copy = *program;
    copy.ops = malloc(program->num_ops * sizeof(*copy.ops));
    copy.lanes = malloc(program->num_lanes * sizeof(*copy.lanes));
    copy.lane_ops = NULL;
    assert_true(copy.ops && copy.lanes);
    memcpy(copy.ops, program->ops, program->num_ops * sizeof(*copy.ops));
    memcpy(copy.lanes, program->lanes, program->num_lanes * sizeof(*copy.lanes));
    copy.num_ops--;
    memmove(&copy.ops[op], &copy.ops[op + 1], (copy.num_ops - op) * sizeof(*copy.ops));
    assert_true(braid_program_list_lanes(&copy));
    bool is_too_many = count_unordered(frames, &copy) == 0;
    assert_int_equal(braid_program_verify_frames(&copy, frames->graph, num_proven(frames)),
                     is_too_many ? BRAID_OK : BRAID_INTERNAL);
    free(copy.ops);
    free(copy.lanes);
    braid_free(copy.lane_ops);
    return is_too_many;
}

static uint32_t take_out_each(const struct random_frames *frames, const struct program *program,
                              uint32_t *num_too_many)
{
    uint32_t num = 0;
    for (size_t i = 0; i < program->num_ops; i++) {
        if (program->ops[i].kind != PROGRAM_AWAIT_FRAME)
            continue;
        *num_too_many += is_right_without(frames, program, i);
        num++;
    }
    return num;
}

struct totals {
    uint32_t num_waits, num_free, num_too_many, num_far;
};

static void check_one(braid_device *device, struct random *random, bool has_versions,
                      struct totals *totals)
{
    struct random_frames frames = make_frames(random, has_versions);
    const braid_exec_options options = { .mode = BRAID_MODE_STREAMS,
                                         .frames_in_flight = frames.num_slots,
                                         .max_lanes = 4,
                                         .fixed_lanes = true };
    braid_exec *exec = NULL;
    check_ok(braid_exec_create(device, frames.graph, &options, &exec));
    assert_false(exec->info.whole_frames);
    assert_int_equal(count_unordered(&frames, &exec->program), 0);
    for (size_t i = 0; i < exec->program.num_ops; i++)
        totals->num_far += program_frames_before(&exec->program, &exec->program.ops[i]) > 1;
    uint32_t num = take_out_each(&frames, &exec->program, &totals->num_too_many);
    assert_int_equal(num, exec->info.num_frame_waits);
    totals->num_free += num == 0;
    totals->num_waits += num;
    braid_exec_destroy(exec);
    braid_graph_destroy(frames.graph);
}

static struct totals check_many(bool has_versions)
{
    struct random random = { 12 };
    struct totals totals = { 0 };
    braid_device *device = NULL;
    check_ok(
        braid_device_open(&(braid_device_options){ .backend = "cpu", .num_workers = 2 }, &device));
    for (uint32_t i = 0; i < NUM_GRAPHS; i++)
        check_one(device, &random, has_versions, &totals);
    check_ok(braid_device_close(device));
    print_message("%u graphs, %u waits between frames, %u of them for frames before the last, %u "
                  "too many, none in %u\n",
                  (unsigned)NUM_GRAPHS, totals.num_waits, totals.num_far, totals.num_too_many,
                  totals.num_free);
    return totals;
}

static void frames_are_ordered_and_no_wait_is_too_many(void **state)
{
    (void)state;
    assert_int_equal(check_many(false).num_too_many, 0);
}

static void versions_are_ordered_with_the_frames_that_have_them(void **state)
{
    (void)state;
    struct totals totals = check_many(true);
    assert_true(totals.num_far > 0);
    assert_true(totals.num_too_many < totals.num_waits / 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_are_ordered_and_no_wait_is_too_many),
        cmocka_unit_test(versions_are_ordered_with_the_frames_that_have_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
