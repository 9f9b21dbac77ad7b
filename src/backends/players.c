// SPDX-License-Identifier: Apache-2.0
// Which players each backend has, best first.
#include "backends/players.h"

const struct player *const braid_cpu_players[] = {
    &braid_walker_player,
    &braid_cpu_streams_player,
    NULL,
};

const struct player *const braid_cuda_players[] = {
    &braid_graph_player,
    &braid_cuda_streams_player,
    &braid_driven_streams_player,
    NULL,
};

// HIP's text leaves a record of a pending event undefined. AMD's runtimes keep the earlier record
// alive for the waits that hold it (Event::enqueueRecordCommand); renewing makes it rare besides.
const struct player *const braid_hip_players[] = {
    &braid_renewing_streams_player,
    &braid_renewing_driven_streams_player,
    NULL,
};
