// SPDX-License-Identifier: Apache-2.0
// An island: many kernels' calls inside one kernel, loaded on a device.
#ifndef BRAID_ISLANDS_GPU_ISLAND_H
#define BRAID_ISLANDS_GPU_ISLAND_H

#include "islands/gpu_island_lists.h"

struct gpu_tally;    // backends/driver_graph/driver_graph_tally.h
struct island_scope; // backends/driver_graph/driver_graph_islands.h
struct running;

// Targets of parameters that change a task's grid, or whether it runs; as in backend_task.varies.
enum {
    ISLAND_SHAPE_TARGETS = 1 << BRAID_TARGET_GRID | 1 << BRAID_TARGET_GRID_X |
                           1 << BRAID_TARGET_GRID_Y | 1 << BRAID_TARGET_GRID_Z |
                           1 << BRAID_TARGET_ENABLED,
};

enum {
    ISLAND_PARAMETERS = 18,
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
    uint32_t away;  // units of each block's arguments on the device, in rows; 0: the launch has all
    bool args_wait; // for their copy to the device
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
    void *times; // on the device: stamps, lane by lane, frame by frame; see set_times
    uint32_t times_of_lane, times_room, times_first;
    const void *counter; // on the device, where it has tallies instead; see set_tallies
    uint32_t counts_of_frame, num_tallies;
    struct gpu_island *replaced; // the island before; a frame in flight may still run it
    void *parameters[ISLAND_PARAMETERS];
};

// Finds why a task cannot be inside an island, as far as can be told without reading its source: a
// constant, or NULL. Errors: BRAID_DEVICE_ERROR.
braid_status braid_gpu_island_refuse_task(struct gpu_backend *gpu, const struct backend_task *task,
                                          const char **out_reason);

// Compiles and loads the calls of the lists, whose arguments are those of now. The lists are taken
// over, also on failure; tasks, their kernels and sources outlive the island.
// The device is current. Errors: BRAID_UNSUPPORTED (a task cannot be inside, and why; too many
// arguments; more blocks than run at once), BRAID_DEVICE_ERROR, BRAID_NO_MEMORY.
braid_status braid_gpu_island_create(struct gpu_backend *gpu, struct island_lists *lists,
                                     struct gpu_island **out_island);
// No launch is in flight. NULL is destroyed to no effect. Its code and memory go later: the device
// need not be current.
void braid_gpu_island_destroy(struct gpu_backend *gpu, struct gpu_island *island);

// Whether a call can have the grid of a task, as far as the island knows. Errors:
// BRAID_UNSUPPORTED.
braid_status braid_gpu_island_check_call(const struct gpu_island *island, uint32_t call,
                                         const struct backend_task *task);
// Takes the present arguments, grid and disabled state of a task, for later launches of its call.
// Errors: BRAID_UNSUPPORTED (several blocks, which may wait for each other; too large a grid; it
// leaves the device), BRAID_DEVICE_ERROR; it stays as it was.
braid_status braid_gpu_island_set(struct gpu_backend *gpu, struct gpu_island *island, uint32_t call,
                                  const struct backend_task *task);
// Whether the grid of the call may differ from the grid that the island was made with, or the call
// is disabled. Then the island must be made again first.
bool braid_gpu_island_must_change(const struct gpu_island *island, uint32_t call,
                                  const struct backend_task *task);
// Makes it again, so that grids may vary, with the present values of its tasks. No frame has rows.
// Compiles, unless an island had the same text. Frames in flight keep the old island, which lives
// as long. The device is current. Errors: as for braid_gpu_island_create; then *island is as it
// was.
braid_status braid_gpu_island_let_grids_vary(struct gpu_backend *gpu, struct gpu_island **island);

// The launch that runs it; its args are read when it is submitted. Valid as long as the island.
const struct backend_launch *braid_gpu_island_launch(const struct gpu_island *island);

// For an island whose lists are timed, before its first launch: sets the device memory for the
// times of its calls. Each lane and frame has num_in_lane stamps (gpu_ptx_stamps.h). Frames use the
// room for `num_frames` of them in turn.
void braid_gpu_island_set_times(struct gpu_island *island, void *stamps, uint32_t num_in_lane,
                                uint32_t num_frames);
// As set_times, for an island with scopes: tallies are in place of stamps, and those of scopes
// behind those of calls. The number of frames before is the one at `counter`, on the device, by
// that of a frame.
void braid_gpu_island_set_tallies(struct gpu_island *island, struct gpu_tally *tallies,
                                  uint32_t num_frames, const void *counter,
                                  uint32_t counts_of_frame);
// How many stamps a frame takes, and each lane; which one of a frame is a call's.
uint64_t braid_gpu_island_count_stamps(const struct gpu_island *island, uint32_t *out_num_in_lane);
uint64_t braid_gpu_island_stamp_of(const struct gpu_island *island, uint32_t call);
// The same of tallies, whose place is told behind set_tallies. A call's place is that of its stamp.
uint32_t braid_gpu_island_count_tallies(const struct gpu_island *island);
uint32_t braid_gpu_island_tally_of_scope(const struct gpu_island *island, uint32_t scope);

// Sets a scope of the next launches: all are set before the first.
void braid_gpu_island_set_scope(struct gpu_island *island, uint32_t index,
                                const struct island_scope *scope);

// Makes room for the arguments of several frames of one launch, and for notes of its own. The
// device is current. Errors: BRAID_NO_MEMORY, BRAID_DEVICE_ERROR.
braid_status braid_gpu_island_reserve(struct gpu_backend *gpu, struct gpu_island *island);

// The bytes of all arguments: of a frame, or of all blocks where they are away.
size_t braid_gpu_island_args_bytes(const struct gpu_island *island);

// Makes room for the arguments only. Errors: BRAID_NO_MEMORY, BRAID_DEVICE_ERROR.
braid_status braid_gpu_island_reserve_rows(struct gpu_backend *gpu, struct gpu_island *island);

// How many frames one launch may have, each with arguments of its own (`in_rows`) or all with the
// same.
uint32_t braid_gpu_island_most_frames(const struct gpu_island *island, bool in_rows);

// Fills the rows of the next launch's frames before `frame` with the present arguments, except rows
// that are filled already. 0: no frame has a row.
void braid_gpu_island_keep_rows(struct gpu_island *island, uint32_t frame);

// Before a launch: it has that many frames, whose times are kept from frame `first` on. If rows
// were kept, the frames have these, and those behind the arguments of now. It copies them to the
// device on the stream before. The host's are free again when it returns.
gpu_result braid_gpu_island_begin(const struct gpu_backend *gpu, struct gpu_island *island,
                                  gpu_stream stream, uint32_t num_frames, uint32_t first,
                                  bool *out_queued);

// Host memory for the notes of `num` lanes, each about its node. Give it back by
// braid_gpu_kept_memory_leave. *out_notes stays NULL if notes are off (BRAID_NOTE_NODES is 0), or
// if there is no memory, which the log tells. Errors: BRAID_DEVICE_ERROR.
braid_status braid_gpu_island_notes_take(struct gpu_backend *gpu, size_t num, uint32_t **out_notes);
// The same for each lane of an island, which gives them back.
braid_status braid_gpu_island_take_notes(struct gpu_backend *gpu, struct gpu_island *island);
// Gives an island of one lane a note that others give back, before its first launch.
void braid_gpu_island_set_note(struct gpu_island *island, uint32_t *note);
// Adds the nodes that the lanes were at when the device stopped, by their notes, with their lanes
// or with the island's index.
void braid_gpu_island_find_running(const struct gpu_island *island, const uint32_t *index,
                                   struct running *running);

#endif
