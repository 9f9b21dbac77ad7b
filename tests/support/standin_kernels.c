// SPDX-License-Identifier: Apache-2.0
// The test kernels under the names by which a driver that stands in for a GPU looks for them.
#include <stddef.h>

#include "support/kernels.h"

// One call runs the whole grid; args[i] points to the bytes of argument i.
typedef void standin_kernel(const unsigned grid[3], const unsigned block[3], unsigned shared_bytes,
                            void **args);

BRAID_API standin_kernel braid_standin_test_axpy, braid_standin_test_add, braid_standin_test_busy,
    braid_standin_test_handshake, braid_standin_test_meet, braid_standin_test_gate,
    braid_standin_test_stamp, braid_standin_test_keep, braid_standin_test_expect,
    braid_standin_test_mix, braid_standin_test_clear_list, braid_standin_test_generate_list,
    braid_standin_test_generate_from_parent, braid_standin_test_loop_over_list,
    braid_standin_test_count_blocks, braid_standin_test_alone;

static void run_grid(const braid_kernel *kernel, const unsigned grid[3], const unsigned block[3],
                     void **args)
{
    braid_blocks blocks = { .begin = 0,
                            .end = (uint64_t)grid[0] * grid[1] * grid[2],
                            .grid = { grid[0], grid[1], grid[2] },
                            .block = { block[0], block[1], block[2] } };
    kernel->cpu(&blocks, args);
}

void braid_standin_test_axpy(const unsigned grid[3], const unsigned block[3], unsigned shared_bytes,
                             void **args)
{
    (void)shared_bytes;
    run_grid(&test_axpy, grid, block, args);
}

void braid_standin_test_add(const unsigned grid[3], const unsigned block[3], unsigned shared_bytes,
                            void **args)
{
    (void)shared_bytes;
    run_grid(&test_add, grid, block, args);
}

void braid_standin_test_busy(const unsigned grid[3], const unsigned block[3], unsigned shared_bytes,
                             void **args)
{
    (void)shared_bytes;
    run_grid(&test_busy, grid, block, args);
}

void braid_standin_test_handshake(const unsigned grid[3], const unsigned block[3],
                                  unsigned shared_bytes, void **args)
{
    (void)shared_bytes;
    run_grid(&test_handshake, grid, block, args);
}

void braid_standin_test_meet(const unsigned grid[3], const unsigned block[3], unsigned shared_bytes,
                             void **args)
{
    (void)shared_bytes;
    run_grid(&test_meet, grid, block, args);
}

void braid_standin_test_gate(const unsigned grid[3], const unsigned block[3], unsigned shared_bytes,
                             void **args)
{
    (void)shared_bytes;
    run_grid(&test_gate, grid, block, args);
}

void braid_standin_test_stamp(const unsigned grid[3], const unsigned block[3],
                              unsigned shared_bytes, void **args)
{
    (void)shared_bytes;
    run_grid(&test_stamp, grid, block, args);
}

void braid_standin_test_keep(const unsigned grid[3], const unsigned block[3], unsigned shared_bytes,
                             void **args)
{
    (void)shared_bytes;
    run_grid(&test_keep, grid, block, args);
}

void braid_standin_test_expect(const unsigned grid[3], const unsigned block[3],
                               unsigned shared_bytes, void **args)
{
    (void)shared_bytes;
    run_grid(&test_expect, grid, block, args);
}

void braid_standin_test_mix(const unsigned grid[3], const unsigned block[3], unsigned shared_bytes,
                            void **args)
{
    (void)shared_bytes;
    run_grid(&test_mix, grid, block, args);
}

void braid_standin_test_clear_list(const unsigned grid[3], const unsigned block[3],
                                   unsigned shared_bytes, void **args)
{
    (void)shared_bytes;
    run_grid(&test_clear_list, grid, block, args);
}

void braid_standin_test_generate_list(const unsigned grid[3], const unsigned block[3],
                                      unsigned shared_bytes, void **args)
{
    (void)shared_bytes;
    run_grid(&test_generate_list, grid, block, args);
}

void braid_standin_test_generate_from_parent(const unsigned grid[3], const unsigned block[3],
                                             unsigned shared_bytes, void **args)
{
    (void)shared_bytes;
    run_grid(&test_generate_from_parent, grid, block, args);
}

void braid_standin_test_loop_over_list(const unsigned grid[3], const unsigned block[3],
                                       unsigned shared_bytes, void **args)
{
    (void)shared_bytes;
    run_grid(&test_loop_over_list, grid, block, args);
}

void braid_standin_test_alone(const unsigned grid[3], const unsigned block[3],
                              unsigned shared_bytes, void **args)
{
    (void)shared_bytes;
    run_grid(&test_alone, grid, block, args);
}

void braid_standin_test_count_blocks(const unsigned grid[3], const unsigned block[3],
                                     unsigned shared_bytes, void **args)
{
    (void)shared_bytes;
    run_grid(&test_count_blocks, grid, block, args);
}
