// SPDX-License-Identifier: Apache-2.0
// The failure of a device: the first message is kept.
#include "base/failure.h"

#include <string.h>

void braid_failure_note(struct failure *failure)
{
    int none = FAILURE_NONE;
    if (!atomic_compare_exchange_strong(&failure->state, &none, FAILURE_BEING_NOTED))
        return;
    const char *message = braid_error_get_message();
    size_t length = strnlen(message, sizeof(failure->message) - 1);
    memcpy(failure->message, message, length);
    failure->message[length] = '\0';
    atomic_store_explicit(&failure->state, FAILURE_NOTED, memory_order_release);
}
