// SPDX-License-Identifier: Apache-2.0
// Records: their public functions where the add-on 'record' is left out.
#include <braid/record.h>

#include "base/error.h"

braid_status braid_record_load(const char *path, braid_record **out_record)
{
    (void)path;
    (void)out_record;
    return braid_error_left_out("braid_record_load", "record");
}

void braid_record_destroy(braid_record *record)
{
    (void)record;
}

const braid_record_contents *braid_record_get_contents(const braid_record *record)
{
    (void)record;
    return NULL;
}

bool braid_record_frame_mark(void)
{
    return false;
}

uint64_t braid_record_get_digest(const void *bytes, uint64_t num)
{
    (void)bytes;
    (void)num;
    return 0;
}
