// SPDX-License-Identifier: Apache-2.0
// Text that ends early, as a file that was cut off: it is changed or refused with a reason, and
// nothing is read beyond its end.
#ifndef BRAID_TESTS_GPU_CUT_OFF_H
#define BRAID_TESTS_GPU_CUT_OFF_H

#include <stdlib.h>
#include <string.h>

#include "base/host_memory.h"
#include "ptx/ptx_read.h"
#include "support/check.h"

typedef char *text_changer(const char *text, struct ptx_reason *out_reason);

static inline void check_cut_off(const char *whole, text_changer *change)
{
    for (size_t length = 0; length <= strlen(whole); length++) {
        struct ptx_reason reason;
        char *text = malloc(length + 1); // with this size, so that a sanitizer sees more
        assert_non_null(text);
        memcpy(text, whole, length);
        text[length] = '\0';
        char *changed = change(text, &reason);
        assert_true(changed || *reason.text);
        braid_free(changed);
        free(text);
    }
}

#endif
