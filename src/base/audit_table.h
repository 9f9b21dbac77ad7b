// SPDX-License-Identifier: Apache-2.0
// The table of a launch in an audit: the memory that the kernel knows, and the accesses of which it
// tells.
//
// A segment has bytes of the graph's buffers to which the node may do the same. Segments have the
// order of their addresses, and do not overlap. An access elsewhere is none of the graph's.
#ifndef BRAID_BASE_AUDIT_TABLE_H
#define BRAID_BASE_AUDIT_TABLE_H

#include <stdint.h>

// Accesses. An update reads and writes atomically.
enum audit_act { AUDIT_READS, AUDIT_WRITES, AUDIT_UPDATES, AUDIT_NUM_ACTS };

// Those of one kind that are not allowed.
struct audit_tally {
    uint64_t num;
    uint64_t lowest, highest; // first byte and last one in the segment
};

struct audit_segment {
    uint64_t begin, end;
    uint32_t allowed;             // a bit for each act
    uint8_t seen[AUDIT_NUM_ACTS]; // 1: yes
    struct audit_tally tallies[AUDIT_NUM_ACTS];
};

enum { AUDIT_NUM_KNOWN = 8 };

struct audit_table {
    uint64_t num, unused;
    uint64_t known[AUDIT_NUM_KNOWN]; // addresses of segments that the kernel found; 0: none
    struct audit_segment segments[]; // one more than `num`, behind all addresses
};

#endif
