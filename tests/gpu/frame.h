// SPDX-License-Identifier: Apache-2.0
// What the tests of the GPU backend run: a device, a kernel, a frame with every kind of work.
#ifndef BRAID_TESTS_GPU_FRAME_H
#define BRAID_TESTS_GPU_FRAME_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <braid/braid.h>

#include "standin/standin_kernel.h"

// sum(to, a, b, c): *to = *a + *b + c, on words of device memory.
extern const char sum_image[];
extern const braid_kernel sum_kernel;

enum { FRAME_WORDS = 10 };

// A frame with every kind of work on several lanes:
//   fill words[0] = 3;  words[1] = words[0] + words[0] + c;  words[2] = words[0] + words[0] + 1;
//   copy words[3] = words[2];  host call;  join;  words[4] = words[1] + words[3]
// and a queue call that copies words[4] to words[5].
struct frame {
    braid_device *device;
    uint32_t *words;  // device memory
    uint32_t *read;   // pinned host memory
    braid_exec *exec; // NULL until created
    braid_stream *stream;
    braid_node summed;         // the node whose argument 3 is c
    atomic_int num_host_calls; // changed by the host call
    uint32_t own;              // the program's own memory, to which a node copies
};

// Each leaves nothing behind when it fails; finish takes a frame in any state.
braid_status frame_open(struct frame *frame, const char *backend);
braid_status frame_create_exec(struct frame *frame, braid_exec_mode mode);
braid_status frame_run(struct frame *frame, uint32_t c); // launch and wait
braid_status frame_read(struct frame *frame);            // copy words to read
void frame_finish(struct frame *frame);

// words[5] after a frame with c.
uint32_t frame_result(uint32_t c);

#endif
