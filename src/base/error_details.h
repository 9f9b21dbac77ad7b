// SPDX-License-Identifier: Apache-2.0
// Long texts that belong to an error: all lines that a compiler wrote.
#ifndef BRAID_BASE_ERROR_DETAILS_H
#define BRAID_BASE_ERROR_DETAILS_H

// Keeps a copy of `text` as the details of the error that this thread wrote last. They are told as
// long as the thread's message contains that error's message up to `end`, so that callers may add
// to it. Without memory there are none.
void braid_error_set_details(const char *end, const char *text);

#endif
