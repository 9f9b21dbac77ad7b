// SPDX-License-Identifier: Apache-2.0
// Writing error messages: the place that first knows an error writes it, callers pass it on.
#ifndef BRAID_BASE_ERROR_H
#define BRAID_BASE_ERROR_H

#include <braid/status.h>

// Writes this thread's error message, hands it to the log callback, and returns `status`.
__attribute__((format(printf, 2, 3))) braid_status braid_error(braid_status status,
                                                               const char *format, ...);

// braid_error for a failed host allocation of `what`.
braid_status braid_error_no_memory(const char *what);

#endif
