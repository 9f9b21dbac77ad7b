// SPDX-License-Identifier: Apache-2.0
// An exec's next frame in a file.
#ifndef BRAID_CAPTURE_H
#define BRAID_CAPTURE_H

#include <stdint.h>

#include <braid/exec.h>
#include <braid/status.h>

#ifdef __cplusplus
extern "C" {
#endif

// Writes the next frame to a file (docs/book/reliability.md), once those in flight have ended. No
// other work uses the buffers. With `path` NULL it only states the size. `out_bytes` may be NULL.
// Errors: BRAID_UNSUPPORTED (no braid_exec_options.capture; or it names a node or buffer),
// BRAID_IO_ERROR.
BRAID_API BRAID_MUST_CHECK braid_status braid_exec_save_capture(braid_exec *exec, const char *path,
                                                                uint64_t *out_bytes);

#ifdef __cplusplus
}
#endif

#endif
