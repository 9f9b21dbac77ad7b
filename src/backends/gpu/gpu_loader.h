// SPDX-License-Identifier: Apache-2.0
// Fills a struct of function pointers from a shared library, by a table of symbol names.
#ifndef BRAID_BACKENDS_GPU_GPU_LOADER_H
#define BRAID_BACKENDS_GPU_GPU_LOADER_H

#include <stdbool.h>
#include <stddef.h>

enum gpu_vendor_index {
    GPU_CUDA,
    GPU_HIP,
    GPU_NUM_VENDORS,
};

enum { GPU_MAX_NAMES = 2 };

// A row: the slot's place in its struct, and each vendor's names to try, in order. Without names
// the vendor lacks the function: the slot stays NULL. An optional slot may stay NULL anyway.
struct gpu_symbol {
    size_t offset;
    const char *names[GPU_NUM_VENDORS][GPU_MAX_NAMES];
    bool optional[GPU_NUM_VENDORS];
};

struct gpu_symbol_table {
    const struct gpu_symbol *rows;
    size_t num_rows;
};

// The functions of the driver (struct gpu_api), of the run-time compiler (struct gpu_compiler_api)
// and of nvJitLink (struct gpu_assembler_api).
extern const struct gpu_symbol_table braid_gpu_symbols;
extern const struct gpu_symbol_table braid_gpu_compiler_symbols;
extern const struct gpu_symbol_table braid_gpu_assembler_symbols;

// Opens the first of `libraries` (ended by NULL) that exports every required symbol, and fills
// `slots`. On failure returns NULL, leaves `slots` as it was, and writes each attempt and its
// failure to `reason`. A library is never closed, not even a refused one. HIP's must not be (its
// constructor leaks a little at each load), and the handle costs nothing.
void *braid_gpu_load(const struct gpu_symbol_table *table, enum gpu_vendor_index vendor,
                     const char *const *libraries, void *slots, char *reason, size_t reason_size);

// Fills `slots` from an open library; false, with the first missing symbol's name, when a required
// one is not there.
bool braid_gpu_fill(const struct gpu_symbol_table *table, enum gpu_vendor_index vendor,
                    void *library, void *slots, const char **out_missing);

// The first name of the slot at an offset, for messages.
const char *braid_gpu_symbol_name(const struct gpu_symbol_table *table,
                                  enum gpu_vendor_index vendor, size_t offset);

#endif
