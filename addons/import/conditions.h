// SPDX-License-Identifier: Apache-2.0
// The words that conditional nodes run by.
#ifndef BRAID_IMPORT_CONDITIONS_H
#define BRAID_IMPORT_CONDITIONS_H

#include "import/uses.h"

// Whether each conditional node may read its word itself, where kernels set its handle from that
// before. Errors: BRAID_NO_MEMORY, BRAID_UNSUPPORTED (names a node for which it may not).
braid_status braid_import_check_conditions(const struct captured_graph *captured,
                                           const struct import_uses *uses,
                                           const struct import_code *code,
                                           const braid_import_options *options);

// recorded_conditions.c. Of a record, kernels whose code is understood tell the words. Where nobody
// knows a word, the node has a reason not to run again, and keeps its orders. The first call comes
// before the accesses are found. The second one gives the nodes accesses to their words, and leaves
// such kernels out. Errors: BRAID_NO_MEMORY, BRAID_DEVICE_ERROR.
braid_status braid_import_read_conditions(struct import_memory *memory,
                                          struct captured_graph *captured,
                                          struct import_code *code);
braid_status braid_import_take_conditions(const struct import_memory *memory,
                                          struct captured_graph *captured, struct import_uses *uses,
                                          const struct import_code *code);

#endif
