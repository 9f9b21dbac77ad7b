// SPDX-License-Identifier: Apache-2.0
// Captured nodes whose memory the program states.
#ifndef BRAID_IMPORT_STATEMENTS_H
#define BRAID_IMPORT_STATEMENTS_H

#include "import/captured.h"

struct stated_node {
    const void *handle;
    uint32_t node;
    const braid_import_statement *statement; // NULL: none has it
};

struct import_statements {
    const struct captured_graph *captured;
    struct stated_node *by_handle; // all captured nodes, if there are statements
    const braid_import_statement **by_node;
};

// Errors: BRAID_NO_MEMORY, BRAID_INVALID_ARGUMENT (names the statement whose node is in no graph,
// or in another statement).
braid_status braid_import_match_statements(const struct captured_graph *captured,
                                           const braid_import_options *options,
                                           struct import_statements *out_statements);
void braid_import_statements_finish(struct import_statements *statements);

// NULL: no statement has it.
const braid_import_statement *braid_import_statement_of(const struct import_statements *statements,
                                                        uint32_t node);

// Whether a range of the statement has the address.
bool braid_import_is_in_range(const braid_import_statement *statement, uint64_t address);

// The options' confined kernels have names, or it tells which has none.
braid_status braid_import_check_confined(const char *function, const braid_import_options *options);

// Whether the options say that the kernel touches only memory that its parameters point into.
bool braid_import_is_confined(const braid_import_options *options, const char *kernel);

// A node that a statement names.
const struct captured_node *braid_import_stated_node(const struct import_statements *statements,
                                                     const void *handle);

#endif
