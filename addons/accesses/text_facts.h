// SPDX-License-Identifier: Apache-2.0
// The facts of kernels in a text, for kernels that are in no graph.
#ifndef BRAID_ACCESSES_TEXT_FACTS_H
#define BRAID_ACCESSES_TEXT_FACTS_H

#include "graph/code.h"

// As the doors of these names (graph/code.h).
braid_status braid_code_open_text(const char *ptx, struct code_text **out_text);
void braid_code_close_text(struct code_text *text);
braid_status braid_code_read_entry(struct code_text *text, const char *entry,
                                   struct code_facts *out_facts);

#endif
