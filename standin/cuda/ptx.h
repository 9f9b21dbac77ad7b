// SPDX-License-Identifier: Apache-2.0
// Reading from PTX text what a launch needs: the entries and the sizes of their parameters.
#ifndef BRAID_STANDIN_PTX_H
#define BRAID_STANDIN_PTX_H

#include <stdbool.h>
#include <stddef.h>

enum { MAX_ENTRY_NAME = 256, MAX_PARAMETERS = 128, MAX_ARGUMENT_BYTES = 32764 };

struct parameter {
    size_t offset, bytes;
    size_t told; // the offset that the driver tells: those of a GPU begin behind other constants
};

struct ptx_entry {
    char name[MAX_ENTRY_NAME];
    struct parameter parameters[MAX_PARAMETERS];
    size_t num_parameters, argument_bytes;
    bool waits, triggers; // somewhere in its body: griddepcontrol.wait, .launch_dependents
    size_t stamps;        // its parameters up to braid_stamps and braid_mask: see stamps.h; 0: none
    bool notes;           // its last parameters are braid_note, braid_node and braid_block_count
    bool notes_end;       // it reads the last of these
    bool reads_grid;      // its last parameter is braid_grid_from
    bool returns;         // blocks beyond what is there
    bool sets_conditions; // it calls cudaGraphSetConditional for loops
    int most_threads;     // .maxntid; 0: it has none
    int num_clock_reads;  // reads of %globaltimer, in its body
};

// PTX begins with .version and has .target; anything else is another kind of image, or none.
bool ptx_recognise(const char *text);

// Reads the entry at or after *text and moves *text past its body. False: there is no more,
// or it cannot be read; then *out_error says why, or is NULL.
bool ptx_next_entry(const char **text, struct ptx_entry *out_entry, const char **out_error);

#endif
