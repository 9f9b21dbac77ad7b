// SPDX-License-Identifier: Apache-2.0
// Where a value of a kernel may come from: sets of sources. Each set is held once, so equal sets
// have equal numbers. The empty set is 0.
#ifndef BRAID_ACCESSES_SOURCES_H
#define BRAID_ACCESSES_SOURCES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"

// The item of a source is a parameter, a variable or a cell. Its offset is one in a parameter, or
// in a variable of local memory. An address is whole in 8 bytes: a value of fewer bytes is none,
// but two of them may become one. Sources that become addresses by shifts count the bits by which
// they were shifted to the left. A pointer counts 1 once it was moved, or may have been, and 2 once
// it may have been moved down.
enum source_kind {
    SOURCE_WORD,      // the 8 bytes of a parameter at the offset
    SOURCE_HALF,      // at most 4 bytes of the 4 there
    SOURCE_HIGH,      // the same, shifted left by 32 or more: the upper half of 8 bytes
    SOURCE_BYTES,     // 1 or 2 bytes among the 4 there
    SOURCE_PARAMETER, // the address of a parameter, and the offset
    SOURCE_CELL,      // the address of a variable of .param
    SOURCE_LOCAL,     // an address in a variable of local memory, or in any: SOURCE_NO_LOCAL
    SOURCE_SHARED,    // an address in shared memory
    SOURCE_VARIABLE,  // an address in a variable of the module
    SOURCE_LOADED,  // 8 bytes of the memory of the device or of constants. Shifted left they are no
                    // address, and shifted right they may be one again
    SOURCE_PART,    // at most 4 bytes of those
    SOURCE_SHIFTED, // such 8 bytes, shifted right by bits of which the item is the most, and the
                    // offset the fewest: shifted left by as many they may be an address again
    SOURCE_UNKNOWN, // perhaps an address, and nobody knows which
    SOURCE_POINTED, // 8 bytes of the memory that a pointer leads to. The item is a place. Changed,
                    // it is as SOURCE_LOADED
};

// Offsets that nobody knows. Loads are aligned. If the parameter is, too, a whole pointer is loaded
// at a multiple of 8, and half of one at a multiple of 4.
#define SOURCE_ANYWHERE UINT32_MAX
#define SOURCE_ANYWHERE_IN_HALVES (UINT32_MAX - 1)

// The item of an address in local memory whose variable nobody knows, and the farthest offset of
// one.
#define SOURCE_NO_LOCAL 0
#define SOURCE_LOCAL_FARTHEST (1 << 16)

static inline bool source_is_anywhere(uint32_t offset)
{
    return offset >= SOURCE_ANYWHERE_IN_HALVES;
}

// An index moves the address of a parameter by a multiple of a step. The offset then has the step
// and the first of its places.
enum { SOURCE_FEWEST_STEP = 16, SOURCE_MOST_STEP = (1 << 15) - 1, SOURCE_FARTHEST = 1 << 20 };

static inline uint32_t source_stepped(uint32_t step, uint32_t first)
{
    return 1u << 30 | step << 15 | first;
}

// 0: it has none.
static inline uint32_t source_step(uint32_t offset)
{
    return offset >> 30 == 1 ? offset >> 15 & SOURCE_MOST_STEP : 0;
}

// The least offset at the steps from one that may be below zero.
static inline uint32_t source_first(int64_t offset, uint32_t step)
{
    const int64_t first = offset % step;
    return (uint32_t)(first < 0 ? first + step : first);
}

static inline uint32_t source_divisor(uint32_t a, uint32_t b)
{
    while (b) {
        const uint32_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

// Bits of a source: its kind, how far it was shifted left, its item and its offset.
enum { SOURCE_KIND_AT = 60, SOURCE_LEFT_AT = 55, SOURCE_ITEM_AT = 32, SOURCE_MOST_LEFT = 31 };

static inline uint64_t source_make(enum source_kind kind, uint32_t item, uint32_t offset)
{
    return (uint64_t)kind << SOURCE_KIND_AT | (uint64_t)item << SOURCE_ITEM_AT | offset;
}

static inline enum source_kind source_kind(uint64_t source)
{
    return (enum source_kind)(source >> SOURCE_KIND_AT);
}

static inline uint32_t source_left(uint64_t source)
{
    return (uint32_t)(source >> SOURCE_LEFT_AT) & SOURCE_MOST_LEFT;
}

// Further than the most counts as the most.
static inline uint64_t source_at_left(uint64_t source, uint32_t left)
{
    const uint64_t most = (uint64_t)SOURCE_MOST_LEFT << SOURCE_LEFT_AT;
    return (source & ~most) | (left < SOURCE_MOST_LEFT ? (uint64_t)left << SOURCE_LEFT_AT : most);
}

// A word of a parameter, or one that a pointer leads to.
static inline bool source_is_pointer(uint64_t source)
{
    return source_kind(source) == SOURCE_WORD || source_kind(source) == SOURCE_POINTED;
}

// It may lie below the address that the word is.
static inline bool source_is_sunk(uint64_t source)
{
    return source_is_pointer(source) && source_left(source) > 1;
}

static inline uint32_t source_item(uint64_t source)
{
    return (uint32_t)(source >> SOURCE_ITEM_AT) & ((1u << (SOURCE_LEFT_AT - SOURCE_ITEM_AT)) - 1);
}

static inline uint32_t source_offset(uint64_t source)
{
    return (uint32_t)source;
}

// How an instruction changes the sources of an operand.
enum source_change {
    SOURCE_JOIN,        // no change: two sets are joined
    SOURCE_NARROW,      // to 4 bytes or fewer
    SOURCE_LOWER,       // the lower 4 bytes of 8
    SOURCE_UPPER,       // the upper ones
    SOURCE_WIDEN,       // parts are put together to 8 bytes
    SOURCE_MEET,        // upper and lower halves of 8 bytes meet
    SOURCE_MULTIPLY,    // a product is no address that was loaded
    SOURCE_SHIFT_LEFT,  // by a number of bits, or SOURCE_ANY_BITS
    SOURCE_SHIFT_RIGHT, // by 1 to 31, or SOURCE_ANY_BITS
    SOURCE_SHIFT_DOWN,  // by 32 or more
    SOURCE_CONVERT,     // from a floating-point number
    SOURCE_MOVE,        // by a number of bytes
    SOURCE_MOVE_STEPS,  // by a multiple of a number of bytes
    SOURCE_MOVE_ANYHOW, // by bytes that nobody knows
    SOURCE_SINK,        // no change but that pointers may have been moved down
    SOURCE_NUM_CHANGES,
};

// Nobody knows by how many.
#define SOURCE_ANY_BITS 64

// 8 bytes, so far behind the address that a pointer is. Nobody knows where, if the pointer was
// moved: SOURCE_ANYWHERE.
struct source_place {
    uint64_t base; // the pointer, which counts 2 if the place may lie below it
    uint32_t offset;
    uint32_t depth; // pointers that lead there
};

struct source_set {
    size_t first; // in members
    uint32_t num;
};

struct source_memo;

// Zero-initialised is empty.
struct source_sets {
    struct array members, sets; // uint64_t; struct source_set
    struct array room;          // uint64_t: the set in work
    struct array places;        // struct source_place
    uint32_t *slots;            // numbers of sets by hash, plus 1
    size_t num_slots;
    struct source_memo *memos;
    size_t num_memos, room_memos;
    bool failed; // memory ran out; all further results are 0
};

void braid_source_sets_finish(struct source_sets *sets);

// The set of one source.
uint32_t braid_sources_one(struct source_sets *sets, uint64_t source);
uint32_t braid_sources_join(struct source_sets *sets, uint32_t a, uint32_t b);
// `by` counts for SOURCE_MOVE, SOURCE_MOVE_STEPS and shifts alone.
uint32_t braid_sources_change(struct source_sets *sets, enum source_change change, uint32_t a,
                              int32_t by);

// The set of the 8 bytes behind the address that a pointer is; 0: too many pointers lead there.
uint32_t braid_sources_behind(struct source_sets *sets, uint64_t pointer, int64_t offset);

// The members of a set, in order; they stay until the next call.
const uint64_t *braid_sources_members(const struct source_sets *sets, uint32_t a,
                                      uint32_t *out_num);

#endif
