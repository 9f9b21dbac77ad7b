// SPDX-License-Identifier: Apache-2.0
// What the tests of the stand-in driver share: assertions on results, a context, a gate in a
// stream.
#ifndef BRAID_STANDIN_TEST_DRIVER_H
#define BRAID_STANDIN_TEST_DRIVER_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../standin_control.h"
#include "../standin_kernel.h"
#include "cuda_abi.h"

// Macros, for the caller's file and line.
#define must(call) must_be_at((call), CUDA_SUCCESS, #call, __FILE__, __LINE__)
#define must_be(call, expected) must_be_at((call), (expected), #call, __FILE__, __LINE__)
void must_be_at(CUresult result, CUresult expected, const char *call, const char *file, int line);

// Fixtures: the primary context of device 0 is current, settings are as at the start; afterwards
// nothing may be left over.
int open_driver(void **state);
int close_driver(void **state);
// The same for a driver that runs PTX.
int open_interpreter(void **state);
int close_interpreter(void **state);

CUcontext current_context(void);
CUstream make_stream(void);          // non-blocking
CUevent make_event(void);            // without timing
unsigned *make_memory(size_t count); // device memory of that many words, by its host address
CUdeviceptr device(const void *memory);
void free_memory(void *memory);

// Two kernels as PTX: add_one(pointer), copy_word(to, from); and their handles.
extern const char word_kernels[];
struct words {
    CUmodule module;
    CUfunction add_one, copy_word;
};
struct words load_words(void);
void launch_add_one(const struct words *words, unsigned *word, CUstream stream);
void launch_copy_word(const struct words *words, unsigned *to, unsigned *from, CUstream stream);

// A gate holds a stream until it is opened.
struct gate {
    atomic_bool entered, open;
};
void close_gate(struct gate *gate, CUstream stream);
void await_gate(struct gate *gate); // until the stream has come to it
void open_gate(struct gate *gate);

#endif
