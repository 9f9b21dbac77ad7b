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

#endif
