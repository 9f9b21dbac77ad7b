// SPDX-License-Identifier: Apache-2.0
// The sources of all values of an entry and of the functions that it calls.
#ifndef BRAID_ACCESSES_FLOW_H
#define BRAID_ACCESSES_FLOW_H

#include "accesses/code.h"
#include "accesses/local_memory.h"

// A function that the entry reaches.
struct flow_function {
    uint32_t function;   // an index of the module's
    uint32_t first_cell; // in values
};

struct flow {
    struct kernel_code *code;
    struct array functions; // struct flow_function; the entry first
    uint32_t *cell_of;      // by function of the module: its first cell; CODE_NONE: not reached
    uint32_t *values;       // by cell: a set of sources
    uint32_t *steps;        // by cell: a number that divides it; 0: it has no value
    bool *falls;            // by cell: its number may be below zero
    uint32_t num_cells;
    struct local_memory local;
    bool local_escapes;     // an address in local memory was stored elsewhere
    uint32_t shared;        // the set of all that is stored there
    bool stored_falls;      // some number there, or in local memory, does
    const char *by_address; // the first call of a function by its address; NULL: there is none
    const char *why;        // nobody knows what it does; NULL: somebody does
    const char *at;         // where
    uint32_t num_passes;
    bool changed, has_falls; // some number falls
};

// Finds all sources, as sets that no instruction makes larger. False: memory ran out.
bool braid_flow_find(struct kernel_code *code, uint32_t entry, struct flow *out_flow);
void braid_flow_finish(struct flow *flow);

// The sources of a value in a function that is reached.
uint32_t braid_flow_sources(const struct flow *flow, uint32_t first_cell,
                            const struct code_value *value);

#endif
