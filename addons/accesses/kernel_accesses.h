// SPDX-License-Identifier: Apache-2.0
// The accesses of a kernel, from its code: which pointers among its parameters it reads and writes
// through.
//
// Each address of a kernel comes from its parameters, or from a variable of its module, or nothing
// is proven. The proof assumes that a kernel stays inside the allocation that a pointer points
// into. A pointer may also be the end of an allocation, if the kernel goes down from it. It also
// assumes that memory of the device holds addresses whole, neither scaled nor shifted. Parts become
// an address by shifts, bit fields, vectors and factors that are numbers. They become none by sums,
// permutations of bytes and other factors.
#ifndef BRAID_ACCESSES_KERNEL_ACCESSES_H
#define BRAID_ACCESSES_KERNEL_ACCESSES_H

#include "accesses/code.h"

enum {
    ACCESSES_READS = 1 << 0,
    ACCESSES_WRITES = 1 << 1,
    ACCESSES_UPDATES = 1 << 2, // atomically
};

// Bytes that a kernel touches behind the address that a pointer is.
struct kernel_range {
    uint64_t source;      // the pointer, not moved
    uint32_t from, bytes; // 0 bytes: nobody knows which
    unsigned acts;
};

struct kernel_access {
    uint32_t parameter;
    uint32_t offset; // 8 bytes there are a pointer; or source_is_anywhere
    unsigned acts;
    unsigned below;                   // acts at an address that may lie below the pointer
    bool is_above;                    // some act is at an address that does not
    const char *read_at, *written_at; // the first instruction that does so; NULL: none does
};

// An access through a pointer that the kernel loads from memory.
struct kernel_pointed {
    uint32_t place; // where the pointer stands, among the places of the code's sets
    unsigned acts, below;
    bool is_above;
    const char *at; // the first instruction
};

struct kernel_accesses {
    struct array parameters; // struct code_parameter: all of the kernel's
    struct array items;      // struct kernel_access, by parameter and offset
    struct array pointed;    // struct kernel_pointed, those with fewer pointers before them first
    struct array ranges;     // struct kernel_range: of both kinds
    unsigned of_variables;   // acts on variables of the module
    bool reads_constants;    // by ld.const, which no kernel writes
    bool calls_out;          // it calls functions without a body, or by address
    const char *why;         // nobody knows what it does; NULL: proven
    const char *at;          // the instruction that is why
    // The same for somebody who knows each pointer that the kernel loads.
    const char *beside, *beside_at;
    bool is_broken; // and it does not only lose pointers, or call by one
};

// braid_ptx_line tells the lines of instructions. False: memory ran out.
bool braid_kernel_accesses_find(struct kernel_code *code, uint32_t entry,
                                struct kernel_accesses *out_accesses);
void braid_kernel_accesses_finish(struct kernel_accesses *accesses);

#endif
