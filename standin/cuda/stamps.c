// SPDX-License-Identifier: Apache-2.0
// Times that kernels write down, done by host functions.
#include "stamps.h"

#include <stdatomic.h>
#include <string.h>
#include <time.h>

enum {
    APART = 8,             // from one stamp of a kernel to its next, in stamps
    APART_NS = 1000000000, // so that nobody takes the device's clock for the host's
};

uint64_t stamps_now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec + APART_NS;
}

// Any stamp that the mask allows will do, as the device's multiprocessors choose.
static uint64_t *find_stamp(const struct CUfunc_st *function, void **arguments)
{
    uint64_t *stamps = *(uint64_t **)arguments[function->stamps - 2];
    uint32_t mask = *(const uint32_t *)arguments[function->stamps - 1];
    return stamps + (size_t)2 * APART * (stamps_now() / 64 & mask);
}

static void raise_to(uint64_t *at, uint64_t value)
{
    uint64_t now = __atomic_load_n(at, __ATOMIC_RELAXED);
    while (now < value &&
           !__atomic_compare_exchange_n(at, &now, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
}

// Behind the kernel's own arguments: the note, the node, and the address of a count or NULL.
static void **find_note(const struct CUfunc_st *function, void **arguments)
{
    return arguments + function->num_parameters - 3;
}

void stamps_begin(const struct CUfunc_st *function, void **arguments)
{
    if (function->notes) {
        void **note = find_note(function, arguments);
        uint64_t node = *(const uint32_t *)note[1] + 1;
        atomic_store(*(_Atomic uint64_t **)note[0], node << 32 | node);
    }
    if (function->stamps)
        raise_to(find_stamp(function, arguments), ~stamps_now());
}

void stamps_end(const struct CUfunc_st *function, void **arguments)
{
    if (function->notes_end) {
        void **note = find_note(function, arguments);
        if (*(void **)note[2] != NULL)
            atomic_store(*(_Atomic uint32_t **)note[0] + 1, ~(*(const uint32_t *)note[1] + 1));
    }
    if (function->stamps)
        raise_to(find_stamp(function, arguments) + 1, stamps_now());
}

static void stamp(const unsigned grid[3], const unsigned block[3], unsigned shared_bytes,
                  void **arguments)
{
    (void)grid, (void)block, (void)shared_bytes;
    **(uint64_t **)arguments[0] = stamps_now() ^ *(const uint64_t *)arguments[1];
}

// Each place is a first stamp and how many there are.
static void keep(const unsigned grid[3], const unsigned block[3], unsigned shared_bytes,
                 void **arguments)
{
    (void)block, (void)shared_bytes;
    uint64_t *stamps = *(uint64_t **)arguments[0], *kept = *(uint64_t **)arguments[1];
    uint64_t *counter = *(uint64_t **)arguments[2];
    const uint32_t *places = *(const uint32_t **)arguments[3];
    uint32_t num = *(const uint32_t *)arguments[4], room = *(const uint32_t *)arguments[5];
    uint64_t *row = kept + 2 * (*counter / grid[0] % room) * num;
    for (uint32_t i = 0; i < num; i++, row += 2) {
        row[0] = row[1] = 0;
        for (uint32_t k = 0; k < places[2 * i + 1]; k++) {
            uint64_t *from = stamps + 2 * ((size_t)places[2 * i] + (size_t)APART * k);
            row[0] = from[0] > row[0] ? from[0] : row[0];
            row[1] = from[1] > row[1] ? from[1] : row[1];
            from[0] = from[1] = 0;
        }
    }
    *counter += grid[0];
}

standin_kernel stamps_find_body(const char *name)
{
    if (strcmp(name, "braid_stamp") == 0)
        return stamp;
    return strcmp(name, "braid_keep") == 0 ? keep : NULL;
}
