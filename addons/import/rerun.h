// SPDX-License-Identifier: Apache-2.0
// A recorded frame that can be run: its functions, and memory of the host for its copies.
#ifndef BRAID_IMPORT_RERUN_H
#define BRAID_IMPORT_RERUN_H

#include <braid/import.h>

#include "import/captured.h"
#include "import/memory.h"
#include "import/uses.h"

// A range of addresses that were made.
struct rerun_range {
    uint64_t begin, bytes;
    bool is_on_host, is_reserved, is_mapped; // reserved: of memory of the host
};

struct import_rerun {
    struct gpu_backend *gpu; // NULL: the frame is only planned
    gpu_module *modules;     // by module of the record; NULL: none was loaded for it
    uint32_t num_modules;
    uint64_t *variables;    // by allocation of the record: where a loaded module has it; 0
    struct array ranges;    // struct rerun_range
    struct array reserved;  // struct rerun_range: addresses of the device, around its ranges
    uint64_t moved_bytes;   // pinned memory of the record that is memory of the device here
    unsigned char *staging; // pinned: what copies send, and where they send it
};

// Gives each captured function one of the driver, and each end of a copy in the program's pageable
// memory a place of its own. The memory knows the frame's buffers, and no order depends on those
// places. The frame's memory must be where the record says. The device is current. Errors:
// BRAID_UNSUPPORTED (names a node that cannot run again), BRAID_INVALID_ARGUMENT (names memory that
// is elsewhere), BRAID_NO_MEMORY, BRAID_DEVICE_ERROR.
braid_status braid_import_rerun(struct captured_graph *captured, const struct import_memory *memory,
                                const struct import_uses *uses, const braid_import_options *options,
                                struct import_rerun *out_rerun);
// rerun_memory.c: makes the frame's memory at its addresses. The device is current. Errors:
// BRAID_UNSUPPORTED (names addresses that are not to be had), BRAID_NO_MEMORY, BRAID_DEVICE_ERROR.
braid_status braid_import_rerun_make_memory(const struct import_memory *memory,
                                            struct import_rerun *rerun);
// Whether all of these bytes were made.
bool braid_import_rerun_has(const struct import_rerun *rerun, uint64_t begin, uint64_t bytes);
void braid_import_rerun_free_memory(struct import_rerun *rerun);

// The device is open.
void braid_import_rerun_finish(struct import_rerun *rerun);

#endif
