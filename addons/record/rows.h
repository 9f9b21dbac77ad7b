// SPDX-License-Identifier: Apache-2.0
// How the structs of a record lie in its file (docs/record-file.md).
#ifndef BRAID_RECORD_ROWS_H
#define BRAID_RECORD_ROWS_H

#include <stddef.h>
#include <stdint.h>

#include <braid/record.h>

enum record_section {
    RECORD_PROGRAM,
    RECORD_MODULES,
    RECORD_KERNELS,
    RECORD_PARAMETERS,
    RECORD_ALLOCATIONS,
    RECORD_STREAMS,
    RECORD_OPERATIONS,
    RECORD_GRAPHS,
    RECORD_NODES,
    RECORD_BEFORES,
    RECORD_FRAMES,
    RECORD_STRANGERS,
    RECORD_MEMORY,
    RECORD_BYTES,
    RECORD_NUM_SECTIONS,
};

enum {
    RECORD_FORMAT = 4,
    RECORD_OLDEST_FORMAT = 3,
    RECORD_HEAD_NUMBERS = 4, // before the table of sections
    RECORD_HEAD_BYTES = 8 * (RECORD_HEAD_NUMBERS + 3 * RECORD_NUM_SECTIONS),
};

enum record_member_kind {
    RECORD_NUMBER,
    RECORD_FLAG,
    RECORD_CHOICE, // an enumeration, whose last value is `limit`
    RECORD_INDEX,  // a row in section `limit`, or BRAID_RECORD_NONE
    RECORD_TEXT,
    RECORD_BLOCK, // bytes, whose number is in the member at `other`
};

// A member of a struct: its place in the struct, and the numbers that it has in a row.
struct record_member {
    const char *name;
    enum record_member_kind kind;
    uint16_t at, bytes; // in the struct
    uint16_t limit, other, other_bytes;
    uint16_t since; // the format that has it first; 0: all have it
};

// A section: the array in braid_record_contents and its members. Section 0 is the contents itself,
// and the last one has no struct.
struct record_rows {
    const char *name;
    size_t bytes;            // that a struct has
    size_t array_at, num_at; // in braid_record_contents
    const struct record_member *members;
    uint32_t num_members;
    uint32_t num_numbers; // in a row
};

extern const struct record_rows braid_record_rows[RECORD_NUM_SECTIONS]
    __attribute__((visibility("hidden")));

#endif
