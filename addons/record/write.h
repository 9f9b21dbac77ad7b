// SPDX-License-Identifier: Apache-2.0
// Writing the file of a record.
#ifndef BRAID_RECORD_WRITE_H
#define BRAID_RECORD_WRITE_H

#include <stdint.h>

#include <braid/record.h>

// The bytes of the file, a block. The `befores` are those of nodes alone. NULL: memory ran out.
uint8_t *braid_record_write(const braid_record_contents *contents, uint64_t *out_num);

#endif
