// SPDX-License-Identifier: Apache-2.0
// Random kernels run in an interpreter, which tells what they touch. If the analysis proves a
// kernel, it has named all of that. Kernels with changed instructions are no exception.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "../../standin/ptx/ptx_run.h"
#include "accesses/kernel_accesses.h"
#include "accesses/random_kernel.h"
#include "support/check.h"

enum { TEXT_BYTES = 1 << 15, READ = 1, WRITTEN = 2 };

#define ADDRESS_BITS UINT64_C(0x3fffffffffff) // a process has these

static unsigned char *buffers[KERNEL_BUFFERS];
static unsigned touched[KERNEL_BUFFERS];
static bool touched_elsewhere;
static bool are_apart = true; // the system gave the addresses that were asked for

static int find_buffer(uint64_t address, uint64_t bytes)
{
    for (int i = 0; i < KERNEL_BUFFERS; i++) {
        const uint64_t begin = (uintptr_t)buffers[i];
        if (address >= begin && address - begin <= KERNEL_BUFFER_BYTES - bytes)
            return i;
    }
    return -1;
}

static bool touch(uint64_t address, uint64_t bytes, bool writes)
{
    const int buffer = find_buffer(address, bytes);
    if (buffer < 0 || (buffer == KERNEL_TABLE && writes)) {
        touched_elsewhere = true;
        return false;
    }
    touched[buffer] |= writes ? WRITTEN : READ;
    return true;
}

// At random, so that neither a small number nor a few bits lead from one into another.
static void make_buffers(void)
{
    struct random random = { 1 };
    for (int i = 0; i < KERNEL_BUFFERS; i++) {
        void *at = (void *)(uintptr_t)(random_next(&random) >> 18 << 12 & ADDRESS_BITS);
        buffers[i] = mmap(at, KERNEL_BUFFER_BYTES, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        assert_true(buffers[i] != MAP_FAILED);
        are_apart = are_apart && buffers[i] == at;
    }
}

static void fill(unsigned char *arguments)
{
    uint64_t pointer;
    const uint32_t three = 3;
    memset(arguments, 0, CODE_MOST_ARGUMENTS);
    for (int i = 0; i < KERNEL_BUFFERS; i++)
        memset(buffers[i], 0, KERNEL_BUFFER_BYTES);
    for (int i = 0; i < KERNEL_BUFFERS; i++) {
        const size_t place = i < KERNEL_POINTERS
                                 ? 8 * (size_t)i
                                 : 8 * KERNEL_POINTERS + kernel_struct_places[i - KERNEL_POINTERS];
        pointer = (uintptr_t)buffers[i] + KERNEL_FIRST;
        memcpy(arguments + place, &pointer, sizeof(pointer));
        memcpy(buffers[KERNEL_TABLE] + KERNEL_FIRST + 8 * i, &pointer, sizeof(pointer));
    }
    memcpy(arguments + 8 * KERNEL_POINTERS, &three, sizeof(three));
    memcpy(arguments + 8 * KERNEL_POINTERS + 4, &three, sizeof(three));
    memcpy(arguments + 8 * KERNEL_POINTERS + KERNEL_STRUCT_BYTES, &three, sizeof(three));
}

// False: it did not run to its end.
static bool run(const char *text, const unsigned char *arguments, uint64_t seed)
{
    struct text error = { 0 };
    struct code code;
    const struct grid grid = { .grid = { 1, 1, 1 },
                               .block = { KERNEL_THREADS, 1, 1 },
                               .arguments = arguments,
                               .seed = seed,
                               .touch = touch };
    memset(touched, 0, sizeof(touched));
    touched_elsewhere = false;
    bool ran = code_read(text, "k", &code, &error);
    if (ran) {
        ran = code_run(&code, &grid, &error);
        code_finish(&code);
    }
    if (!ran && getenv("BRAID_TEST_SHOW"))
        print_message("# %s\n", error.bytes);
    text_finish(&error);
    return ran;
}

// Where a parameter lies among the arguments, and its bytes.
static size_t place_of(uint32_t parameter, size_t *out_bytes)
{
    static const size_t struct_place = 8 * KERNEL_POINTERS;
    *out_bytes = parameter < KERNEL_POINTERS    ? 8
                 : parameter == KERNEL_POINTERS ? KERNEL_STRUCT_BYTES
                                                : 4;
    return parameter <= KERNEL_POINTERS ? 8 * (size_t)parameter
                                        : struct_place + KERNEL_STRUCT_BYTES;
}

// Adds the buffer that an access may be to, by the address that stands in the arguments.
static void name_one(const unsigned char *arguments, const struct kernel_access *access,
                     size_t offset, unsigned *named)
{
    size_t bytes, place = place_of(access->parameter, &bytes);
    uint64_t pointer = 0;
    if (offset + sizeof(pointer) > bytes)
        return;
    memcpy(&pointer, arguments + place + offset, sizeof(pointer));
    const int buffer = find_buffer(pointer, 1);
    if (buffer >= 0)
        named[buffer] |= ((access->acts & ACCESSES_READS) ? READ : 0) |
                         ((access->acts & ACCESSES_WRITES) ? WRITTEN : 0);
}

static void name_all(const unsigned char *arguments, const struct kernel_accesses *accesses,
                     unsigned *named)
{
    const struct kernel_access *items = accesses->items.items;
    for (size_t i = 0; i < accesses->items.num; i++) {
        if (!source_is_anywhere(items[i].offset))
            name_one(arguments, &items[i], items[i].offset, named);
        const size_t step = items[i].offset == SOURCE_ANYWHERE ? 8 : 4;
        for (size_t k = 0; source_is_anywhere(items[i].offset) && k < KERNEL_STRUCT_BYTES;
             k += step)
            name_one(arguments, &items[i], k, named);
    }
}

// Returns whether the analysis proves the kernel.
static bool check(const char *text, const unsigned char *arguments)
{
    struct kernel_code code;
    struct ptx_reason reason;
    struct kernel_accesses accesses;
    unsigned named[KERNEL_BUFFERS] = { 0 };
    if (!braid_code_read(text, &code, &reason))
        fail_msg("%s\n%s", reason.text, text);
    assert_true(braid_kernel_accesses_find(&code, braid_code_find_entry(&code, "k"), &accesses));
    const bool is_proven = !accesses.why;
    name_all(arguments, &accesses, named);
    for (int i = 0; i < KERNEL_BUFFERS && is_proven; i++) {
        if (touched[i] & ~named[i]) { // the text may be too long for a message of the test
            fprintf(stderr, "%s\n", text);
            fail_msg("buffer %d is touched (%u) and not named (%u)", i, touched[i], named[i]);
        }
    }
    braid_kernel_accesses_finish(&accesses);
    braid_code_finish(&code);
    return is_proven;
}

static uint64_t count_of(const char *variable, uint64_t usual)
{
    const char *text = getenv(variable);
    return text ? strtoull(text, NULL, 10) : usual;
}

static void random_kernels(bool mutates, uint64_t num)
{
    static char text[TEXT_BYTES];
    unsigned char arguments[CODE_MOST_ARGUMENTS];
    uint64_t num_proven = 0, num_ended = 0, seed = count_of("BRAID_TEST_SEED", 1);
    for (uint64_t i = 0; i < num; i++) {
        struct random random = { seed + i };
        random_kernel_write(&random, KERNEL_THREADS, text, sizeof(text));
        for (uint32_t k = mutates ? 1 + random_below(&random, 3) : 0; k > 0; k--)
            random_kernel_mutate(&random, text, sizeof(text));
        fill(arguments);
        bool ended = run(text, arguments, i);
        if (!mutates && !ended)
            fail_msg("seed %llu does not end", (unsigned long long)(seed + i));
        num_ended += ended;
        num_proven += check(text, arguments);
    }
    print_message("summary: %llu kernels, %llu ended, %llu proven\n", (unsigned long long)num,
                  (unsigned long long)num_ended, (unsigned long long)num_proven);
    assert_true(num_proven > num / 2);
    assert_true(num_ended > num / 4);
}

static void kernels_as_compilers_write_them(void **state)
{
    (void)state;
    random_kernels(false, count_of("BRAID_TEST_KERNELS", 3000));
}

static void kernels_with_changed_instructions(void **state)
{
    (void)state;
    if (!are_apart)
        skip_because("the system gives no buffers at random addresses");
    random_kernels(true, count_of("BRAID_TEST_KERNELS", 3000));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_as_compilers_write_them),
        cmocka_unit_test(kernels_with_changed_instructions),
    };
    make_buffers();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
