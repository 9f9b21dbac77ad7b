// SPDX-License-Identifier: Apache-2.0
// Memory of each device for the buffers of a test's graphs, and the caller's stream.
#ifndef BRAID_TESTS_FIELD_H
#define BRAID_TESTS_FIELD_H

#include "groups/group_under_test.h"
#include "groups/placed_graph.h"

enum { NUM_FRAMES = 3, MODEL_WORDS = PLACED_MOST_BUFFERS * PLACED_WORDS };

// Buffers of a graph: each in memory of its home.
struct field {
    struct group_under_test *test;
    uint32_t *buffers[GROUP_MOST][PLACED_MOST_BUFFERS]; // by home
    uint32_t *addresses[PLACED_MOST_BUFFERS];           // the buffers in use
    uint32_t *staged; // pinned: MODEL_WORDS to write, then as many of each frame
    braid_stream *stream;
};

// Around each group of tests: what cmocka calls, with the field as its state.
int field_open(void **state);
int field_close(void **state);

#endif
