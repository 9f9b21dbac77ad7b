// SPDX-License-Identifier: Apache-2.0
// A capture being made: the frame, and the file that it goes to.
#ifndef BRAID_CAPTURE_CAPTURE_H
#define BRAID_CAPTURE_CAPTURE_H

#include <braid/capture.h>

#include "base/array.h"
#include "capture/capture_file.h"
#include "exec/exec.h"

struct capture {
    braid_exec *exec;
    const braid_graph *graph; // as it was when the exec was made
    struct capture_file file;
    struct array kernels; // const braid_kernel *: each once
    uint32_t *kernel_of;  // by node: in `kernels`
    uint32_t *order;      // nodes, one after another
    uint32_t num_ordered; // while it is found
    braid_stream *stream; // leased, to read buffers
    void *staging;        // host memory, likewise
};

// capture_kernels.c: finds the kernels of all nodes, and sees that a file can hold their code.
// Errors: BRAID_UNSUPPORTED, BRAID_NO_MEMORY.
braid_status braid_capture_find_kernels(struct capture *capture);
void braid_capture_put_kernels(struct capture *capture);

// capture_nodes.c. Errors: BRAID_UNSUPPORTED (a kind of node, memory that no buffer has).
braid_status braid_capture_put_nodes(struct capture *capture);

// capture_buffers.c: of a resource with bytes, in the next frame. NULL: not known.
const unsigned char *braid_capture_memory_of(const struct capture *capture, uint32_t resource);
// Sees that the memory of all resources is known. Errors: BRAID_UNSUPPORTED.
braid_status braid_capture_check_resources(const struct capture *capture);
void braid_capture_put_resources(struct capture *capture);
// Behind the frames before. Errors: BRAID_NO_MEMORY, BRAID_DEVICE_ERROR.
braid_status braid_capture_put_contents(struct capture *capture);

#endif
