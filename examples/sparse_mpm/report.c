// SPDX-License-Identifier: Apache-2.0
// Prints what was planned and measured.
#include "report.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "../check.h"
#include "compare.h"
#include "measure.h"

enum { REASON_BYTES = 256 };

void mpm_report_scene(const struct mpm_scene *scene)
{
    printf("scene      ");
    for (int m = 0; m < MPM_NUM_MATERIALS; m++)
        printf("%" PRIu32 " %s%s", scene->num_particles[m], mpm_material_names[m],
               m + 1 < MPM_NUM_MATERIALS ? ", " : " particles; ");
    printf("%d x %d cells, %" PRIu32 " substeps a frame\n", scene->num_cells, scene->num_cells,
           scene->substeps);
}

// A Braid without reports says that instead.
static void explain(const braid_schedule *schedule, const braid_node *nodes, size_t num_nodes,
                    char out_reason[REASON_BYTES])
{
    braid_status status =
        braid_schedule_explain(schedule, nodes, num_nodes, out_reason, REASON_BYTES);
    if (status == BRAID_UNSUPPORTED)
        snprintf(out_reason, REASON_BYTES, "not told (%s)", braid_error_get_message());
    else
        CHECK(status);
}

// On the CPU there are none: its workers walk their lanes anyway.
static void report_islands(const struct mpm_run *run, const braid_schedule *schedule,
                           const braid_exec_info *info)
{
    char reason[REASON_BYTES];
    if (info->num_islands) {
        printf("islands    %" PRIu32 " of the %" PRIu32 " nodes run inside %" PRIu32 " kernels\n",
               info->num_island_nodes, run->frame.num_nodes, info->num_islands);
    } else if (!run->frame.on_cpu) {
        explain(schedule, &run->frame.fade_foam, 1, reason);
        printf("islands    none; water.fade_foam is %s\n", reason);
    }
}

void mpm_report_plan(const struct mpm_run *run)
{
    const braid_schedule *schedule = braid_exec_get_schedule(run->exec);
    braid_schedule_info plan;
    braid_exec_info info;
    char reason[REASON_BYTES];
    braid_schedule_get_info(schedule, &plan);
    braid_exec_get_info(run->exec, &info);
    const braid_node pair[] = { run->frame.updates[MPM_WATER], run->frame.fade_foam };
    explain(schedule, pair, 2, reason);
    printf("plan       %" PRIu32 " nodes on %" PRIu32 " lanes, %" PRIu64 " waits, %" PRIu64
           " records\n",
           plan.num_nodes, plan.num_lanes, plan.num_waits, plan.num_records);
    printf("predicted  %" PRIu64 " us a frame, bound %" PRIu64 " us, one lane %" PRIu64 " us\n",
           plan.makespan_ns / 1000, plan.bound_ns / 1000, plan.one_lane_ns / 1000);
    printf("mode       %s\n", info.reason);
    report_islands(run, schedule, &info);
    printf("why        water.update_grid and water.fade_foam: %s (%" PRIu32
           " serialised pairs in all)\n",
           reason, plan.num_serialisations);
}

void mpm_report_progress(const char *backend, uint32_t frame, uint32_t num_frames)
{
    if (!isatty(STDERR_FILENO))
        return;
    fprintf(stderr, "\r%s: frame %" PRIu32 " of %" PRIu32, backend, frame, num_frames);
    if (frame == num_frames)
        fprintf(stderr, "\r%40s\r", "");
    fflush(stderr);
}

bool mpm_report_difference(const struct mpm_run *run, const struct mpm_sequential *reference)
{
    struct mpm_state state;
    mpm_world_read(&run->world, &state);
    struct mpm_difference difference = mpm_compare(run->scene, &state, reference);
    mpm_state_finish(&state);
    if (difference.num_different == 0 && difference.num_foam_cells == 0) {
        printf("compared   %s: all %" PRIu32 " particles equal the sequential run, bit by bit\n",
               run->title, difference.num_particles);
        return true;
    }
    printf("DIFFERENT  %s: %" PRIu32 " of %" PRIu32 " particles, up to %g cells, and %" PRIu32
           " cells of foam\n",
           run->title, difference.num_different, difference.num_particles,
           (double)difference.max_distance, difference.num_foam_cells);
    return false;
}

static void report_run(const struct mpm_run *run, double total_us, double host_us,
                       double sequential_us)
{
    braid_schedule_info plan;
    braid_schedule_get_info(braid_exec_get_schedule(run->exec), &plan);
    printf("%-30s %5" PRIu32 " %6" PRIu64 " %7" PRIu64 " %10.1f %10.1f %9.2fx\n", run->title,
           plan.num_lanes, plan.num_waits, plan.num_records, total_us, host_us,
           sequential_us / total_us);
}

void mpm_report_times(struct mpm_sequential *reference, struct mpm_run *runs, uint32_t num_runs)
{
    double sequential_us = (double)mpm_median(reference->total_ns, reference->num_frames) / 1e3;
    double first_us = 0, second_us = 0;
    printf("\n%-30s %5s %6s %7s %10s %10s %10s\n", "microseconds a frame (median)", "lanes",
           "waits", "records", "total", "launch", "speed-up");
    printf("%-30s %5s %6s %7s %10.1f %10s %9.2fx\n", "plain C, no Braid", "", "", "", sequential_us,
           "", 1.0);
    for (uint32_t i = 0; i < num_runs; i++) {
        double total_us = (double)mpm_median(runs[i].total_ns, runs[i].num_frames) / 1e3;
        double host_us = (double)mpm_median(runs[i].host_ns, runs[i].num_frames) / 1e3;
        report_run(&runs[i], total_us, host_us, sequential_us);
        first_us = i == 0 ? total_us : first_us;
        second_us = i == 1 ? total_us : second_us;
    }
    printf("\nspeed-up over one lane: %.2fx (%.1f us a frame, one lane %.1f us)\n",
           second_us / first_us, first_us, second_us);
}
