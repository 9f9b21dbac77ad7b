// SPDX-License-Identifier: Apache-2.0
// Random graphs are run with outputs and without, and after each frame the outputs are the same,
// and so is what nodes without a declared result did. Parameters disable nodes from frame to frame.
#include <braid/braid.h>

#include "outputs/model.h"

enum { NUM_GRAPHS = 600, NUM_FRAMES = 6 };

struct run {
    struct model model;
    braid_graph *graph;
    braid_exec *exec;
};

// On lanes, on streams, and with several frames in flight.
static braid_exec_options options_of(uint64_t seed)
{
    return (braid_exec_options){ .mode = seed % 3 == 1 ? BRAID_MODE_STREAMS : BRAID_MODE_AUTO,
                                 .frames_in_flight = seed % 3 == 2 ? 3 : 1 };
}

static void begin_run(struct run *run, braid_device *device, uint64_t seed, bool has_outputs)
{
    const braid_exec_options options = options_of(seed);
    run->graph = model_graph(&run->model, seed);
    if (has_outputs)
        model_set_outputs(&run->model, run->graph);
    check_ok(braid_exec_create(device, run->graph, &options, &run->exec));
}

static void end_run(struct run *run)
{
    braid_exec_destroy(run->exec);
    destroy_now(run->graph);
}

// By the bits of a number.
static void run_frame(struct run *run, braid_stream *stream, uint64_t enabled)
{
    for (uint32_t i = 0; i < run->model.num_nodes; i++) {
        const uint32_t value = enabled >> i & 1;
        if (run->model.nodes[i].may_rest)
            check_ok(braid_exec_set_parameter(run->exec, run->model.nodes[i].enabled, &value));
    }
    check_ok(braid_exec_launch(run->exec, stream));
}

static void compare(const struct run *whole, const struct run *part, unsigned seed, unsigned frame)
{
    for (uint32_t i = 0; i < MODEL_OUTPUTS; i++) {
        const struct model_part *output = whole->model.outputs[i];
        for (uint32_t b = output->first; b < output->first + output->num; b++)
            if (whole->model.bytes[output->thing][b] != part->model.bytes[output->thing][b])
                fail_msg("graph %u, frame %u: byte %u of output %u is another", seed, frame, b, i);
    }
    for (uint32_t i = 0; i < whole->model.num_nodes; i++) {
        const struct model_node *all = &whole->model.nodes[i], *some = &part->model.nodes[i];
        if (some->num_runs > all->num_runs ||
            (model_has_effect(all) && some->num_runs != all->num_runs))
            fail_msg("graph %u, frame %u: node %u ran %u times, and %u without outputs", seed,
                     frame, i, some->num_runs, all->num_runs);
    }
}

static uint32_t num_runs(const struct model *model)
{
    uint32_t num = 0;
    for (uint32_t i = 0; i < model->num_nodes; i++)
        num += model->nodes[i].num_runs;
    return num;
}

static void outputs_are_those_of_the_whole_frame(void **state)
{
    static struct run whole, part;
    const braid_device_options options = { .backend = "cpu", .num_workers = 2 };
    uint32_t num_all = 0, num_some = 0;
    braid_device *device;
    braid_stream *stream;
    (void)state;
    check_ok(braid_device_open(&options, &device));
    check_ok(braid_stream_create(device, NULL, &stream));
    for (uint64_t seed = 0; seed < NUM_GRAPHS; seed++) {
        struct random random = { seed };
        begin_run(&whole, device, seed, false);
        begin_run(&part, device, seed, true);
        for (uint32_t frame = 0; frame < NUM_FRAMES; frame++) {
            uint64_t enabled = frame ? random_next(&random) : UINT64_MAX;
            run_frame(&whole, stream, enabled);
            run_frame(&part, stream, enabled);
            if (options_of(seed).frames_in_flight > 1 && frame + 1 < NUM_FRAMES)
                continue;
            check_ok(braid_exec_wait(whole.exec));
            check_ok(braid_exec_wait(part.exec));
            compare(&whole, &part, (unsigned)seed, frame);
        }
        num_all += num_runs(&whole.model);
        num_some += num_runs(&part.model);
        end_run(&whole);
        end_run(&part);
    }
    assert_true(num_some < num_all * 9 / 10);
    braid_stream_destroy(stream);
    check_ok(braid_device_close(device));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        owning_test(outputs_are_those_of_the_whole_frame),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
