// SPDX-License-Identifier: Apache-2.0
// Of random graphs with overlapping frames, every pair of conflicting accesses of several frames is
// ordered, by brute force; the proof says so too, and finds each wait that is taken out: there is
// none too many. Where buffers have versions there may be, and the proof tells which.
#include <string.h>

#include "exec/exec.h"
#include "program/program_frames.h"
#include "support/check.h"
#include "support/random.h"
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
    struct program_walk walk;
    if (frame >= force->frames->num_slots) // it takes the place of one that has ended
        for (uint32_t i = 0; i < MAX_NODES; i++)
            for (uint32_t bit = 0; bit <= (frame - force->frames->num_slots) * MAX_NODES + 39;
                 bit++)
                lanes[i].words[bit / 64] |= UINT64_C(1) << bit % 64;
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
        else if (frame >= op->frames_before)
            join(lane, &force->published[frame - op->frames_before][op->index]);
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

static uint32_t num_proven(const struct random_frames *frames)
{
    uint32_t num = 2;
    for (uint32_t i = 0; i < NUM_BUFFERS; i++)
        num = 2 * frames->num_versions[i] > num ? 2 * frames->num_versions[i] : num;
    return num < frames->num_slots ? num : frames->num_slots;
}

// A wait taken out becomes one for what the lane has just published, or the first position: here it
// is enough to let it name another task's position that says nothing, by making it a RUN of none.
static uint32_t take_out_each(const struct random_frames *frames, struct program *program,
                              uint32_t *num_too_many)
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
        bool is_too_many = count_unordered(frames, program) == 0;
        assert_int_equal(braid_program_verify_frames(program, frames->graph, num_proven(frames)),
                         is_too_many ? BRAID_OK : BRAID_INTERNAL);
        *num_too_many += is_too_many;
        program->num_frame_positions--;
        program->frame_positions = positions;
        program->ops[i] = old;
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
                                         .frames = frames.num_slots,
                                         .plan = { .max_lanes = 4, .fixed_lanes = true } };
    braid_exec *exec = NULL;
    check_ok(braid_exec_create(device, frames.graph, &options, &exec));
    assert_false(exec->info.whole_frames);
    assert_int_equal(count_unordered(&frames, &exec->program), 0);
    for (size_t i = 0; i < exec->program.num_ops; i++)
        totals->num_far += exec->program.ops[i].kind == PROGRAM_AWAIT_FRAME &&
                           exec->program.ops[i].frames_before > 1;
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
