// SPDX-License-Identifier: Apache-2.0
// What the tests of the recorder share: a context, a module, and the record of their own process.
#ifndef BRAID_TESTS_RECORD_PROGRAM_H
#define BRAID_TESTS_RECORD_PROGRAM_H

#include <braid/record.h>

#include "cuda_abi.h"
#include "support/check.h"

#define must(call) must_at((call), #call, __FILE__, __LINE__)
void must_at(CUresult result, const char *call, const char *file, int line);

// PTX of two kernels: add(memory, number) and nothing().
extern const char program_text[];

struct program {
    CUcontext context;
    CUmodule module;
    CUfunction add, nothing;
};
extern struct program program;

// Fixtures. The recorder stands before the driver, or the program is skipped.
int open_program(void **state);
int close_program(void **state);

void launch_add(CUstream stream, CUdeviceptr memory, uint32_t number);
void launch_nothing(CUstream stream);

// The record that this process has written. The recorder writes it at a mark.
const braid_record_contents *open_own_record(void);
void close_own_record(void);

#endif
