// SPDX-License-Identifier: Apache-2.0
// Host versions of the kernels with which AMD's runtime itself fills and copies buffers.
//
// The runtime compiles their OpenCL source at start; only the functions that the source calls are
// in AMD's device libraries. What they do with their arguments is written down at each function
// here.
#include "hsa_standin.h"

#include <string.h>
#include <unistd.h>

static char *pointer_argument(void **arguments, unsigned index)
{
    char *pointer;
    memcpy(&pointer, arguments[index], sizeof(pointer));
    return pointer;
}

static uint64_t long_argument(void **arguments, unsigned index)
{
    uint64_t value;
    memcpy(&value, arguments[index], sizeof(value));
    return value;
}

static uint32_t int_argument(void **arguments, unsigned index)
{
    uint32_t value;
    memcpy(&value, arguments[index], sizeof(value));
    return value;
}

// What both fill kernels begin with: the target once as a pointer to 1, 2, 4 or 8 byte elements
// (the three others are null), the pattern and the number of elements in it, the offset in
// elements.
struct fill {
    char *target;
    size_t element_bytes;
    const char *pattern;
    size_t pattern_bytes;
};

static struct fill fill_arguments(void **arguments)
{
    unsigned typed = 0;
    while (typed < 3 && !pointer_argument(arguments, typed))
        typed++;
    struct fill fill = { .element_bytes = (size_t)1 << typed };
    fill.pattern = pointer_argument(arguments, 4);
    fill.pattern_bytes = int_argument(arguments, 5) * fill.element_bytes;
    fill.target =
        pointer_argument(arguments, typed) + long_argument(arguments, 6) * fill.element_bytes;
    return fill;
}

// fillBufferAligned(uchar *, ushort *, uint *, ulong *, pattern, pattern size, offset, size):
// `size` patterns, one after the other.
static void fill_buffer(const unsigned grid[3], const unsigned block[3], unsigned shared_bytes,
                        void **arguments)
{
    (void)grid;
    (void)block;
    (void)shared_bytes;
    struct fill fill = fill_arguments(arguments);
    uint64_t num_patterns = long_argument(arguments, 7);
    for (uint64_t i = 0; i < num_patterns; i++)
        memcpy(fill.target + i * fill.pattern_bytes, fill.pattern, fill.pattern_bytes);
}

// fillBufferAligned2D(..., offset, width, height, pitch): `width` patterns in each of `height` rows
// that are `pitch` elements apart.
static void fill_buffer_2d(const unsigned grid[3], const unsigned block[3], unsigned shared_bytes,
                           void **arguments)
{
    (void)grid;
    (void)block;
    (void)shared_bytes;
    struct fill fill = fill_arguments(arguments);
    uint64_t width = long_argument(arguments, 7);
    uint64_t height = long_argument(arguments, 8);
    uint64_t pitch_bytes = long_argument(arguments, 9) * fill.element_bytes;
    for (uint64_t y = 0; y < height; y++)
        for (uint64_t x = 0; x < width; x++)
            memcpy(fill.target + y * pitch_bytes + x * fill.pattern_bytes, fill.pattern,
                   fill.pattern_bytes);
}

// copyBuffer(source, target, source offset, target offset, size, remain): four bytes a work item,
// but `remain` bytes by the last one.
static void copy_buffer(const unsigned grid[3], const unsigned block[3], unsigned shared_bytes,
                        void **arguments)
{
    (void)grid;
    (void)block;
    (void)shared_bytes;
    const char *source = pointer_argument(arguments, 0) + long_argument(arguments, 2);
    char *target = pointer_argument(arguments, 1) + long_argument(arguments, 3);
    memmove(target, source, (long_argument(arguments, 4) - 1) * 4 + int_argument(arguments, 5));
}

// A rectangle as those kernels get it: {row pitch, slice pitch, offset, unused}, in elements.
enum { ROW_PITCH = 0, SLICE_PITCH = 1, OFFSET = 2 };

static void copy_rectangle(void **arguments, size_t element_bytes)
{
    uint64_t source[4];
    uint64_t target[4];
    uint64_t size[4];
    memcpy(source, arguments[2], sizeof(source));
    memcpy(target, arguments[3], sizeof(target));
    memcpy(size, arguments[4], sizeof(size));
    const char *from = pointer_argument(arguments, 0);
    char *to = pointer_argument(arguments, 1);
    for (uint64_t z = 0; z < size[2]; z++) {
        for (uint64_t y = 0; y < size[1]; y++) {
            uint64_t source_index =
                source[OFFSET] + y * source[ROW_PITCH] + z * source[SLICE_PITCH];
            uint64_t target_index =
                target[OFFSET] + y * target[ROW_PITCH] + z * target[SLICE_PITCH];
            memmove(to + target_index * element_bytes, from + source_index * element_bytes,
                    size[0] * element_bytes);
        }
    }
}

static void copy_rectangle_of_bytes(const unsigned grid[3], const unsigned block[3],
                                    unsigned shared_bytes, void **arguments)
{
    (void)grid;
    (void)block;
    (void)shared_bytes;
    copy_rectangle(arguments, 1);
}

static void copy_rectangle_of_ints(const unsigned grid[3], const unsigned block[3],
                                   unsigned shared_bytes, void **arguments)
{
    (void)grid;
    (void)block;
    (void)shared_bytes;
    copy_rectangle(arguments, 4);
}

// streamOpsWrite(uint *, ulong *, value, size): one of the two pointers is null.
static void write_value(const unsigned grid[3], const unsigned block[3], unsigned shared_bytes,
                        void **arguments)
{
    (void)grid;
    (void)block;
    (void)shared_bytes;
    uint32_t *narrow = (uint32_t *)(void *)pointer_argument(arguments, 0);
    uint64_t *wide = (uint64_t *)(void *)pointer_argument(arguments, 1);
    uint64_t value = long_argument(arguments, 2);
    if (narrow)
        __atomic_store_n(narrow, (uint32_t)value, __ATOMIC_RELEASE);
    else
        __atomic_store_n(wide, value, __ATOMIC_RELEASE);
}

static bool wait_satisfied(uint64_t value, uint64_t wanted, uint64_t comparison)
{
    switch (comparison) {
    case 0: // at least, as a difference that may wrap round
        return (int64_t)(value - wanted) >= 0;
    case 1: // equal
        return value == wanted;
    case 2: // and
        return (value & wanted) != 0;
    default: // nor
        return ~(value | wanted) != 0;
    }
}

// streamOpsWait(uint *, ulong *, value, comparison, mask). Polls, as the value may be written by
// code that knows of no condition variable.
static void wait_value(const unsigned grid[3], const unsigned block[3], unsigned shared_bytes,
                       void **arguments)
{
    (void)grid;
    (void)block;
    (void)shared_bytes;
    const uint32_t *narrow = (const uint32_t *)(void *)pointer_argument(arguments, 0);
    const uint64_t *wide = (const uint64_t *)(void *)pointer_argument(arguments, 1);
    uint64_t wanted = long_argument(arguments, 2);
    uint64_t comparison = long_argument(arguments, 3);
    uint64_t mask = long_argument(arguments, 4);
    for (;;) {
        uint64_t value = narrow ? __atomic_load_n(narrow, __ATOMIC_ACQUIRE)
                                : __atomic_load_n(wide, __ATOMIC_ACQUIRE);
        if (wait_satisfied(value & mask, wanted, comparison))
            return;
        usleep(50);
    }
}

struct builtin {
    const char *name;
    standin_kernel function;
};

static const struct builtin builtins[] = {
    { "__amd_rocclr_fillBufferAligned", fill_buffer },
    { "__amd_rocclr_fillBufferAligned2D", fill_buffer_2d },
    { "__amd_rocclr_copyBuffer", copy_buffer },
    { "__amd_rocclr_copyBufferRect", copy_rectangle_of_bytes },
    { "__amd_rocclr_copyBufferRectAligned", copy_rectangle_of_ints },
    { "__amd_rocclr_streamOpsWrite", write_value },
    { "__amd_rocclr_streamOpsWait", wait_value },
};

standin_kernel standin_builtin_kernel(const char *name)
{
    for (size_t i = 0; i < sizeof(builtins) / sizeof(builtins[0]); i++)
        if (strcmp(builtins[i].name, name) == 0)
            return builtins[i].function;
    return NULL;
}
