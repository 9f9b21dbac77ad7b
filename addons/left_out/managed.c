// SPDX-License-Identifier: Apache-2.0
// Prefetches: their public function where the add-on 'managed' is left out.
#include <braid/managed.h>

#include "base/error.h"

braid_status braid_queue_prefetch(braid_device *device, braid_stream *stream, void *user)
{
    (void)device;
    (void)stream;
    (void)user;
    return braid_error_left_out("braid_queue_prefetch", "managed");
}
