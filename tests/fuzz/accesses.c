// SPDX-License-Identifier: Apache-2.0
// Any small text as PTX: the accesses of its kernels. Each is of a parameter that there is, and
// tells where; they do not depend on the kernels that were asked for before.
#include <stdlib.h>
#include <string.h>

#include "accesses/kernel_accesses.h"
#include "fuzz/fuzz.h"

enum { MOST_BYTES = 2048, MOST_ENTRIES = 8, BYTES_OF_POINTER = 8 };

struct text {
    const char *begin, *end;
};

static void check_place(const struct text *text, const char *at)
{
    fuzz_expect(at >= text->begin && at < text->end);
}

static void check_access(const struct text *text, const struct kernel_accesses *accesses,
                         const struct kernel_access *access)
{
    const struct code_parameter *parameters = accesses->parameters.items;
    fuzz_expect(access->parameter < accesses->parameters.num);
    const uint64_t end = (uint64_t)access->offset + BYTES_OF_POINTER;
    fuzz_expect(source_is_anywhere(access->offset) || end <= parameters[access->parameter].bytes);
    fuzz_expect(access->acts & (ACCESSES_READS | ACCESSES_WRITES));
    fuzz_expect(!(access->acts & ACCESSES_READS) == !access->read_at);
    fuzz_expect(!(access->acts & ACCESSES_WRITES) == !access->written_at);
    if (access->read_at)
        check_place(text, access->read_at);
    if (access->written_at)
        check_place(text, access->written_at);
}

static void check(const struct text *text, const struct kernel_accesses *accesses)
{
    const struct kernel_access *items = accesses->items.items;
    fuzz_expect(!accesses->why == !accesses->at);
    if (accesses->why)
        check_place(text, accesses->at);
    for (size_t i = 0; i < accesses->items.num; i++)
        check_access(text, accesses, &items[i]);
}

static void check_same(const struct kernel_accesses *one, const struct kernel_accesses *other)
{
    const struct kernel_access *a = one->items.items, *b = other->items.items;
    fuzz_expect(one->why == other->why && one->at == other->at);
    fuzz_expect(one->of_variables == other->of_variables);
    fuzz_expect(one->items.num == other->items.num);
    for (size_t i = 0; i < one->items.num; i++) {
        fuzz_expect(a[i].parameter == b[i].parameter && a[i].offset == b[i].offset);
        fuzz_expect(a[i].acts == b[i].acts);
    }
}

static uint32_t list_entries(const struct kernel_code *code, uint32_t *entries)
{
    uint32_t num = 0;
    for (uint32_t i = 0; i < code->num_functions && num < MOST_ENTRIES; i++) {
        if (code->functions[i].ptx->is_entry && code->functions[i].ptx->body)
            entries[num++] = i;
    }
    return num;
}

// All forwards, and again backwards.
static void check_all(const struct text *text, struct kernel_code *code)
{
    uint32_t entries[MOST_ENTRIES];
    struct kernel_accesses found[MOST_ENTRIES], again;
    const uint32_t num = list_entries(code, entries);
    for (uint32_t i = 0; i < num; i++) {
        fuzz_expect(braid_kernel_accesses_find(code, entries[i], &found[i]));
        check(text, &found[i]);
    }
    for (uint32_t i = num; i-- > 0;) {
        fuzz_expect(braid_kernel_accesses_find(code, entries[i], &again));
        check_same(&found[i], &again);
        braid_kernel_accesses_finish(&again);
        braid_kernel_accesses_finish(&found[i]);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t num)
{
    struct kernel_code code;
    struct ptx_reason reason;
    if (num > MOST_BYTES)
        return 0;
    char *text = malloc(num + 1); // with this size, so that a sanitizer sees more
    fuzz_expect(text);
    if (num)
        memcpy(text, bytes, num);
    text[num] = '\0';
    const struct text whole = { text, text + strlen(text) };
    if (braid_code_read(text, &code, &reason)) {
        check_all(&whole, &code);
        braid_code_finish(&code);
    } else {
        fuzz_expect(reason.text[0]);
        fuzz_expect(reason.at >= whole.begin && reason.at <= whole.end);
    }
    free(text);
    return 0;
}
