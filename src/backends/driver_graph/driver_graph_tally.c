// SPDX-License-Identifier: Apache-2.0
// Times of nodes in loops and branches of a driver's graph.
#include "backends/driver_graph/driver_graph_tally.h"

#include "backends/gpu/gpu_kept_memory.h"
#include "base/array.h"
#include "base/error.h"
#include "base/host_memory.h"

static const char what_tallies[] = "the times of nodes in loops";

// Tallies by frame and row.
struct tally_part {
    struct gpu_tally *memory; // on the device
    struct gpu_tally *read;   // as read last
    uint32_t num_rows;
};

enum { PART_OF_BODIES = 0 };

// Where a task has its tally. The row in PART_OF_BODIES is that of its stamps.
struct tally_place {
    uint32_t part, row;
};

struct graph_tallies {
    struct gpu_backend *gpu;
    struct gpu_kernel kernel; // GPU_OWN_TALLY
    struct graph_stamps stamps;
    struct tally_part *parts; // that of bodies, and one of each island
    uint32_t num_parts;
    struct tally_place *places; // by task
};

static braid_status find_kernel(struct graph_tallies *tallies)
{
    gpu_function *function = &tallies->kernel.function;
    braid_status status = braid_gpu_find_graph_kernel(tallies->gpu, GPU_OWN_TALLY, function);
    if (status || *function)
        return status;
    return braid_error(BRAID_UNSUPPORTED,
                       "%s: nodes in loops and branches keep no times: its driver does not take "
                       "the text of the kernel that adds them up",
                       tallies->gpu->label);
}

static size_t bytes_of(const struct graph_tallies *tallies, const struct tally_part *part)
{
    return (size_t)part->num_rows * tallies->stamps.room * sizeof(struct gpu_tally);
}

static braid_status add_part(struct graph_tallies *tallies, uint32_t num_rows)
{
    struct tally_part *part = &tallies->parts[tallies->num_parts++];
    part->num_rows = num_rows;
    const size_t num_bytes = bytes_of(tallies, part);
    void *memory = NULL;
    part->read = braid_allocate_zeroed(num_bytes + 1, 1);
    if (!part->read)
        return braid_error_no_memory(what_tallies);
    braid_status status =
        braid_gpu_kept_memory_take(tallies->gpu, BRAID_MEMORY_DEVICE, num_bytes, &memory);
    part->memory = memory;
    return status ? status
                  : braid_gpu_copy_now(tallies->gpu, memory, part->read, num_bytes,
                                       "making room for times");
}

static braid_status fill(struct graph_tallies *tallies)
{
    const struct graph_stamps *stamps = &tallies->stamps;
    tallies->parts =
        braid_allocate_zeroed((size_t)stamps->num_regions + 1, sizeof(*tallies->parts));
    tallies->places = braid_allocate_zeroed(stamps->num_tasks, sizeof(*tallies->places));
    if (!tallies->parts || !tallies->places)
        return braid_error_no_memory(what_tallies);
    braid_status status = find_kernel(tallies);
    return status ? status : add_part(tallies, stamps->num_rows);
}

braid_status braid_driver_graph_tallies_create(struct gpu_backend *gpu,
                                               const struct graph_stamps *stamps,
                                               struct graph_tallies **out_tallies)
{
    struct graph_tallies *tallies = braid_allocate_zeroed(1, sizeof(*tallies));
    if (!tallies)
        return braid_error_no_memory(what_tallies);
    tallies->gpu = gpu;
    tallies->stamps = *stamps;
    braid_status status = fill(tallies);
    if (status)
        braid_driver_graph_tallies_destroy(tallies);
    else
        *out_tallies = tallies;
    return status;
}

void braid_driver_graph_tallies_destroy(struct graph_tallies *tallies)
{
    if (!tallies)
        return;
    for (uint32_t i = 0; i < tallies->num_parts; i++) {
        braid_gpu_kept_memory_leave(tallies->gpu, tallies->parts[i].memory);
        braid_free(tallies->parts[i].read);
    }
    braid_free(tallies->parts);
    braid_free(tallies->places);
    braid_free(tallies);
}

braid_status braid_driver_graph_tallies_add(const struct graph_tallies *tallies,
                                            const struct gpu_behind *behind, uint32_t first_row,
                                            uint32_t num_rows, gpu_node *out_node)
{
    enum { THREADS = 64 };
    struct graph_stamps stamps = tallies->stamps;
    uint32_t end_row = first_row + num_rows;
    struct gpu_tally *memory = tallies->parts[PART_OF_BODIES].memory;
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

braid_status braid_driver_graph_tallies_add_island(struct graph_tallies *tallies, uint32_t num_rows,
                                                   struct gpu_tally **out_memory,
                                                   const struct graph_stamps **out_stamps)
{
    braid_status status = add_part(tallies, num_rows);
    *out_memory = tallies->parts[tallies->num_parts - 1].memory;
    *out_stamps = &tallies->stamps;
    return status;
}

void braid_driver_graph_tallies_note(struct graph_tallies *tallies, uint32_t task, uint32_t row)
{
    tallies->places[task] = (struct tally_place){ tallies->num_parts - 1, row };
}

braid_status braid_driver_graph_tallies_read(struct graph_tallies *tallies)
{
    braid_status status = BRAID_OK;
    for (uint32_t i = 0; i < tallies->num_parts && !status; i++) {
        const struct tally_part *part = &tallies->parts[i];
        status = braid_gpu_copy_now(tallies->gpu, part->read, part->memory, bytes_of(tallies, part),
                                    "reading the times of frames");
    }
    return status;
}

struct profile_tally braid_driver_graph_tally_of(const struct graph_tallies *tallies,
                                                 uint64_t frame, uint32_t task, uint32_t row)
{
    const struct tally_place *place = &tallies->places[task];
    const struct tally_part *part = &tallies->parts[place->part];
    const size_t first = (size_t)(frame % tallies->stamps.room) * part->num_rows;
    const struct gpu_tally *tally =
        &part->read[first + (place->part == PART_OF_BODIES ? row : place->row)];
    if (tally->frame != frame + 1)
        return (struct profile_tally){ 0 };
    return (struct profile_tally){ tally->num_runs, tally->sum_ns };
}
