// SPDX-License-Identifier: Apache-2.0
// The part that tells of iterations that could not be queued: when they fail, no launch is there to
// return it.
#include "exec/exec_loops.h"

#include <stdlib.h>

#include "base/error.h"
#include "exec/exec.h"
#include "graph/regions.h"

// Of several failures that of the earliest frame is told, and the others are forgotten with it.
static braid_status tell(struct exec_part *part, braid_exec *exec)
{
    struct error_attempt attempt;
    braid_status first = BRAID_OK;
    const struct exec_frames *frames = &exec->frames;
    uint64_t oldest = atomic_load(&frames->num_launched);
    (void)part;
    for (uint32_t i = 0; i < frames->num && exec->player->tell_failure; i++) {
        struct playing *playing = frames->slots[(oldest + i) % frames->num].playing;
        braid_status status = exec->player->tell_failure(playing);
        if (!status || first)
            continue;
        first = status;
        braid_error_begin_attempt(&attempt);
    }
    if (first)
        braid_error_end_attempt(&attempt, BRAID_OK);
    return first;
}

static braid_status before_launch(struct exec_part *part, braid_exec *exec,
                                  const struct exec_launch *launch)
{
    (void)launch;
    return tell(part, exec);
}

static void finish(struct exec_part *part, braid_exec *exec)
{
    (void)exec;
    free(part);
}

static const struct exec_part_ops ops = {
    .before_launch = before_launch,
    .wait = tell,
    .finish = finish,
};

braid_status braid_exec_add_loops(braid_exec *exec, const braid_graph *graph)
{
    if (!graph->regions.num)
        return BRAID_OK;
    struct exec_part *part = calloc(1, sizeof(*part));
    if (!part)
        return braid_error_no_memory("an exec");
    part->ops = &ops;
    braid_exec_add_part(&exec->parts, part);
    return BRAID_OK;
}
