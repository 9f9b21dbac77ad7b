// SPDX-License-Identifier: Apache-2.0
// The order of a record's operations, by the rules of CUDA.
#ifndef BRAID_RECORD_ORDER_H
#define BRAID_RECORD_ORDER_H

#include <stdbool.h>

#include <braid/record.h>

#include "base/array.h"

// Fills first_before and num_befores of each operation, and appends to the array of uint32_t. All
// else in the contents is checked. False: memory ran out.
bool braid_record_order(const braid_record_contents *contents, braid_record_operation *operations,
                        struct array *befores);

#endif
