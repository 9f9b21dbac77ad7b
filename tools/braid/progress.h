// SPDX-License-Identifier: Apache-2.0
// One line on the terminal that says how far long work has come; nothing where there is none.
#ifndef BRAID_TOOL_PROGRESS_H
#define BRAID_TOOL_PROGRESS_H

#include <stdint.h>

// Shows `what`, a literal, with a percentage when total > 0, if the work takes over half a second.
// Cheap enough to call often: it draws the same words at most ten times a second, and only when
// standard error is a terminal.
void progress_show(const char *what, uint64_t done, uint64_t total);

// From now on each step leaves a line on standard error with its name and how long it took.
void progress_be_verbose(void);

// Ends the step and takes the line away; every other line of output comes after a call of this.
void progress_clear(void);

#endif
