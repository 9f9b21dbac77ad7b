// SPDX-License-Identifier: Apache-2.0
// In graph mode a frame waits at the gates of earlier ones for what it shares with them, at no
// others, and its worker does other work meanwhile.
#include <sched.h>

#include <braid/braid.h>

#include "cpu/cpu_testing.h"
#include "support/check.h"
#include "support/wide_plan.h"

enum { DEPTH = 3, MOST_VERSIONS = 3, NUM_FRAMES = 500, NUM_LOOKS = 1000 };

// A memory of the value, which every num_versions-th frame has.
struct version {
    atomic_uint num_writes, num_reads; // that have ended
};

// What frames in flight do to a value: "write" begins it anew and "read", which may be held up,
// needs it as it is. "other" shares nothing with the two.
struct frames {
    braid_device *device;
    braid_graph *graph;
    braid_exec *exec;
    braid_stream *stream; // frames on the default stream follow each other
    struct gate gate;     // the first frame's read waits there
    atomic_uint num_writes, num_reads, num_others, num_wrong;
    struct version versions[MOST_VERSIONS];
    unsigned num_versions;
    unsigned other; // what "other" counts, without care
    bool holds;
};

static struct frames *frames; // the one there is: a call is given the address of its version

static void check(bool right)
{
    if (!right)
        atomic_fetch_add(&frames->num_wrong, 1);
}

static void write_value(void *user)
{
    struct version *version = user;
    check(atomic_load(&version->num_reads) == atomic_load(&version->num_writes));
    atomic_fetch_add(&version->num_writes, 1);
    atomic_fetch_add(&frames->num_writes, 1);
}

static void read_value(void *user)
{
    struct version *version = user;
    unsigned num_before = atomic_load(&version->num_reads);
    check(atomic_load(&version->num_writes) == num_before + 1);
    if (version == frames->versions && num_before == 0 && frames->holds)
        gate_pass(&frames->gate);
    check(atomic_load(&version->num_writes) == num_before + 1);
    atomic_fetch_add(&version->num_reads, 1);
    atomic_fetch_add(&frames->num_reads, 1);
}

static void count_other(void *number)
{
    ++*(unsigned *)number;
    atomic_fetch_add(&frames->num_others, 1);
}

static void add_call(braid_host_function *call, braid_resource resource, braid_access_mode mode,
                     void *user)
{
    const braid_access access = { resource, mode };
    check_ok(braid_graph_add_host_call(
        frames->graph,
        &(braid_host_call){ .node = { .accesses = &access, .num_accesses = 1, .cost_ns = 1000 },
                            .call = call,
                            .user = user,
                            .user_resource = user ? (braid_resource){ 0 } : resource },
        NULL));
}

static void add_nodes(void)
{
    braid_resource value, number;
    void *addresses[MOST_VERSIONS];
    for (unsigned i = 0; i < MOST_VERSIONS; i++)
        addresses[i] = &frames->versions[i];
    if (frames->num_versions > 1)
        check_ok(braid_graph_add_versioned_buffer(frames->graph, "value", addresses,
                                                  frames->num_versions, sizeof(struct version),
                                                  &value));
    else
        check_ok(braid_graph_add_buffer(frames->graph, "value", addresses[0],
                                        sizeof(struct version), &value));
    check_ok(braid_graph_add_resource(frames->graph, "number", &number));
    add_call(write_value, value, BRAID_WRITE, NULL);
    add_call(read_value, value, BRAID_READ, NULL);
    add_call(count_other, number, BRAID_READ_WRITE, &frames->other);
}

static void begin(struct frames *of, uint32_t num_workers, unsigned num_versions, bool holds)
{
    *of = (struct frames){ .num_versions = num_versions, .holds = holds };
    frames = of;
    check_ok(braid_device_open(
        &(braid_device_options){ .backend = "cpu", .num_workers = num_workers }, &of->device));
    check_ok(braid_stream_create(of->device, NULL, &of->stream));
    check_ok(braid_graph_create(&of->graph));
    add_nodes();
    const braid_exec_options options = {
        .mode = BRAID_MODE_GRAPH,
        .frames_in_flight = DEPTH,
        .max_lanes = BRAID_ALL_LANES,
        .fixed_lanes = true,
    };
    check_ok(braid_exec_create(of->device, of->graph, &options, &of->exec));
    braid_exec_info info;
    braid_exec_get_info(of->exec, &info);
    assert_int_equal(info.mode, BRAID_MODE_GRAPH);
    assert_false(info.whole_frames);
}

static void finish(struct frames *of)
{
    braid_exec_destroy(of->exec);
    braid_graph_destroy(of->graph);
    braid_stream_destroy(of->stream);
    check_ok(braid_device_close(of->device));
    assert_false(atomic_load(&of->gate.gave_way));
    assert_int_equal(atomic_load(&of->num_wrong), 0);
}

// With one value the second frame's write waits for the first frame's read, with two the third's,
// with as many as there are frames in flight none; and the other lanes of those frames go on.
static void a_frame_waits_for_what_it_shares_alone(void **state)
{
    (void)state;
    for (unsigned num_versions = 1; num_versions <= MOST_VERSIONS; num_versions++) {
        struct frames of;
        begin(&of, 4, num_versions, true);
        for (int i = 0; i < DEPTH; i++)
            check_ok(braid_exec_launch(of.exec, of.stream));
        bool met = reaches(&of.num_others, DEPTH) && reaches(&of.num_writes, num_versions) &&
                   reaches(&of.num_reads, num_versions - 1);
        for (int i = 0; i < NUM_LOOKS; i++)
            sched_yield();
        unsigned num_writes = atomic_load(&of.num_writes), num_reads = atomic_load(&of.num_reads);
        gate_open(&of.gate);
        check_ok(braid_exec_wait(of.exec));
        assert_true(met);
        assert_int_equal(num_writes, num_versions);
        assert_int_equal(num_reads, num_versions - 1);
        assert_int_equal(atomic_load(&of.num_reads), DEPTH);
        finish(&of);
    }
}

static void set(void *flag)
{
    atomic_store((atomic_uint *)flag, 1);
}

// Two workers: one is in the read that is held up; the other must not wait at the gate with the
// lane of the next frame, or nobody else's work is done.
static void a_lane_at_a_gate_keeps_no_worker(void **state)
{
    (void)state;
    struct frames of;
    begin(&of, 2, 1, true);
    braid_stream *stream;
    check_ok(braid_stream_create(of.device, NULL, &stream));
    for (int i = 0; i < DEPTH; i++)
        check_ok(braid_exec_launch(of.exec, of.stream));
    assert_true(reaches(&of.num_others, DEPTH));
    atomic_uint done = 0;
    check_ok(braid_stream_host_call(stream, set, &done));
    bool met = reaches(&done, 1);
    gate_open(&of.gate);
    check_ok(braid_exec_wait(of.exec));
    assert_true(met);
    braid_stream_destroy(stream);
    finish(&of);
}

// The gates' numbers go on through all frames, whichever slot these are in.
static void many_frames_keep_their_order(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 6; i++) {
        struct frames of;
        begin(&of, 1 + i % 3, 1 + i / 2, false);
        for (int frame = 0; frame < NUM_FRAMES; frame++) {
            check_ok(braid_exec_launch(of.exec, of.stream));
            if (frame % 97 == 96)
                check_ok(braid_exec_wait(of.exec));
        }
        check_ok(braid_exec_wait(of.exec));
        assert_int_equal(atomic_load(&of.num_writes), NUM_FRAMES);
        assert_int_equal(atomic_load(&of.num_reads), NUM_FRAMES);
        assert_int_equal(of.other, NUM_FRAMES); // one after another
        finish(&of);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_frame_waits_for_what_it_shares_alone),
        cmocka_unit_test(a_lane_at_a_gate_keeps_no_worker),
        cmocka_unit_test(many_frames_keep_their_order),
    };
    return cmocka_run_group_tests_name("cpu: frames wait at gates", tests, NULL, NULL);
}
