// SPDX-License-Identifier: Apache-2.0
// The tables of an audit: the memory that a kernel knows, and the accesses of which it tells.
//
// A segment has bytes to which a node may do the same. Segments have the order of their addresses,
// and do not overlap. Each node has a table of the memory that it declares. One more table has the
// memory of all buffers, to which a node may do nothing. An access elsewhere is none of the
// graph's.
#ifndef BRAID_AUDIT_AUDIT_KERNEL_TABLE_H
#define BRAID_AUDIT_AUDIT_KERNEL_TABLE_H

#include <stdint.h>

#include "ptx/ptx_access.h"

// A line of source is a number: its file's, then its own. Numbers of files begin with 1.
enum { AUDIT_LINE_BITS = 19, AUDIT_NO_LINE = (1 << 26) - 1 };

// The accesses of one kind that are not allowed.
struct audit_tally {
    uint64_t num;
    uint64_t lowest, highest; // first byte and last one in the segment
    uint32_t line, unused;    // the least of theirs; AUDIT_NO_LINE: not known
};

struct audit_segment {
    uint64_t begin, end;
    uint32_t allowed;           // a bit for each act
    uint8_t seen[PTX_NUM_ACTS]; // 1: yes
    struct audit_tally tallies[PTX_NUM_ACTS];
};

enum { AUDIT_NUM_KNOWN = 8 };

struct audit_table {
    uint64_t num;
    uint64_t rest; // an address: of all buffers' table; of it, a word of the host that becomes 1
    uint64_t known[AUDIT_NUM_KNOWN]; // addresses of segments that the kernel found; 0: none
    struct audit_segment segments[]; // one more than `num`, behind all addresses
};

#endif
