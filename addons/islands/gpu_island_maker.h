// SPDX-License-Identifier: Apache-2.0
// An island while it is made: facts from its tasks, and the steps from these to the island.
#ifndef BRAID_ISLANDS_GPU_ISLAND_MAKER_H
#define BRAID_ISLANDS_GPU_ISLAND_MAKER_H

#include "islands/gpu_island_parts.h"

enum {
    ISLAND_PARAMETERS = 17,
    ISLAND_MOST_THREADS = 1024,
};

struct gpu_island {
    struct gpu_island_code *code;
    struct gpu_kernel kernel;
    struct island_lists lists;
    struct island_layout layout;
    uint32_t *args_of;  // by call: where its arguments begin
    uint32_t scopes_at; // where the scopes are, behind them
    unsigned char *args;
    void *words, *progress; // on the device
    uint32_t num_frames;
    void *rows, *rows_now;     // on the device; those of the launch at hand, or NULL
    unsigned char *host_rows;  // their source on the host
    uint32_t most_rows;        // for how many frames there is room
    uint32_t num_rows;         // rows that are there for the next launch
    uint32_t *notes;           // in host memory that the device writes to; NULL: it takes none
    uint32_t *own_notes;       // the same, where nobody else gives them back
    const uint32_t *cancelled; // on the device: not 0 ends the frame; NULL: it cannot be cancelled
    struct backend_launch launch;
    void *times; // on the device: stamps, lane by lane, frame by frame; see gpu_island.h
    uint32_t times_of_lane, times_room, times_first;
    const void *counter; // on the device, where it has tallies instead; see gpu_island.h
    uint32_t counts_of_frame, num_tallies;
    struct gpu_island *replaced; // the island before; a frame in flight may still run it
    void *parameters[ISLAND_PARAMETERS];
};

struct gpu_island_maker {
    struct gpu_backend *gpu;
    struct gpu_island *island;
    const char **modules; // texts
    uint32_t num_modules;
    struct island_kernel *kernels;
    const struct gpu_kernel **loaded; // whose code each kernel is
    uint32_t num_kernels;
    uint32_t *entry_of;                  // by call
    bool barriers, is_partial, is_plain; // some kernel has, some, all are: see ptx_callable
    uint32_t most_threads, least_threads, most_blocks, most_arg_bytes;
};

// As braid_gpu_island_create; `grids_vary`: see island_layout.
braid_status braid_gpu_island_make(struct gpu_backend *gpu, struct island_lists *lists, bool chain,
                                   bool grids_vary, struct gpu_island **out_island);
// Takes the task's present values for a call; NULL: the call runs nothing.
void braid_gpu_island_put_call(struct gpu_island *island, uint32_t call,
                               const struct backend_task *task);
// Why a call cannot have the grid: a constant, or NULL.
const char *braid_gpu_island_grid_refusal(braid_dim3 grid);
// Makes room for the arguments of several frames of one launch. Errors: BRAID_NO_MEMORY,
// BRAID_DEVICE_ERROR.
braid_status braid_gpu_island_reserve_rows(struct gpu_backend *gpu, struct gpu_island *island);

// Writes why a task cannot be inside; BRAID_UNSUPPORTED.
braid_status braid_gpu_island_refuse(const struct backend_task *task, const char *reason);
// Reads and checks the tasks: finds the kernels of the calls and their needs. Errors:
// BRAID_UNSUPPORTED, a task cannot be inside, and why; BRAID_NO_MEMORY.
braid_status braid_gpu_island_read_calls(struct gpu_island_maker *maker);
// Then sorts modules and kernels, so that the text does not depend on the order of calls. Islands
// of the same kernels share one text. Errors: BRAID_NO_MEMORY.
braid_status braid_gpu_island_order(struct gpu_island_maker *maker);
// Then gives each lane its threads; `chain`: the one lane gets them all.
braid_status braid_gpu_island_lay_out(struct gpu_island_maker *maker, bool chain);
// Then finds a place for the arguments of each call. Errors: as above; too many of them.
braid_status braid_gpu_island_lay_out_args(struct gpu_island_maker *maker);

#endif
