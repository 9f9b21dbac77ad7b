// SPDX-License-Identifier: Apache-2.0
// Measures costs as the frame is played without them, beside what then runs beside them.
#include "estimate.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../check.h"
#include "kernels.h"
#include "measure.h"
#include "run.h"

enum { FRAMES = 16 };

// A plan has the cost of every node.
static uint64_t *read_costs(const struct mpm_frame *frame)
{
    uint64_t *costs_ns = check_memory(calloc(frame->num_nodes, sizeof(*costs_ns)));
    braid_schedule *schedule;
    CHECK(braid_schedule_create(
        frame->graph, &(braid_schedule_options){ .costs = &(braid_cost_model){ 0 } }, &schedule));
    for (uint32_t i = 0; i < frame->num_nodes; i++) {
        braid_placement placement;
        CHECK(braid_schedule_get_placement(schedule, braid_graph_get_node(frame->graph, i),
                                           &placement));
        costs_ns[i] = placement.end_ns - placement.start_ns;
    }
    braid_schedule_destroy(schedule);
    return costs_ns;
}

static void print_cost(const struct mpm_frame *frame, const uint64_t *costs_ns, const char *name)
{
    uint64_t *found = check_memory(calloc(frame->num_nodes, sizeof(*found)));
    uint32_t num = 0;
    for (uint32_t i = 0; i < frame->num_nodes; i++) {
        const char *full =
            braid_graph_get_node_name(frame->graph, braid_graph_get_node(frame->graph, i));
        const char *kernel = strrchr(full, '.');
        if (kernel && strcmp(kernel + 1, name) == 0)
            found[num++] = costs_ns[i];
    }
    uint64_t median_ns = num ? mpm_median(found, num) : 0;
    if (num)
        printf("measured   %-20s %6.2f us (%.2f to %.2f in %" PRIu32 " node%s)\n", name,
               (double)median_ns / 1e3, (double)found[0] / 1e3, (double)found[num - 1] / 1e3, num,
               num == 1 ? "" : "s");
    free(found);
}

// Later frames take longer: the first ones would predict too short a time for the median frame.
uint64_t *mpm_measure_costs(braid_device *device, const struct mpm_scene *scene,
                            uint32_t num_frames)
{
    const uint32_t first = num_frames / 2 > FRAMES ? num_frames / 2 : FRAMES;
    printf("costs      are measured first, on this machine in the %d frames after frame %" PRIu32
           "\n",
           FRAMES, first);
    struct mpm_run run;
    const braid_exec_options options = { .frames_kept = FRAMES };
    if (!mpm_run_init(&run, "measured", device, scene, NULL, &options, first))
        exit(EXIT_FAILURE);
    for (uint32_t i = 0; i < first; i++)
        mpm_run_step(&run);
    braid_status status = braid_exec_measure(run.exec, run.frame.graph, FRAMES);
    if (status == BRAID_UNSUPPORTED) { // Braid was built without tuning
        printf("costs      are estimates from another machine: %s\n", braid_error_get_message());
        mpm_run_finish(&run);
        return NULL;
    }
    CHECK(status);
    uint64_t *costs_ns = read_costs(&run.frame);
    for (int kernel = 0; kernel < MPM_NUM_KERNELS; kernel++)
        print_cost(&run.frame, costs_ns, mpm_kernels[kernel].name);
    mpm_run_finish(&run);
    return costs_ns;
}
