// SPDX-License-Identifier: Apache-2.0
// Random streams of kernels that go up and down in the parts of one block of memory.
#include "import/unlike_captures.h"

#include <string.h>

#define HEAD ".version 8.0\n.target sm_90\n.address_size 64\n"
#define ENTRY(name)                                                                                \
    ".visible .entry " name "(.param .u64 a, .param .u64 b, .param .u64 n, .param .u64 spin) {\n"  \
    ".reg .u64 %d<9>; .reg .u32 %r<9>; .reg .pred %p<3>;\n" BEGIN("n")
// Waits for some time, so that a missing order shows.
#define BEGIN(count)                                                                               \
    "ld.param.u64 %d8, [spin];\nspinning: sub.u64 %d8, %d8, 1; setp.gt.s64 %p2, %d8, 0;\n"         \
    "@%p2 bra spinning;\nld.param.u64 %d0, [a]; ld.param.u64 %d1, [b]; ld.param.u64 %d2, [" count  \
    "];\ncvt.u32.u64 %r2, %d2; mov.u32 %r0, 0;\n"
#define LOOP(body)                                                                                 \
    "next: setp.ge.u32 %p0, %r0, %r2; @%p0 bra done;\n" body                                       \
    "add.u32 %r0, %r0, 1; bra next;\ndone: ret;\n}\n"
#define AT(to, base, index) "mul.wide.s32 %d3, " index ", 4; add.s64 " to ", " base ", %d3;\n"
#define MIX "mad.lo.u32 %r3, %r3, 3, %r0;\n"

static const char first_text[] = HEAD ENTRY("upwards")
    LOOP(AT("%d4", "%d0", "%r0") AT("%d5", "%d1", "%r0") "ld.global.u32 %r3, [%d4];\n" MIX
                                                         "st.global.u32 [%d5], %r3;\n")
    // *--b = *--a
    ENTRY("downwards") LOOP("add.s64 %d0, %d0, -4; sub.s64 %d1, %d1, 4;\n"
                            "ld.global.u32 %r3, [%d0];\n" MIX "st.global.u32 [%d1], %r3;\n")
    // a[-1 - i] += i
    ENTRY("by_complement")
        LOOP("not.b32 %r1, %r0;\n" AT("%d4", "%d0", "%r1") "ld.global.u32 %r3, [%d4];\n" MIX
                                                           "st.global.u32 [%d4], %r3;\n")
    // b[-4 * (i + 1)] = a[i], in bytes
    ENTRY("by_factor") LOOP(
        AT("%d4", "%d0", "%r0") "ld.global.u32 %r3, [%d4];\n" MIX
                                "mad.wide.s32 %d5, %r0, -4, %d1; st.global.u32 [%d5+-4], %r3;\n")
    // b[i - n] = a[i - n]
    ENTRY("by_length") LOOP("sub.s32 %r1, %r0, %r2;\n" AT("%d4", "%d0", "%r1") AT(
        "%d5", "%d1", "%r1") "ld.global.u32 %r3, [%d4];\n" MIX "st.global.u32 [%d5], %r3;\n")
    // From the middle to both sides.
    ENTRY("both_ways") LOOP("shr.u32 %r4, %r2, 1; sub.s32 %r1, %r0, %r4;\n" AT(
        "%d4", "%d0", "%r1") "ld.global.u32 %r3, [%d4];\n" MIX "st.global.u32 [%d4], %r3;\n");
static const char other_text[] = HEAD
    // a[i] += a[i - 1], from 1 on
    ENTRY("by_neighbours") LOOP("setp.eq.u32 %p1, %r0, 0; @%p1 bra skip;\n" AT(
        "%d4", "%d0", "%r0") "ld.global.u32 %r3, [%d4+-4]; ld.global.u32 %r4, [%d4];\n"
                             "add.u32 %r3, %r3, %r4; st.global.u32 [%d4], %r3;\nskip:\n")
    // n[0] = the sum from a to b
    ENTRY("to_end") "next: setp.ge.u64 %p0, %d0, %d1; @%p0 bra done;\n"
                    "ld.global.u32 %r3, [%d0]; add.u32 %r0, %r0, %r3; add.s64 %d0, %d0, 4;\n"
                    "bra next;\ndone: st.global.u32 [%d2], %r0;\nret;\n}\n"
    // (*b)[-1] = a[0], and (*b)[0] = a[0]
    ENTRY("in_front_of_loaded") "ld.global.u64 %d4, [%d1]; ld.global.u32 %r3, [%d0];\n"
                                "st.global.u32 [%d4+-4], %r3;\nret;\n}\n" ENTRY(
                                    "at_loaded") "ld.global.u64 %d4, [%d1]; ld.global.u32 %r3, "
                                                 "[%d0];\n"
                                                 "st.global.u32 [%d4], %r3;\nret;\n}\n"
    // By an index of cells: a[0] = *(b[n])
    ENTRY("from_any") "shl.b64 %d3, %d2, 3; add.s64 %d4, %d1, %d3; ld.global.u64 %d5, [%d4];\n"
                      "ld.global.u32 %r3, [%d5+-4]; st.global.u32 [%d0], %r3;\nret;\n}\n"
                      ".visible .entry twin(.param .u64 a, .param .u64 b, .param .u32 n, .param "
                      ".u64 spin) {\n"
                      ".reg .u64 %d<9>; .reg .u32 %r<9>; .reg .pred %p<3>;\n" BEGIN(
                          "spin") "ld.param.u32 %r3, [n]; st.global.u32 [%d0+-4], %r3;\nret;\n}\n";
// The same name, and other parameters.
static const char second_text[] = HEAD ENTRY("twin") "ld.global.u32 %r3, [%d0+-4];\n"
                                                     "st.global.u32 [%d1], %r3;\nret;\n}\n";
const char *unlike_texts[UNLIKE_TEXTS] = { first_text, other_text, second_text };

static CUmodule modules[UNLIKE_TEXTS];
CUdeviceptr block, table, spare_cells;
uint32_t unlike_calls;

void open_unlike(void)
{
    open_here(first_text, 64);
    for (int i = 0; i < UNLIKE_TEXTS; i++)
        must(cuModuleLoadData(&modules[i], unlike_texts[i]));
    must(cuMemAlloc_v2(&block, BLOCK_BYTES));
    must(cuMemAlloc_v2(&table, 8 * CELLS));
    must(cuMemAlloc_v2(&spare_cells, 8 * CELLS));
}

void close_unlike(void)
{
    must(cuMemFree_v2(spare_cells));
    must(cuMemFree_v2(table));
    must(cuMemFree_v2(block));
    for (int i = 0; i < UNLIKE_TEXTS; i++)
        must(cuModuleUnload(modules[i]));
    close_here();
}

// ---- memory ----

// Words of a part, or of an allocation of the graph.
struct place {
    uint32_t allocation;
    uint64_t begin;
    uint32_t words;
};

static struct place choose_place(struct random *random, const struct unlike *unlike)
{
    const uint32_t slot = random_below(random, ALLOCATED),
                   part = random_below(random, unlike->num_parts);
    if (unlike->allocations[slot] && random_chance(random, 30))
        return (struct place){ unlike->numbers[slot], unlike->allocations[slot], 16 };
    return (struct place){ 0, block + unlike->cuts[part],
                           (unlike->cuts[part + 1] - unlike->cuts[part]) / 4 };
}

static uint64_t choose_cell(struct random *random, const struct unlike *unlike)
{
    const uint32_t part = 1 + random_below(random, unlike->num_parts - 1);
    return block + unlike->cuts[part] + (random_chance(random, 30) ? 8 : 0);
}

void choose_unlike(struct random *random, struct unlike *unlike)
{
    uint32_t words[BLOCK_BYTES / 4];
    uint64_t spare[CELLS];
    memset(unlike, 0, sizeof(*unlike));
    unlike->num_parts = 3 + random_below(random, MOST_PARTS - 2);
    for (uint32_t i = 0; i < unlike->num_parts; i++)
        unlike->cuts[i + 1] = unlike->cuts[i] + 32 + 16 * random_below(random, 12);
    for (uint32_t i = 0; i < BLOCK_BYTES / 4; i++)
        words[i] = (uint32_t)random_next(random);
    must(cuMemcpyHtoD_v2(block, words, sizeof(words)));
    for (int i = 0; i < CELLS; i++)
        unlike->cells[i] = choose_cell(random, unlike);
    for (int i = 0; i < CELLS; i++)
        spare[i] = choose_cell(random, unlike);
    must(cuMemcpyHtoD_v2(table, unlike->cells, sizeof(unlike->cells)));
    must(cuMemcpyHtoD_v2(spare_cells, spare, sizeof(spare)));
    unlike_calls = 0;
}

// ---- steps ----

static void note(struct unlike *unlike, uint32_t allocation, uint64_t begin, uint64_t bytes,
                 bool writes)
{
    struct unlike_step *step = &unlike->steps[unlike->num_steps];
    assert_true(step->num_ranges < MOST_RANGES);
    step->ranges[step->num_ranges++] =
        (struct unlike_range){ allocation, begin, begin + bytes, writes };
}

static void end_step(struct unlike *unlike, bool is_work, bool is_told)
{
    unlike->steps[unlike->num_steps].is_work = is_work;
    unlike->steps[unlike->num_steps++].is_told = is_told;
}

static void launch(const char *name, int module, uint64_t a, uint64_t b, uint64_t n, uint64_t spin)
{
    CUfunction function;
    void *args[] = { &a, &b, &n, &spin };
    must(cuModuleGetFunction(&function, modules[module], name));
    must(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, here.stream, args, NULL));
}

enum way { UP, DOWN, MIDDLE };

// An address from which so many words lie up, down, or on both sides; notes them.
static uint64_t point(struct random *random, struct unlike *unlike, const struct place *of,
                      enum way way, uint32_t num, bool writes)
{
    const uint32_t slack = of->words - num;
    // Often at the very begin or end, where another part may end or begin.
    const uint32_t at =
        random_chance(random, 60) ? (way == DOWN ? slack : 0) : random_below(random, slack + 1);
    const uint64_t first = of->begin + 4 * (uint64_t)at;
    note(unlike, of->allocation, first, 4 * (uint64_t)num, writes);
    return way == UP     ? first
           : way == DOWN ? first + 4 * (uint64_t)num
                         : first + 4 * (uint64_t)(num / 2);
}

enum { LAST_KIND = 6 }; // stands in the second text

static void queue_kernel(struct random *random, struct unlike *unlike)
{
    static const struct {
        const char *name;
        enum way a, b;
        bool writes_a, has_b;
    } kinds[] = {
        { "upwards", UP, UP, false, true },         { "downwards", DOWN, DOWN, false, true },
        { "by_complement", DOWN, UP, true, false }, { "by_factor", UP, DOWN, false, true },
        { "by_length", DOWN, DOWN, false, true },   { "both_ways", MIDDLE, UP, true, false },
        { "by_neighbours", UP, UP, true, false },
    };
    const struct place a = choose_place(random, unlike), b = choose_place(random, unlike);
    const uint32_t least = a.words < b.words ? a.words : b.words;
    const uint32_t kind = random_below(random, sizeof(kinds) / sizeof(kinds[0]));
    const uint32_t num = 1 + random_below(random, least < 12 ? least : 12);
    const uint64_t from = point(random, unlike, &a, kinds[kind].a, num, kinds[kind].writes_a);
    const uint64_t to =
        kinds[kind].has_b ? point(random, unlike, &b, kinds[kind].b, num, true) : b.begin;
    launch(kinds[kind].name, kind == LAST_KIND, from, to, num, random_below(random, 300));
    end_step(unlike, true, true);
}

static void queue_other_kernel(struct random *random, struct unlike *unlike)
{
    const struct place a = choose_place(random, unlike), b = choose_place(random, unlike);
    const uint64_t spin = random_below(random, 300), cell = random_below(random, CELLS);
    const uint64_t loaded = unlike->cells[cell];
    switch (random_below(random, 6)) {
    case 0: {
        const uint64_t from = point(random, unlike, &a, UP, a.words, false);
        launch("to_end", 1, from, from + 4 * (uint64_t)a.words,
               point(random, unlike, &b, UP, 1, true), spin);
        break;
    }
    case 1:
    case 2: {
        const bool is_front = random_chance(random, 50);
        note(unlike, 0, table + 8 * cell, 8, false);
        note(unlike, 0, is_front ? loaded - 4 : loaded, 4, true);
        launch(is_front ? "in_front_of_loaded" : "at_loaded", 1,
               point(random, unlike, &a, UP, 1, false), table + 8 * cell, 0, spin);
        break;
    }
    case 3:
        note(unlike, 0, table + 8 * cell, 8, false);
        note(unlike, 0, loaded - 4, 4, false);
        launch("from_any", 1, point(random, unlike, &a, UP, 1, true), table, cell, spin);
        break;
    case 4:
        launch("twin", 1, point(random, unlike, &a, DOWN, 1, true), b.begin, 7, spin);
        break;
    default:
        launch("twin", 2, point(random, unlike, &a, DOWN, 1, false),
               point(random, unlike, &b, UP, 1, true), 0, spin);
    }
    end_step(unlike, true, true);
}

// Bytes of the block, whatever its parts.
static uint64_t choose_bytes(struct random *random, uint32_t bytes)
{
    return block + 4 * random_below(random, (BLOCK_BYTES - bytes) / 4);
}

static void queue_copy(struct random *random, struct unlike *unlike)
{
    const uint32_t pitch = 32 + 16 * random_below(random, 4), rows = 1 + random_below(random, 4);
    const uint32_t width = 4 * (1 + random_below(random, 6)), span = pitch * (rows - 1) + width;
    const uint64_t from = choose_bytes(random, span), to = choose_bytes(random, span);
    const bool is_apart = from + span <= to || to + span <= from;
    if (random_chance(random, 40) || !is_apart) {
        must(cuMemsetD2D32Async(to, pitch, (unsigned)random_next(random), width / 4, rows,
                                here.stream));
    } else {
        const CUDA_MEMCPY2D copy = { .srcMemoryType = CU_MEMORYTYPE_DEVICE,
                                     .srcDevice = from,
                                     .srcPitch = pitch,
                                     .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                                     .dstDevice = to,
                                     .dstPitch = pitch,
                                     .WidthInBytes = width,
                                     .Height = rows };
        note(unlike, 0, from, width, false);
        must(cuMemcpy2DAsync_v2(&copy, here.stream));
    }
    // Bytes between rows are not touched, so only the first and last row are surely.
    note(unlike, 0, to, width, true);
    note(unlike, 0, to + span - width, width, true);
    end_step(unlike, true, true);
}

static void queue_rows_of_allocation(struct random *random, struct unlike *unlike)
{
    const uint32_t slot = random_below(random, ALLOCATED);
    if (!unlike->allocations[slot])
        return;
    const uint64_t to = choose_bytes(random, 64 + 8);
    const CUDA_MEMCPY2D copy = { .srcMemoryType = CU_MEMORYTYPE_DEVICE,
                                 .srcDevice = unlike->allocations[slot],
                                 .srcPitch = 16,
                                 .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                                 .dstDevice = to,
                                 .dstPitch = 32,
                                 .WidthInBytes = 8,
                                 .Height = 3 };
    must(cuMemcpy2DAsync_v2(&copy, here.stream));
    note(unlike, unlike->numbers[slot], unlike->allocations[slot], 8, false);
    note(unlike, 0, to, 8, true);
    end_step(unlike, true, true);
}

static void call_host(void *user)
{
    ++*(uint32_t *)user;
}

static void allocate(struct random *random, struct unlike *unlike)
{
    const uint32_t slot = random_below(random, ALLOCATED);
    if (unlike->allocations[slot]) {
        must(cuMemFreeAsync(unlike->allocations[slot], here.stream));
        unlike->allocations[slot] = 0;
        end_step(unlike, false, false);
        return;
    }
    must(cuMemAllocAsync(&unlike->allocations[slot], 64, here.stream));
    unlike->numbers[slot] = ++unlike->num_allocated;
    end_step(unlike, false, false);
    must(cuMemsetD32Async(unlike->allocations[slot], 5, 16, here.stream));
    note(unlike, unlike->numbers[slot], unlike->allocations[slot], 64, true);
    end_step(unlike, true, true);
}

// A copy changes a pointer for the kernels behind it.
static void change_cell(struct random *random, struct unlike *unlike)
{
    const uint32_t cell = random_below(random, CELLS), from = random_below(random, CELLS);
    uint64_t value;
    must(cuMemcpyDtoDAsync_v2(table + 8 * cell, spare_cells + 8 * from, 8, here.stream));
    must(cuMemcpyDtoH_v2(&value, spare_cells + 8 * from, 8));
    unlike->cells[cell] = value;
    note(unlike, 0, table + 8 * cell, 8, true);
    note(unlike, 0, spare_cells + 8 * from, 8, false);
    end_step(unlike, true, true);
}

void queue_unlike(struct random *random, struct unlike *unlike)
{
    const bool changes = random_chance(random, 15), allocates = random_chance(random, 40);
    unlike->num_steps = unlike->num_allocated = 0;
    memset(unlike->steps, 0, sizeof(unlike->steps));
    for (uint32_t i = 3 + random_below(random, MOST_UNLIKE - 8); i > 0; i--) {
        const uint32_t chance = random_below(random, 100);
        if (chance < 50)
            queue_kernel(random, unlike);
        else if (chance < 70)
            queue_other_kernel(random, unlike);
        else if (chance < 82)
            queue_copy(random, unlike);
        else if (chance < 85) {
            must(cuLaunchHostFunc(here.stream, call_host, &unlike_calls));
            end_step(unlike, true, false);
        } else if (chance < 95 && allocates && unlike->num_steps < MOST_UNLIKE - 2)
            allocate(random, unlike);
        else if (allocates)
            queue_rows_of_allocation(random, unlike);
        else if (changes)
            change_cell(random, unlike);
    }
    for (uint32_t i = 0; i < ALLOCATED; i++) {
        if (!unlike->allocations[i])
            continue;
        must(cuMemFreeAsync(unlike->allocations[i], here.stream));
        unlike->allocations[i] = 0;
        end_step(unlike, false, false);
    }
}
