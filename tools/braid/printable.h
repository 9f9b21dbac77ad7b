// SPDX-License-Identifier: Apache-2.0
// Names as tables show them: they come from files, and a terminal obeys what some bytes tell it.
#ifndef BRAID_TOOL_PRINTABLE_H
#define BRAID_TOOL_PRINTABLE_H

// By value, so that a line can show several without buffers of its own.
struct printable {
    char text[84]; // a longer name is cut, and ends in "..."
};

struct printable printable_name(const char *name);

#endif
