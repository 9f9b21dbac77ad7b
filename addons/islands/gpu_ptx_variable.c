// SPDX-License-Identifier: Apache-2.0
// Variables and parameters of PTX: their names and how much room they take.
#include "islands/gpu_ptx_variable.h"

#include <string.h>

// 8 of .f64; 0: it is no type.
static uint32_t bytes_of(struct ptx_word word)
{
    bool is_type = word.length > 2 && word.at[0] == '.' && strchr("usbf", word.at[1]);
    uint32_t bits = is_type ? braid_ptx_read_number(word, 2, 10) : 0;
    return bits <= 128 ? bits / 8 : 0;
}

static bool ends(struct ptx_word word)
{
    return word.length == 0 || (word.length == 1 && strchr(",;)=", word.at[0]));
}

struct reading {
    struct ptx_variable variable;
    uint64_t count;  // cut down to UINT32_MAX
    bool is_pointee; // an alignment is of the memory that a parameter points to
};

static void multiply(struct reading *reading, uint32_t by)
{
    reading->count *= by;
    if (reading->count > UINT32_MAX)
        reading->count = UINT32_MAX;
}

// Behind the bracket that opens it.
static bool read_length(struct reading *reading, const char **at)
{
    struct ptx_word number = braid_ptx_next_word(at);
    if (braid_ptx_word_is(number, "]")) {
        reading->variable.is_open = true;
        return true;
    }
    multiply(reading, braid_ptx_read_number(number, 0, 10));
    return braid_ptx_is_number(number) && braid_ptx_word_is(braid_ptx_next_word(at), "]");
}

// Not for the alignment of the memory that a parameter points to.
static bool read_align(struct reading *reading, const char **at)
{
    uint32_t align = braid_ptx_read_number(braid_ptx_next_word(at), 0, 10);
    if (!reading->is_pointee)
        reading->variable.align = align;
    return align > 0;
}

static bool read_word(struct reading *reading, struct ptx_word word, const char **at)
{
    struct ptx_variable *variable = &reading->variable;
    if (braid_ptx_word_is(word, ".align"))
        return read_align(reading, at);
    if (braid_ptx_word_is(word, "["))
        return read_length(reading, at);
    if (braid_ptx_word_is(word, ".ptr")) {
        reading->is_pointee = true;
    } else if (braid_ptx_word_is(word, ".v2") || braid_ptx_word_is(word, ".v4")) {
        multiply(reading, braid_ptx_read_number(word, 2, 10));
    } else if (bytes_of(word)) {
        variable->bytes = bytes_of(word);
    } else if (word.at[0] != '.') {
        variable->name = word;
        return braid_ptx_is_name(word);
    }
    return !braid_ptx_word_is(word, ".attribute");
}

bool braid_ptx_read_variable(const char *at, const char *end, struct ptx_variable *out_variable)
{
    struct reading reading = { .count = 1 };
    struct ptx_variable *variable = &reading.variable;
    struct ptx_word word = braid_ptx_next_word(&at);
    for (; !ends(word) && word.at < end; word = braid_ptx_next_word(&at)) {
        if (!read_word(&reading, word, &at))
            return false;
    }
    variable->rest = word.at;
    if (word.at >= end)
        return false;
    variable->align = variable->align ? variable->align : (uint32_t)variable->bytes;
    if (variable->bytes == 0 || !braid_ptx_is_name(variable->name) || variable->align == 0 ||
        reading.count > UINT32_MAX / variable->bytes)
        return false;
    variable->bytes = variable->is_open ? 0 : variable->bytes * reading.count;
    *out_variable = *variable;
    return true;
}
