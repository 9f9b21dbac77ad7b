// SPDX-License-Identifier: Apache-2.0
// Prints what was planned and measured.
#include "report.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "../check.h"

void mpm_report_scene(const struct mpm_scene *scene)
{
    printf("scene      ");
    for (int m = 0; m < MPM_NUM_MATERIALS; m++)
        printf("%" PRIu32 " %s%s", scene->num_particles[m], mpm_material_names[m],
               m + 1 < MPM_NUM_MATERIALS ? ", " : " particles; ");
    printf("%d x %d cells, %" PRIu32 " substeps a frame\n", scene->num_cells, scene->num_cells,
           scene->substeps);
}

void mpm_report_plan(const struct mpm_frame *frame, const braid_exec *exec)
{
    const braid_schedule *schedule = braid_exec_schedule(exec);
    braid_schedule_info plan;
    braid_exec_info info;
    char reason[256];
    braid_schedule_get_info(schedule, &plan);
    braid_exec_get_info(exec, &info);
    CHECK(braid_schedule_explain(schedule, frame->updates[MPM_WATER], frame->fade_foam, reason,
                                 sizeof(reason)));
    printf("plan       %" PRIu32 " nodes on %" PRIu32 " lanes, %" PRIu64 " waits, %" PRIu64
           " records, %" PRIu32 " events\n",
           plan.num_nodes, plan.num_lanes, plan.num_waits, plan.num_records, plan.num_events);
    printf("predicted  %" PRIu64 " us a frame, bound %" PRIu64 " us, one lane %" PRIu64 " us\n",
           plan.makespan_ns / 1000, plan.bound_ns / 1000, plan.one_lane_ns / 1000);
    printf("mode       %s: %s\n", info.mode == BRAID_MODE_NATIVE ? "native" : "streams",
           info.reason);
    printf("why        water.update_grid and water.fade_foam: %s (%" PRIu32
           " serialised pairs in all)\n",
           reason, plan.num_serialisations);
}

void mpm_report_progress(const char *title, uint32_t frame, uint32_t num_frames)
{
    if (!isatty(STDERR_FILENO))
        return;
    fprintf(stderr, "\r%-28s frame %" PRIu32 " of %" PRIu32, title, frame, num_frames);
    if (frame == num_frames)
        fprintf(stderr, "\r%60s\r", "");
    fflush(stderr);
}

bool mpm_report_difference(const char *title, const struct mpm_difference *difference)
{
    if (difference->num_different == 0 && difference->num_foam_cells == 0) {
        printf("compared   %s: all %" PRIu32 " particles equal the sequential run, bit by bit\n",
               title, difference->num_particles);
        return true;
    }
    printf("DIFFERENT  %s: %" PRIu32 " of %" PRIu32 " particles, up to %g cells, and %" PRIu32
           " cells of foam\n",
           title, difference->num_different, difference->num_particles,
           (double)difference->max_distance, difference->num_foam_cells);
    return false;
}

void mpm_report_table_head(void)
{
    printf("\n%-28s %5s %6s %7s %12s %9s %11s\n", "us a frame (median)", "lanes", "waits",
           "records", "launch+wait", "launch", "sequential");
}

void mpm_report_sequential(uint64_t median_ns)
{
    printf("%-28s %5s %6s %7s %12.1f %9s %10.2fx\n", "plain C, no Braid", "", "", "",
           (double)median_ns / 1e3, "", 1.0);
}

void mpm_report_result(const char *title, const struct mpm_result *result, uint64_t sequential_ns)
{
    printf("%-28s %5" PRIu32 " %6" PRIu64 " %7" PRIu64 " %12.1f %9.1f %10.2fx\n", title,
           result->schedule.num_lanes, result->schedule.num_waits, result->schedule.num_records,
           (double)result->median_ns / 1e3, (double)result->host_ns / 1e3,
           (double)sequential_ns / (double)result->median_ns);
}
