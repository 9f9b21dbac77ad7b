// SPDX-License-Identifier: Apache-2.0
// Turns a kernel dispatch packet into a call of a host function.
#include "hsa_standin.h"

#include <stdio.h>

enum { MAX_ARGUMENTS = 256 };

// AQL counts work items; the host functions, like CUDA and HIP launches, count blocks.
static unsigned num_blocks(uint32_t num_items, uint16_t items_per_block)
{
    return items_per_block ? (num_items + items_per_block - 1u) / items_per_block : 0;
}

// The grid that the body is to see; false: no block of it is left.
static bool read_grid(const void *argument, unsigned *grid)
{
    const unsigned *words = *(const unsigned *const *)argument;
    for (int i = 0; i < 3; i++) {
        unsigned word = i > 0 && !words[1] && !words[2] ? 1 : words[i];
        grid[i] = word < grid[i] ? word : grid[i];
    }
    return grid[0] && grid[1] && grid[2];
}

void standin_kernel_run(const hsa_kernel_dispatch_packet_t *packet)
{
    const struct loaded_kernel *kernel = (const void *)(uintptr_t)packet->kernel_object;
    unsigned block[3] = { packet->workgroup_size_x, packet->workgroup_size_y,
                          packet->workgroup_size_z };
    unsigned grid[3] = { num_blocks(packet->grid_size_x, packet->workgroup_size_x),
                         num_blocks(packet->grid_size_y, packet->workgroup_size_y),
                         num_blocks(packet->grid_size_z, packet->workgroup_size_z) };
    if (standin_tracing())
        fprintf(stderr, "standin hsa: kernel %s, grid %u x %u x %u, block %u x %u x %u\n",
                kernel->name, grid[0], grid[1], grid[2], block[0], block[1], block[2]);
    if (!kernel->function || kernel->num_arguments > MAX_ARGUMENTS) {
        fprintf(stderr, "standin hsa: kernel %s did not run: %s\n", kernel->name,
                kernel->function ? "too many arguments"
                                 : "the program has no function for it, or its arguments are not "
                                   "described");
        return;
    }
    void *arguments[MAX_ARGUMENTS];
    for (uint32_t i = 0; i < kernel->num_arguments; i++)
        arguments[i] = (char *)packet->kernarg_address + kernel->argument_offsets[i];
    if (kernel->reads_grid && !read_grid(arguments[kernel->num_arguments - 1], grid))
        return;
    // The packet's group segment is the kernel's own share plus what the launch asked for.
    kernel->function(grid, block, packet->group_segment_size - kernel->static_shared_bytes,
                     arguments);
}
