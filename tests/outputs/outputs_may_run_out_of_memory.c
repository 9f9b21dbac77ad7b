// SPDX-License-Identifier: Apache-2.0
// Whichever allocation fails while outputs are declared, a graph with outputs is planned, proved,
// drawn or made an exec, the call says so and leaves nothing behind (sanitizer builds see that).
#include <braid/braid.h>

#include "outputs/model.h"
#include "support/failing_memory.h"
#include "support/wide_plan.h"

enum { NUM_GRAPHS = 6 };

// With nodes that are left out and nodes that may rest.
static braid_graph *make_graph(struct model *model, uint64_t seed)
{
    braid_graph *graph = model_graph(model, 40 + seed);
    model_set_outputs(model, graph);
    return graph;
}

static braid_status declare(const struct model *model, braid_graph *graph)
{
    braid_status status = BRAID_OK;
    for (uint32_t i = 0; i < MODEL_OUTPUTS && !status; i++)
        status = braid_graph_set_output(graph, model->outputs[i]->handle);
    return status;
}

static void declaring(void **state)
{
    static struct model model;
    bool failed = true;
    (void)state;
    for (uint64_t nth = 1; failed; nth++) {
        braid_graph *graph = model_graph(&model, 0);
        failing_memory_arm(nth);
        braid_status status = declare(&model, graph);
        failed = failing_memory_disarm();
        assert_int_equal(status, failed ? BRAID_NO_MEMORY : BRAID_OK);
        destroy_now(graph);
    }
}

static void planning_and_proving(void **state)
{
    static struct model model;
    (void)state;
    for (uint64_t seed = 0; seed < NUM_GRAPHS; seed++) {
        braid_graph *graph = make_graph(&model, seed);
        bool failed = true;
        for (uint64_t nth = 1; failed; nth++) {
            braid_schedule *schedule = NULL;
            failing_memory_arm(nth);
            braid_status status = braid_schedule_create(
                graph, &(braid_schedule_options){ .costs = &free_costs }, &schedule);
            if (!status)
                status = braid_schedule_verify(schedule, graph);
            failed = failing_memory_disarm();
            assert_int_equal(status, failed ? BRAID_NO_MEMORY : BRAID_OK);
            braid_schedule_destroy(schedule);
        }
        destroy_now(graph);
    }
}

static void drawing(void **state)
{
    static struct model model;
    (void)state;
    braid_graph *graph = make_graph(&model, 1);
    bool failed = true;
    for (uint64_t nth = 1; failed; nth++) {
        FILE *file = tmpfile();
        assert_non_null(file);
        failing_memory_arm(nth);
        braid_status status = braid_graph_write_dot(graph, file);
        failed = failing_memory_disarm();
        assert_int_equal(status, failed ? BRAID_NO_MEMORY : BRAID_OK);
        fclose(file);
    }
}

static void making_execs(void **state)
{
    static struct model model;
    const braid_device_options options = { .backend = "cpu", .num_workers = 1 };
    braid_device *device;
    (void)state;
    check_ok(braid_device_open(&options, &device));
    for (uint64_t seed = 0; seed < NUM_GRAPHS; seed++) {
        braid_graph *graph = make_graph(&model, seed);
        bool failed = true;
        for (uint64_t nth = 1; failed; nth++) {
            braid_exec *exec = NULL;
            failing_memory_arm(nth);
            braid_status status = braid_exec_create(device, graph, NULL, &exec);
            failed = failing_memory_disarm();
            assert_int_equal(status, failed ? BRAID_NO_MEMORY : BRAID_OK);
            braid_exec_destroy(exec);
        }
        destroy_now(graph);
    }
    check_ok(braid_device_close(device));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        owning_test(declaring),
        owning_test(planning_and_proving),
        owning_test(drawing),
        owning_test(making_execs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
