// SPDX-License-Identifier: Apache-2.0
// Times of nodes in loops and branches of a driver's graph.
#include "players/graph/graph_tally.h"

#include <stdlib.h>

#include "backends/gpu/gpu_island_memory.h"
#include "base/error.h"

static const char what_tallies[] = "the times of nodes in loops";

struct graph_tallies {
    struct gpu_backend *gpu;
    struct gpu_kernel kernel; // GPU_OWN_TALLY
    struct graph_stamps stamps;
    struct gpu_tally *memory; // on the device, by frame and row
    size_t num_bytes;
};

static braid_status find_kernel(struct graph_tallies *tallies)
{
    gpu_function *function = &tallies->kernel.function;
    braid_status status = braid_gpu_find_own(tallies->gpu, GPU_OWN_TALLY, function);
    if (status || *function)
        return status;
    return braid_error(
        BRAID_UNSUPPORTED,
        "%s: nodes in loops and branches keep no times: its driver does not take the "
        "text of the kernel that adds them up",
        tallies->gpu->label);
}

static braid_status make_room(struct graph_tallies *tallies)
{
    void *memory = NULL, *zeros = calloc(tallies->num_bytes, 1);
    if (!zeros)
        return braid_error_no_memory(what_tallies);
    braid_status status = braid_gpu_island_memory_take(tallies->gpu, BRAID_MEMORY_DEVICE,
                                                       tallies->num_bytes, &memory);
    tallies->memory = memory;
    if (!status)
        status = braid_gpu_copy_now(tallies->gpu, memory, zeros, tallies->num_bytes,
                                    "making room for times");
    free(zeros);
    return status;
}

braid_status braid_graph_tallies_create(struct gpu_backend *gpu, const struct graph_stamps *stamps,
                                        struct graph_tallies **out_tallies)
{
    struct graph_tallies *tallies = calloc(1, sizeof(*tallies));
    if (!tallies)
        return braid_error_no_memory(what_tallies);
    tallies->gpu = gpu;
    tallies->stamps = *stamps;
    tallies->num_bytes = (size_t)stamps->num_rows * stamps->room * sizeof(struct gpu_tally);
    braid_status status = find_kernel(tallies);
    if (!status)
        status = make_room(tallies);
    if (status)
        braid_graph_tallies_destroy(tallies);
    else
        *out_tallies = tallies;
    return status;
}

void braid_graph_tallies_destroy(struct graph_tallies *tallies)
{
    if (!tallies)
        return;
    braid_gpu_island_memory_leave(tallies->gpu, tallies->memory);
    free(tallies);
}

braid_status braid_graph_tallies_add(const struct graph_tallies *tallies,
                                     const struct gpu_behind *behind, uint32_t first_row,
                                     uint32_t num_rows, gpu_node *out_node)
{
    enum { THREADS = 64 };
    struct graph_stamps stamps = tallies->stamps;
    uint32_t end_row = first_row + num_rows;
    struct gpu_tally *memory = tallies->memory;
    void *args[] = { &stamps.stamps,      &memory,          &stamps.counter,
                     &stamps.rows,        &stamps.num_rows, &stamps.room,
                     &stamps.keep_blocks, &first_row,       &end_row };
    const struct backend_launch launch = {
        .kernel = (struct backend_kernel *)(uintptr_t)&tallies->kernel.base,
        .grid = { 1, 1, 1 },
        .block = { THREADS, 1, 1 },
        .num_args = sizeof(args) / sizeof(args[0]),
        .args = args,
    };
    const void *slot = NULL;
    gpu_result result =
        tallies->gpu->vendor->nodes->add_kernel(tallies->gpu, behind, &launch, out_node, &slot);
    return braid_gpu_check(tallies->gpu, result, slot, "adding the end of a body");
}

braid_status braid_graph_tallies_read(const struct graph_tallies *tallies,
                                      struct gpu_tally **out_read)
{
    struct gpu_tally *read = malloc(tallies->num_bytes);
    if (!read)
        return braid_error_no_memory(what_tallies);
    braid_status status = braid_gpu_copy_now(tallies->gpu, read, tallies->memory,
                                             tallies->num_bytes, "reading the times of frames");
    if (status)
        free(read);
    else
        *out_read = read;
    return status;
}

struct profile_tally braid_graph_tally_of(const struct graph_tallies *tallies,
                                          const struct gpu_tally *read, uint64_t frame,
                                          uint32_t row)
{
    const struct graph_stamps *stamps = &tallies->stamps;
    const struct gpu_tally *tally = &read[(size_t)(frame % stamps->room) * stamps->num_rows + row];
    if (tally->frame != frame + 1)
        return (struct profile_tally){ 0 };
    return tally->runs;
}
