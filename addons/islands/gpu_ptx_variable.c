// SPDX-License-Identifier: Apache-2.0
// Variables and parameters of PTX: their names and how much room they take.
#include "islands/gpu_ptx_variable.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

// 8 of .f64; 0: it is no type.
static uint32_t bytes_of(struct ptx_word word)
{
    bool is_type = word.length > 2 && word.at[0] == '.' && strchr("usbf", word.at[1]) &&
                   isdigit((unsigned char)word.at[2]);
    return is_type ? (uint32_t)strtoul(word.at + 2, NULL, 10) / 8 : 0;
}

static bool ends(struct ptx_word word)
{
    return word.length == 0 || (word.length == 1 && strchr(",;)=", word.at[0]));
}

struct reading {
    struct ptx_variable variable;
    uint64_t count;
    bool is_pointee; // an alignment is of the memory that a parameter points to
};

static bool read_word(struct reading *reading, struct ptx_word word, const char **at)
{
    struct ptx_variable *variable = &reading->variable;
    if (braid_ptx_word_is(word, ".align")) {
        uint32_t align = (uint32_t)strtoul(braid_ptx_next_word(at).at, NULL, 10);
        variable->align = reading->is_pointee ? variable->align : align;
    } else if (braid_ptx_word_is(word, ".ptr")) {
        reading->is_pointee = true;
    } else if (braid_ptx_word_is(word, ".v2") || braid_ptx_word_is(word, ".v4")) {
        reading->count *= (uint64_t)(word.at[2] - '0');
    } else if (braid_ptx_word_is(word, "[")) {
        struct ptx_word number = braid_ptx_next_word(at);
        variable->is_open |= braid_ptx_word_is(number, "]");
        if (variable->is_open)
            return true;
        reading->count *= strtoull(number.at, NULL, 10);
        return braid_ptx_word_is(braid_ptx_next_word(at), "]");
    } else if (bytes_of(word)) {
        variable->bytes = bytes_of(word);
    } else if (word.at[0] != '.') {
        variable->name = word;
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
    variable->align = variable->align ? variable->align : (uint32_t)variable->bytes;
    if (variable->bytes == 0 || variable->name.length == 0 || variable->align == 0 ||
        reading.count > UINT32_MAX / variable->bytes)
        return false;
    variable->bytes = variable->is_open ? 0 : variable->bytes * reading.count;
    *out_variable = *variable;
    return true;
}
