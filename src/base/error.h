// SPDX-License-Identifier: Apache-2.0
// Writing error messages: the place that first knows an error writes it, callers pass it on.
#ifndef BRAID_BASE_ERROR_H
#define BRAID_BASE_ERROR_H

#include <stdbool.h>
#include <stdint.h>

#include <braid/status.h>

enum { ERROR_MESSAGE_BYTES = 1024 };

// Writes this thread's error message, hands it to the log callback, and returns `status`. A name in
// the message ('%s' in the format) has at most 150 bytes.
__attribute__((format(printf, 2, 3))) braid_status braid_error(braid_status status,
                                                               const char *format, ...);

#define braid_error_invalid(...) braid_error(BRAID_INVALID_ARGUMENT, __VA_ARGS__)

// braid_error for an argument of a public function that is NULL and may not be.
braid_status braid_error_null(const char *function, const char *argument);

// braid_error for a failed host allocation of `what`.
braid_status braid_error_no_memory(const char *what);

// The earlier failure, where both were tried.
static inline braid_status error_first(braid_status before, braid_status now)
{
    return before ? before : now;
}

// braid_error for a public function that needs an add-on, where this Braid was built without it.
#define ERROR_LEFT_OUT "%s: this Braid was built without the add-on '%s'"
braid_status braid_error_left_out(const char *function, const char *addon);

// An attempt whose failure may turn out to be no error, since there is another way. Until its end
// this thread's messages are written, as reasons, but not logged. Attempts may be nested.
struct error_attempt {
    char message[ERROR_MESSAGE_BYTES]; // from before
    uint64_t num_errors;               // from before
    bool inside_another;
};

void braid_error_begin_attempt(struct error_attempt *attempt);

// Ends the attempt as the caller's own failure `status`, whose message is logged now. With BRAID_OK
// the message from before comes back, as if nothing had happened.
void braid_error_end_attempt(const struct error_attempt *attempt, braid_status status);

// Ends the attempt as a failure that the caller cannot return. The message of `status` is logged
// now, also inside another attempt, since the failure stays in any outcome of that one. Then the
// message from before comes back. With BRAID_OK as above.
void braid_error_end_noted(const struct error_attempt *attempt, braid_status status);

#endif
