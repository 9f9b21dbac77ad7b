// SPDX-License-Identifier: Apache-2.0
// Captures: its public functions where the add-on 'capture' is left out.
#include <braid/capture.h>

#include "base/error.h"

braid_status braid_exec_save_capture(braid_exec *exec, const char *path, uint64_t *out_bytes)
{
    (void)exec;
    (void)path;
    (void)out_bytes;
    return braid_error_left_out("braid_exec_save_capture", "capture");
}
