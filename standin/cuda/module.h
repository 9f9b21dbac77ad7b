// SPDX-License-Identifier: Apache-2.0
// Modules: PTX text whose entries are host functions found by name in the running program.
#ifndef BRAID_STANDIN_MODULE_H
#define BRAID_STANDIN_MODULE_H

#include <stdbool.h>

#include "../ptx/ptx_code.h"
#include "../standin_kernel.h"
#include "cuda_abi.h"
#include "ptx.h"

struct CUfunc_st {
    CUmodule module;
    char name[MAX_ENTRY_NAME];
    struct parameter parameters[MAX_PARAMETERS];
    size_t num_parameters, argument_bytes;
    bool waits, triggers;  // see ptx.h
    size_t stamps;         // see ptx.h; with a begin and an end
    bool notes, notes_end; // see ptx.h
    bool reads_grid;       // as the code does that Braid puts into PTX
    standin_kernel body;   // NULL: the program has none by that name
    struct code *code;     // its PTX, if it is to run as that; or NULL
    int most_threads;      // a block can have; 0: as the device
    int max_dynamic_shared, carveout, non_portable_cluster; // guarded by the world's lock
};

// A kernel that an island calls: what stands for it in the program, or NULL, and its arguments.
struct island_callee {
    standin_kernel body;
    size_t argument_bytes[MAX_PARAMETERS], num_arguments;
};

// Guarded by the world's lock; functions are fixed from the start. Queued work and graph nodes
// hold references, so that an unloaded module is recognised and not read after free.
struct CUmod_st {
    int references;
    bool unloaded;
    CUcontext context;
    struct CUfunc_st *functions;
    size_t num_functions;
    struct variables variables;
    void *globals;                      // device memory that holds them; NULL: there are none
    int target;                         // the architecture of its text: 90 for sm_90
    struct island_callee *island_calls; // by the number that an island calls them by: island.h
    size_t num_island_calls;
};

// What stands for a kernel of that name in the program, or NULL.
standin_kernel module_find_body(const char *name);

// Without the lock. A failure may have a reason, in words.
CUresult module_load(CUcontext context, const char *image, CUmodule *out_module,
                     const char **out_error);

// These expect the world's lock.
void module_unload(CUmodule module);                       // its context is idle
CUfunction module_find(CUmodule module, const char *name); // NULL: none that can run
CUresult module_find_variable(CUmodule module, const char *name, CUdeviceptr *out_memory,
                              size_t *out_bytes); // out_memory, out_bytes: NULL if not wanted
bool module_can_run(CUfunction function);
void module_hold(CUmodule module);
void module_drop(CUmodule module);

#endif
