// SPDX-License-Identifier: Apache-2.0
// Which track of a trace each slice is on, so that no two slices of a track overlap.
#ifndef BRAID_DRAW_TRACKS_H
#define BRAID_DRAW_TRACKS_H

#include "base/array.h"
#include "draw/timeline.h"

// Frames, a lane or the host: its first row, or a further one for slices that overlap those above.
struct track {
    uint32_t number; // 0: frames; then the lanes, the host, and whatever further rows there are
    uint32_t rank;   // where it is shown: the host is 0, known or not; then frames and lanes
    char name[64];
};

struct tracks {
    struct array list;              // of struct track, as they are declared
    bool has_further;               // some have further rows
    uint32_t *of_node;              // per frame and node: the number of its track
    uint32_t *of_frame, *of_launch; // per frame
};

// False: no memory; to be finished all the same.
bool braid_tracks_create(const struct timeline *timeline, struct tracks *out_tracks);
void braid_tracks_finish(struct tracks *tracks);

#endif
