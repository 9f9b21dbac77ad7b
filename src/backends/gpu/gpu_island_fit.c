// SPDX-License-Identifier: Apache-2.0
// Which of many tasks can be inside islands, before any is made.
#include "backends/gpu/gpu_island_fit.h"

#include <stdlib.h>

#include "backends/gpu/gpu_island.h"
#include "backends/gpu/gpu_island_move.h"
#include "backends/gpu/gpu_island_source.h"
#include "base/array.h"
#include "base/error.h"

// A source that was read, or why it cannot be used.
struct read_source {
    const char *text;
    const char *why_not;
    struct island_source source;
};

static void finish_sources(struct array *sources)
{
    struct read_source *items = sources->items;
    for (size_t i = 0; i < sources->num; i++) {
        if (!items[i].why_not)
            braid_island_source_finish(&items[i].source);
    }
    braid_array_finish(sources);
}

// NULL when memory runs out. Nodes that stand together often have one source.
static struct read_source *find_source(struct array *sources, const char *text)
{
    struct read_source *items = sources->items;
    for (size_t i = sources->num; i-- > 0;) {
        if (items[i].text == text)
            return &items[i];
    }
    if (!braid_array_reserve(sources, 1, sizeof(*items)))
        return NULL;
    struct read_source read = { .text = text };
    if (!braid_island_source_read(text, &read.source, &read.why_not) && !read.why_not)
        return NULL;
    items = sources->items;
    items[sources->num] = read;
    return &items[sources->num++];
}

// Sources of kernels are read once; that of copies and fills is one.
static braid_status fit_call(struct array *sources, const struct backend_task *task,
                             struct island_fit *fit)
{
    struct island_move move;
    const struct backend_launch *launch = braid_island_launch_of(task, &move);
    braid_dim3 grid = launch->grid, block = launch->block;
    fit->threads = block.x * block.y * block.z;
    fit->blocks = (uint64_t)grid.x * grid.y * grid.z;
    fit->arg_bytes = braid_island_arg_bytes(launch);
    const struct gpu_kernel *kernel = gpu_kernel_from(launch->kernel);
    const struct read_source *read = find_source(sources, kernel->code.source);
    if (!read)
        return braid_error_no_memory("the islands of an exec");
    struct island_facts facts;
    fit->why_not = read->why_not;
    if (!fit->why_not && braid_island_entry_fits(&read->source, kernel->entry, fit->threads,
                                                 fit->blocks, &facts, &fit->why_not))
        fit->runs_alone = facts.shared;
    return BRAID_OK;
}

braid_status braid_gpu_island_fits(struct gpu_backend *gpu, const struct backend_task *tasks,
                                   uint32_t num, struct island_fit *out_fits)
{
    struct array sources = { 0 };
    braid_status status = BRAID_OK;
    for (uint32_t i = 0; i < num && !status; i++) {
        const struct backend_task *task = &tasks[i];
        out_fits[i] = (struct island_fit){ .is_empty = task->kind == WORK_EMPTY };
        if (out_fits[i].is_empty)
            continue;
        status = braid_gpu_island_refuse_task(gpu, task, &out_fits[i].why_not);
        if (!out_fits[i].why_not && task->varies & ISLAND_SHAPE_TARGETS) // its length is not known
            out_fits[i].why_not = "a parameter changes its grid or disables it";
        if (!status && !out_fits[i].why_not)
            status = fit_call(&sources, task, &out_fits[i]);
    }
    finish_sources(&sources);
    return status;
}
