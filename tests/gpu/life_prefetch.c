// SPDX-License-Identifier: Apache-2.0
// What a life does with a kernel that fetches inputs of the next one.
#include "gpu/life_prefetch.h"

#include <braid/capture.h>

#include "gpu/frame.h"
#include "support/check.h"
#include "support/left_out.h"

enum { BYTES = 24 << 10, WORDS = 3 };

// Two kernels, of which the second reads what nobody writes.
static braid_status fill_graph(braid_graph *graph, uint32_t *words, struct life_prefetch *prefetch)
{
    const uint32_t one = 1, *inputs = prefetch->inputs;
    uint32_t *first = words, *second = words + 1, *third = words + 2;
    braid_resource weights, vectors[WORDS];
    braid_status status = braid_graph_add_buffer(graph, "inputs", inputs, BYTES, &weights);
    for (int i = 0; i < WORDS && !status; i++)
        status = braid_graph_add_buffer(graph, "word", words + i, sizeof(*words), &vectors[i]);
    if (status)
        return status;
    const braid_kernel_node before = {
        .kernel = &sum_kernel,
        BRAID_ARGS(BRAID_ARG(second), BRAID_ARG(first), BRAID_ARG(first), BRAID_ARG(one)),
        BRAID_ACCESSES({ vectors[0], BRAID_READ }, { vectors[1], BRAID_WRITE }),
    };
    status = braid_graph_add_kernel(graph, &before, NULL);
    const braid_kernel_node reader = {
        .kernel = &sum_kernel,
        BRAID_ARGS(BRAID_ARG(third), BRAID_ARG(inputs), BRAID_ARG(second), BRAID_ARG(one)),
        BRAID_ACCESSES({ weights, BRAID_READ }, { vectors[1], BRAID_READ },
                       { vectors[2], BRAID_WRITE }),
    };
    return status ? status : braid_graph_add_kernel(graph, &reader, &prefetch->reader);
}

braid_status life_create_prefetch(braid_device *device, uint32_t *words, braid_exec_mode mode,
                                  struct life_prefetch *prefetch)
{
    braid_graph *graph = NULL;
    const braid_exec_options options = {
        .mode = mode, .frames_in_flight = 2, .capture = true, .islands = BRAID_ISLANDS_NEVER
    };
    braid_status status = BRAID_OK;
    if (!prefetch->inputs)
        status = braid_memory_allocate(device, BRAID_MEMORY_DEVICE, BYTES, &prefetch->inputs);
    if (!status)
        status = braid_graph_create(&graph);
    if (!status)
        status = fill_graph(graph, words, prefetch);
    if (!status)
        status = braid_exec_create(device, graph, &options, &prefetch->exec);
    braid_graph_destroy(graph);
    if (status)
        return status;
    braid_exec_info info;
    braid_exec_get_info(prefetch->exec, &info);
    prefetch->num = info.num_prefetches;
    return BRAID_OK;
}

braid_status life_run_prefetch(struct life_prefetch *prefetch, uint32_t *words)
{
    const uint32_t *inputs = prefetch->inputs;
    braid_status status = BRAID_OK;
    for (int i = 0; i < 2 && !status; i++) {
        check_ok(braid_exec_set_arg(prefetch->exec, prefetch->reader, 1, BRAID_ARG(inputs)));
        status = braid_exec_launch(prefetch->exec, NULL);
        inputs = words;
    }
    if (!status)
        status = braid_exec_wait(prefetch->exec);
    return status ? status
                  : unless_left_out(braid_exec_save_capture(prefetch->exec, "/dev/null", NULL));
}

void life_finish_prefetch(braid_device *device, struct life_prefetch *prefetch)
{
    braid_exec_destroy(prefetch->exec);
    if (prefetch->inputs)
        braid_memory_free(device, prefetch->inputs);
}
