// SPDX-License-Identifier: Apache-2.0
// Calls of add-ons that this Braid was built without.
#ifndef BRAID_TESTS_LEFT_OUT_H
#define BRAID_TESTS_LEFT_OUT_H

#include <stdbool.h>
#include <string.h>

#include <braid/status.h>

// Whether the thread's last call failed because its add-on is left out. The message names both.
static inline bool is_left_out(braid_status status)
{
    return status == BRAID_UNSUPPORTED &&
           strstr(braid_error_get_message(), ": this Braid was built without the add-on '");
}

// For a program that goes on without such a call.
static inline braid_status unless_left_out(braid_status status)
{
    return is_left_out(status) ? BRAID_OK : status;
}

#endif
