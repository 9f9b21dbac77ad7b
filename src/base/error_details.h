// SPDX-License-Identifier: Apache-2.0
// Errors beside their message: the long texts that belong to them, as all lines that a compiler
// wrote, and their number.
#ifndef BRAID_BASE_ERROR_DETAILS_H
#define BRAID_BASE_ERROR_DETAILS_H

#include <stdint.h>

// Keeps a copy of `text` as the details of the error that this thread wrote last. They are told as
// long as the thread's message contains that error's message up to `end`, so that callers may add
// to it. Without memory there are none.
void braid_error_set_details(const char *end, const char *text);

// How many errors this thread has written, without those of attempts that were taken back. Around a
// function of the program it tells whether the message is of a call that the function made.
uint64_t braid_error_count(void);

#endif
