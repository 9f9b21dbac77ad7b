// SPDX-License-Identifier: Apache-2.0
// Reads from a code object's msgpack metadata where a kernel's arguments lie.
#ifndef BRAID_TESTS_STANDIN_HSA_METADATA_H
#define BRAID_TESTS_STANDIN_HSA_METADATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Looks in `metadata` (the descriptor of an ELF note of type NT_AMDGPU_METADATA) for the kernel
// whose descriptor symbol is `symbol` ("NAME.kd"), and lists the offsets of its explicit arguments
// in the kernarg segment, in order. Arguments that the compiler adds ("hidden_...") are left out.
// Returns false if the kernel is not there, the metadata is damaged or memory is short; else the
// caller frees *out_offsets, which is NULL for a kernel without arguments.
bool standin_metadata_find_arguments(const void *metadata, size_t num_bytes, const char *symbol,
                                     uint32_t **out_offsets, uint32_t *out_num_arguments);

#endif
