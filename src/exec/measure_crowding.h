// SPDX-License-Identifier: Apache-2.0
// How much nodes slow each other, from the intervals of frames in which they overlap.
#ifndef BRAID_EXEC_MEASURE_CROWDING_H
#define BRAID_EXEC_MEASURE_CROWDING_H

#include "exec/measure_delays.h"

// A node: first its time alone, and then the news of it from frames.
struct measured_crowding {
    uint64_t alone_ns; // 0: it is not known
    uint64_t added_ns; // that its intervals have beyond its own time
    bool counts;       // it runs on the device, where it may slow others
    bool overlaps;     // out: others ran beside it for over an eighth of its time
    uint16_t crowding; // out: as in struct graph_node; 0 unless it overlaps and its time is known
};

// Errors: BRAID_NO_MEMORY.
braid_status braid_measure_crowding(const struct measured_frames *frames,
                                    struct measured_crowding *nodes);

#endif
