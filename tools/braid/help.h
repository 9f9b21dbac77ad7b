// SPDX-License-Identifier: Apache-2.0
// braid help TOPIC: what is not of one command.
#ifndef BRAID_TOOL_HELP_H
#define BRAID_TOOL_HELP_H

#include <stdbool.h>

// Prints a topic on standard output; false where there is none of that name.
bool help_print_topic(const char *name);

#endif
