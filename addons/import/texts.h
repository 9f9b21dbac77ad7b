// SPDX-License-Identifier: Apache-2.0
// The facts of captured functions, from the texts that the program gives.
#ifndef BRAID_IMPORT_TEXTS_H
#define BRAID_IMPORT_TEXTS_H

#include <braid/import.h>

#include "graph/code.h"
#include "import/captured.h"

// The joined facts of all texts that fit a function.
struct import_code {
    struct array addresses; // struct code_address
    bool reads_variables, writes_variables;
    struct array variables; // char: the names of its module's variables, each NUL-terminated
    bool watches_variables; // others may look at one of them
    char why[200];          // nobody knows what the function does; "": it is proven
    uint32_t line;          // where in the text; 0: nowhere
    bool is_lost;           // for all that, somebody who knows all its pointers knows it
    uint32_t loads_line;    // where it uses the first pointer from memory; 0: nowhere
    bool calls_out;   // it calls functions that no text has, such as one that sets a condition
    size_t num_texts; // that fit it
    size_t reloaded;  // one of braid_import_options.reloaded that does, from 1; 0: none
};

// An array of struct import_code, one for each captured function. Errors: BRAID_NO_MEMORY,
// BRAID_IO_ERROR (a file cannot be read).
braid_status braid_import_read_code(const struct captured_graph *captured,
                                    const braid_import_options *options,
                                    struct import_code **out_code);
void braid_import_code_finish(struct import_code *code, size_t num);

#endif
