// SPDX-License-Identifier: Apache-2.0
// Where the attributes of a file's nodes stand in its text.
#ifndef BRAID_TOOL_DOT_GIVEN_H
#define BRAID_TOOL_DOT_GIVEN_H

#include "dot_names.h"
#include "dot_token.h"

struct dot_file;

enum dot_attribute_use {
    DOT_ATTRIBUTE_IGNORED, // nothing is known of it
    DOT_ATTRIBUTE_NEAR,    // its name is nearly one that is read
    DOT_ATTRIBUTE_READ
};

// One name of attributes. Values are places in the text; 0: not given.
struct dot_attribute {
    enum dot_attribute_use use;
    uint32_t graph;       // the graph's own
    uint32_t *values;     // the first `room` nodes', by their place
    uint32_t room;        // 0 unless it is read
    uint32_t first, near; // else the first node that has it, and the value there
    uint32_t setting;     // where the statement at hand has it, if it does
};

struct dot_given {
    struct dot_names names; // nodes', edges' and graphs'
    struct dot_attribute *attributes;
    uint32_t room;
    struct dot_string value; // read last, and where it stands
    uint32_t value_at;
};

// The number of an attribute, which may be new. DOT_NONE: no memory.
uint32_t dot_given_add(struct dot_given *given, const char *name, bool *out_is_new);

// Gives the node of that place a value. False: no memory.
bool dot_given_set(struct dot_given *given, uint32_t attribute, uint32_t place, uint32_t value);

// NULL: no node has it, and no graph.
const struct dot_attribute *dot_given_find(const struct dot_given *given, const char *name);

static inline uint32_t dot_given_value(const struct dot_attribute *attribute, uint32_t place)
{
    return place < attribute->room ? attribute->values[place] : 0;
}

// The value at a place of the file's text, empty where none is given. It is valid until the next
// call. NULL: no memory, which is reported.
const struct dot_string *dot_given_read(struct dot_file *file, uint32_t value);

// The line where the value of a node stands; 1 where none is given.
uint64_t dot_given_line(const struct dot_file *file, uint32_t node, const char *name);

void dot_given_finish(struct dot_given *given);

#endif
