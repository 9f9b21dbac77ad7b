// SPDX-License-Identifier: Apache-2.0
// The kernels of the tests, for every kind of device: a CPU function and one source for the GPUs.
// Drivers that stand in for a GPU find braid_standin_NAME in the program and run that instead.
#ifndef BRAID_TESTS_KERNELS_H
#define BRAID_TESTS_KERNELS_H

#include <stdint.h>

#include <braid/kernel.h>

// Waits inside kernels end after this long, so that a broken library fails a test and hangs none.
#define TEST_TIMEOUT_NS UINT64_C(20000000000)

// to[i] = from[i] * factor + addend.
// (uint32_t *to, const uint32_t *from, uint32_t factor, uint32_t addend, uint32_t num)
extern const braid_kernel test_axpy;

// to[i] = a[i] + b[i]. (uint32_t *to, const uint32_t *a, const uint32_t *b, uint32_t num)
extern const braid_kernel test_add;

// Runs for a given time: interval[0] is when it started and interval[1] when it ended, on the
// device's clock. (uint64_t *interval, uint64_t ns)
extern const braid_kernel test_busy;

// Sets flags[me] and waits for flags[other]. met[me] becomes 1 when it came, and stays 2 once it
// did not. (uint32_t *flags, uint32_t *met, uint32_t me, uint32_t other, uint64_t timeout_ns)
extern const braid_kernel test_handshake;

// Waits until *open is not 0. *report becomes GATE_ENTERED, then GATE_PASSED or GATE_TIMED_OUT.
// Both are in host memory. (const uint32_t *open, uint32_t *report, uint64_t timeout_ns)
extern const braid_kernel test_gate;
enum { GATE_ENTERED = 1, GATE_PASSED = 2, GATE_TIMED_OUT = 3 };

// stamps[2 * index] = ++*counter, then waits, then stamps[2 * index + 1] = ++*counter.
// (uint32_t *counter, uint32_t *stamps, uint32_t index, uint64_t delay_ns)
extern const braid_kernel test_stamp;

// Writes value + i into its scratch, waits, and puts what it finds there into `to`.
// (uint32_t *scratch, uint32_t *to, uint32_t value, uint32_t num, uint64_t delay_ns)
extern const braid_kernel test_keep;

// Adds 1 to *wrong for each seen[i] that is not (value + i) * factor + addend.
// (const uint32_t *seen, uint32_t *wrong, uint32_t value, uint32_t factor, uint32_t addend,
//  uint32_t num)
extern const braid_kernel test_expect;

// All blocks wait for each other. met[0] counts those that met, and met[1] those that waited in
// vain. On the CPU each call counts its blocks, in vain where it has not all.
// (uint32_t *arrived, uint32_t *met, uint64_t timeout_ns)
extern const braid_kernel test_meet;

// One node of a random graph: mixes its salt and what it reads, and writes what follows from that,
// so that any other order of two nodes that conflict gives other numbers.
// (uint64_t *cells, uint64_t *outputs, const uint32_t *words, uint32_t first_word, uint32_t node,
//  const uint32_t *frame, uint64_t salt, uint64_t delay_ns)
// words from first_word on: the number of outputs read and which; the number of cells read and
// which; the number of cells written and which.
extern const braid_kernel test_mix;
uint64_t test_mix_values(uint64_t a, uint64_t b);
void test_mix_run(uint64_t *cells, uint64_t *outputs, const uint32_t *words, uint32_t node,
                  uint32_t frame, uint64_t salt, uint64_t delay_ns);

// Element lists as sparse compilers keep them: list[0] is the length, the elements follow.
// test_clear_list: (uint32_t *list)
extern const braid_kernel test_clear_list;
// Appends every i < num with mask[i] != 0, in any order.
// (uint32_t *list, const uint32_t *mask, uint32_t num)
extern const braid_kernel test_generate_list;
// For every cell c of parent's elements p (cells_per_parent of them) with mask[c] != 0: appends c.
// (uint32_t *list, const uint32_t *parent, const uint32_t *mask, uint32_t cells_per_parent)
extern const braid_kernel test_generate_from_parent;
// to[e] += addend for every element e of the list; its length is read on the device.
// (const uint32_t *list, uint32_t *to, uint32_t addend)
extern const braid_kernel test_loop_over_list;

// counts[b] += 1 for each block b, in x, then y, then z; grid becomes the grid that the kernel
// sees. (uint32_t *counts, uint32_t *grid)
extern const braid_kernel test_count_blocks;
// The same, for grids that are read from memory.
extern const braid_kernel test_count_read_blocks;

// to[0] += addend. From a source of its own, which no exec of the surroundings keeps loaded.
// (uint32_t *to, uint32_t addend)
extern const braid_kernel test_alone;

#endif
