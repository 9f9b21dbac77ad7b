// SPDX-License-Identifier: Apache-2.0
// What the stand-in says: complaints as they happen, and a summary at exit when asked.
#ifndef BRAID_STANDIN_REPORT_H
#define BRAID_STANDIN_REPORT_H

// One line to stderr, for misuse that an error code alone would hide.
__attribute__((format(printf, 1, 2))) void complain(const char *format, ...);

// Reports a kernel that is queued. Expects the world's lock.
void report_priority(const char *kernel, int priority);

#endif
