// SPDX-License-Identifier: Apache-2.0
// A recorded frame that can be run: its functions, and memory of the host for its copies.
#ifndef BRAID_IMPORT_RERUN_H
#define BRAID_IMPORT_RERUN_H

#include <braid/import.h>

#include "import/captured.h"
#include "import/memory.h"
#include "import/uses.h"

struct import_rerun {
    struct gpu_backend *gpu; // NULL: the frame is only planned
    gpu_module *modules;     // by module of the record; NULL: none was loaded for it
    uint32_t num_modules;
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
// The device is open.
void braid_import_rerun_finish(struct import_rerun *rerun);

#endif
