// SPDX-License-Identifier: Apache-2.0
// The buffers of a solver on a device, and graphs of one iteration or of all.
#ifndef EXAMPLES_SYSTEM_H
#define EXAMPLES_SYSTEM_H

#include "solver.h"

enum { MOST = 4 * SIDE }; // iterations
enum { X, RESIDUAL, DIRECTION, IMAGE, SCALARS, LEFT, NUM_BUFFERS };

struct system {
    braid_device *device;
    void *buffers[NUM_BUFFERS]; // on the device; LEFT is 0: the residual is small enough
    braid_exec *exec;
    braid_node loop;
};

void allocate_buffers(struct system *system);
void free_buffers(struct system *system);
void put(const struct system *system, int buffer, const void *from);
void get(const struct system *system, int buffer, void *to);
uint64_t bytes_of(int buffer);

void declare_buffers(const struct system *system, braid_graph *graph, braid_resource *out_buffers);
void add_iteration(braid_graph *graph, const braid_resource *buffers);
// One iteration, or a loop until the residual is small.
void make_exec(struct system *system, bool loops);

#endif
