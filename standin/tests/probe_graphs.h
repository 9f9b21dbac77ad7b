// SPDX-License-Identifier: Apache-2.0
// What the parts of the probe of graphs share: how they print, and what main makes.
#ifndef BRAID_STANDIN_PROBE_GRAPHS_H
#define BRAID_STANDIN_PROBE_GRAPHS_H

#include <stdio.h>

#include "cuda_abi.h"

#define P(call) printf("%s  %d\n", #call, (int)(call))
#define NEED(call) need((call), #call) // prints a line only where the call fails
#define SAY(...) (printf(__VA_ARGS__), putchar('\n'))

void need(CUresult result, const char *what);

extern CUcontext context;
extern CUdeviceptr word; // four bytes of device memory

// probe_graphs_memory.c has these.
void probe_pointers(void);
void probe_captured_memory(void);
void probe_memory(void);

#endif
