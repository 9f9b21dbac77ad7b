// SPDX-License-Identifier: Apache-2.0
// Random kernels in PTX whose pointers go many ways from their parameters to where they are used:
// in structs, selected by predicates, through local and shared memory, in halves, through loops,
// vectors and functions. They stay inside the buffers that their pointers point into.
#ifndef BRAID_TESTS_ACCESSES_RANDOM_KERNEL_H
#define BRAID_TESTS_ACCESSES_RANDOM_KERNEL_H

#include <stddef.h>
#include <stdint.h>

#include "support/random.h"

enum {
    KERNEL_BUFFERS = 6,
    KERNEL_BUFFER_BYTES = 4096,
    KERNEL_FIRST = 1024, // where a pointer points in its buffer at first
    KERNEL_POINTERS = 3, // parameters of their own: buffers 0 to 2
    KERNEL_STRUCT_BYTES = 64,
    KERNEL_TABLE = 5, // this buffer holds addresses of the others
    KERNEL_THREADS = 4,
    KERNEL_ARGUMENT_BYTES = 8 * KERNEL_POINTERS + KERNEL_STRUCT_BYTES + 8,
};

// Where the struct has the addresses of buffers 3, 4 and 5.
extern const uint32_t kernel_struct_places[3];

// Writes the text of a kernel "k". Its parameters are three pointers, a struct with three more and
// numbers between, and a number. It runs with at most so many threads, up to KERNEL_THREADS.
size_t random_kernel_write(struct random *random, int num_threads, char *text, size_t bytes);

// Changes a word of an instruction of the text to one that stands elsewhere in it.
void random_kernel_mutate(struct random *random, char *text, size_t bytes);

#endif
