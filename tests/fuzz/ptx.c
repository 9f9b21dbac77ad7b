// SPDX-License-Identifier: Apache-2.0
// Any small text as PTX: read, changed by the passes that its first byte names, and read again.
#include <stdlib.h>
#include <string.h>

#include "audit/gpu_ptx_audit.h"
#include "backends/gpu/gpu_ptx_early.h"
#include "backends/gpu/gpu_ptx_grid.h"
#include "backends/gpu/gpu_ptx_notes.h"
#include "backends/gpu/gpu_ptx_prefetch.h"
#include "backends/gpu/gpu_ptx_stamps.h"
#include "base/host_memory.h"
#include "fuzz/fuzz.h"
#include "islands/gpu_island_code.h"
#include "islands/gpu_ptx_callable.h"

enum { MOST_BYTES = 1024, MOST_THREADS = 256, MOST_KERNELS = 2 };

typedef char *pass(const char *text, struct ptx_reason *out_reason);

static char *audit(const char *text, struct ptx_reason *out_reason)
{
    return braid_gpu_ptx_with_audit(text, MOST_THREADS, out_reason);
}

enum change { NONE, EARLY, STAMPS, GRID, PREFETCH, NOTES, BEGIN_NOTES, AUDIT };

static const struct {
    pass *pass;
    unsigned num_parameters; // that each entry gets
} passes[] = {
    [EARLY] = { braid_gpu_ptx_with_early_start, 0 },
    [STAMPS] = { braid_gpu_ptx_with_stamps, GPU_STAMP_PARAMETERS },
    [GRID] = { braid_gpu_ptx_with_read_grid, 1 },
    [PREFETCH] = { braid_gpu_ptx_with_prefetch, GPU_PREFETCH_PARAMETERS },
    [NOTES] = { braid_gpu_ptx_with_notes, GPU_NOTE_PARAMETERS },
    [BEGIN_NOTES] = { braid_gpu_ptx_with_begin_notes, GPU_NOTE_PARAMETERS },
    [AUDIT] = { audit, GPU_AUDIT_PARAMETERS },
};

// One after another, as modules are loaded. In the first way kernels become blocks instead.
static const enum change ways[][3] = {
    { NONE },
    { EARLY },
    { STAMPS },
    { GRID },
    { PREFETCH },
    { NOTES },
    { BEGIN_NOTES },
    { AUDIT },
    { EARLY, PREFETCH },
    { STAMPS, EARLY, PREFETCH },
    { GRID, AUDIT, EARLY },
    { NOTES, EARLY },
};
enum { NUM_WAYS = sizeof(ways) / sizeof(ways[0]), MOST_CHANGES = 3 };

// ---- texts that were changed ----

static unsigned count_parameters(struct ptx_word word, const char *at, const char *end)
{
    unsigned num = 0;
    for (; word.length && word.at < end; word = braid_ptx_next_word(&at))
        num += braid_ptx_word_is(word, ".param");
    return num;
}

// The parameters are those that were there, and so many more behind them.
static void check_parameters(const struct ptx_function *one, const struct ptx_function *two,
                             unsigned num_more)
{
    const char *at = one->parameters, *again = two->parameters;
    struct ptx_word next = again ? braid_ptx_next_word(&again) : (struct ptx_word){ 0 };
    while (at) {
        const struct ptx_word word = braid_ptx_next_word(&at);
        if (word.at >= one->parameters_end)
            break;
        fuzz_expect(ptx_same_word(word, next));
        next = braid_ptx_next_word(&again);
    }
    unsigned num = again ? count_parameters(next, again, two->parameters_end) : 0;
    fuzz_expect(num == num_more);
}

static void check_function(const struct ptx_function *one, const struct ptx_function *two,
                           unsigned num_more)
{
    fuzz_expect(ptx_same_word(one->name, two->name));
    fuzz_expect(one->is_entry == two->is_entry);
    fuzz_expect(!one->body == !two->body);
    fuzz_expect(one->num <= two->num);
    check_parameters(one, two, one->is_entry ? num_more : 0);
}

// The functions of the one text are the last ones of the other.
static void check_same_functions(const char *text, const char *changed, unsigned num_more)
{
    struct ptx one, two;
    struct ptx_reason reason;
    fuzz_expect(braid_ptx_read(text, &one, &reason));
    fuzz_expect(braid_ptx_read(changed, &two, &reason));
    fuzz_expect(one.functions.num <= two.functions.num);
    fuzz_expect(braid_ptx_version(&one) <= braid_ptx_version(&two));
    fuzz_expect(braid_ptx_target(&one) <= braid_ptx_target(&two));
    const size_t before = two.functions.num - one.functions.num;
    for (size_t i = 0; i < one.functions.num; i++)
        check_function(&ptx_functions(&one)[i], &ptx_functions(&two)[before + i], num_more);
    braid_ptx_finish(&one);
    braid_ptx_finish(&two);
}

static void change(const char *text, const enum change *changes)
{
    char *before = NULL;
    for (int i = 0; i < MOST_CHANGES && changes[i] && text; i++) {
        struct ptx_reason reason;
        char *changed = passes[changes[i]].pass(text, &reason);
        fuzz_expect(changed || reason.text[0]);
        if (changed)
            check_same_functions(text, changed, passes[changes[i]].num_parameters);
        braid_free(before);
        text = before = changed;
    }
    braid_free(before);
}

// ---- kernels that become blocks ----

#define MARKER(number) "braid_call_" number " %r0, %r1, %r2, %r3, %r4, %r5, %r6, %r7;\n"

static const char walker[] =
    ".version 6.0\n.target sm_70\n.address_size 64\n.entry braid_island()\n{\n.reg .b32 "
    "%r<8>;\n" MARKER("0") MARKER("1") "ret;\n}\n";

struct kernels {
    struct ptx_callable needs[MOST_KERNELS];
    struct island_kernel items[MOST_KERNELS];
    char names[MOST_KERNELS][64];
    uint32_t num;
    struct island_layout layout;
};

static uint32_t count_bytes(const struct ptx_callable *needs)
{
    uint32_t bytes = 0;
    for (uint32_t i = 0; i < needs->num_args; i++)
        bytes = island_arg_offset(bytes, needs->arg_bytes[i]) + needs->arg_bytes[i];
    return bytes;
}

static void add_kernel(struct kernels *kernels, const struct ptx_symbols *symbols,
                       struct ptx_word name)
{
    const uint32_t index = kernels->num;
    struct ptx_callable *needs = &kernels->needs[index];
    struct ptx_reason reason;
    if (index == MOST_KERNELS || name.length >= sizeof(kernels->names[0]))
        return;
    memcpy(kernels->names[index], name.at, name.length);
    kernels->names[index][name.length] = '\0';
    if (!braid_ptx_read_callable(symbols, kernels->names[index], needs, &reason)) {
        fuzz_expect(reason.text[0]);
        return;
    }
    kernels->items[index] = (struct island_kernel){ 0, kernels->names[index], needs };
    kernels->layout.numbers |= needs->numbers;
    if (!needs->is_plain || count_bytes(needs) > kernels->layout.small)
        kernels->layout.small = 0;
    kernels->num++;
}

static void check_pasted(const char *text)
{
    struct ptx ptx;
    struct ptx_reason reason;
    fuzz_expect(braid_ptx_read(text, &ptx, &reason));
    fuzz_expect(ptx.functions.num > 0);
    const struct ptx_function *last = &ptx_functions(&ptx)[ptx.functions.num - 1];
    fuzz_expect(last->is_entry && braid_ptx_word_is(last->name, "braid_island"));
    for (size_t i = 0; i + 1 < ptx.functions.num; i++)
        fuzz_expect(!ptx_functions(&ptx)[i].is_entry);
    braid_ptx_finish(&ptx);
}

static void paste(const char *text, const struct kernels *kernels)
{
    struct island_parts parts;
    fuzz_expect(braid_island_parts_create(&kernels->layout, &text, 1, kernels->items, kernels->num,
                                          &parts) == BRAID_OK);
    char *pasted = braid_island_parts_paste(&parts, walker);
    fuzz_expect(pasted);
    if (kernels->num == MOST_KERNELS) // else a marker is left, which is no instruction
        check_pasted(pasted);
    braid_free(pasted);
    braid_island_parts_finish(&parts);
}

static void make_blocks(const char *text, unsigned layout)
{
    struct kernels kernels = {
        .layout = { .group_threads = layout & 1 ? 128 : 32,
                    .num_groups = 2,
                    .team = 1,
                    .num_blocks = 1,
                    .num_threads = 256,
                    .flat = layout & 2,
                    .whole = layout & 4,
                    .small = layout & 8 ? 16 : 0 },
    };
    struct ptx ptx;
    struct ptx_symbols symbols;
    struct ptx_reason reason;
    if (!braid_ptx_read(text, &ptx, &reason)) {
        fuzz_expect(reason.text[0]);
        return;
    }
    if (braid_ptx_find_symbols(&ptx, &symbols, &reason)) {
        // Often there is one only, which then is called at each marker.
        for (size_t k = 0; k < MOST_KERNELS; k++) {
            for (size_t i = 0; i < ptx.functions.num; i++) {
                if (ptx_functions(&ptx)[i].is_entry)
                    add_kernel(&kernels, &symbols, ptx_functions(&ptx)[i].name);
            }
        }
        braid_ptx_symbols_finish(&symbols);
        paste(text, &kernels);
    } else {
        fuzz_expect(reason.text[0]);
    }
    braid_ptx_finish(&ptx);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    const unsigned way = length ? bytes[0] : 0;
    const size_t num = length ? length - 1 : 0;
    if (num > MOST_BYTES)
        return 0;
    char *text = malloc(num + 1); // with this size, so that a sanitizer sees more
    fuzz_expect(text);
    if (num)
        memcpy(text, bytes + 1, num);
    text[num] = '\0';
    braid_ptx_is_text(text);
    braid_ptx_find_file(text, 1);
    if (way % NUM_WAYS)
        change(text, ways[way % NUM_WAYS]);
    else
        make_blocks(text, way / NUM_WAYS);
    free(text);
    return 0;
}
