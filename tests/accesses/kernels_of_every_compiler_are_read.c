// SPDX-License-Identifier: Apache-2.0
// The accesses of kernels from nvcc, NVRTC, clang, Triton, Numba and Warp are those that their
// sources have, or the test knows why nobody can prove them.
//
// Arguments: the folders with the texts.
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "accesses/found.h"
#include "support/check.h"

enum { MOST_PATH = 300, MOST_LINE = 400 };

#define LOADED "an address is loaded from memory"
#define STRANGE "it touches memory in a way that is not known"

// One access a pointer, by hand from the sources. At -O0 pointers go through local memory.
static const struct {
    const char *text, *kernel, *found;
} kernels[] = {
    { "clang_pointers_80_O0", "gather", "0+0r 0+16r 1+0w" },
    { "clang_pointers_80_O0", "choose", "0+0r 1+0r 2+0w" },
    { "clang_pointers_80_O0", "swapped", "0+0rw 1+0rw" },
    { "clang_pointers_80_O0", "grouped", LOADED },
    { "clang_pointers_80_O0", "handed", "0+0rw 1+0rw" },
    { "clang_pointers_80_O0", "called", "0+0rw 1+0rw" },
    { "clang_pointers_80_O0", "counted", "0+0r 1+0rwa variables rw" },
    { "clang_pointers_80_O0", "indexed", "0+?r 2+0w" },
    { "clang_pointers_80_O0", "turned", LOADED },
    { "clang_pointers_80_O2", "gather", "0+0r 0+16r 1+0w" },
    { "clang_pointers_80_O2", "choose", "0+0r 1+0r 2+0w" },
    { "clang_pointers_80_O2", "swapped", "0+0rw 1+0rw" },
    { "clang_pointers_80_O2", "grouped", LOADED },
    { "clang_pointers_80_O2", "handed", "0+0rw 1+0rw" },
    { "clang_pointers_80_O2", "called", "0+0rw 1+0rw" },
    { "clang_pointers_80_O2", "counted", "0+0r 1+0rwa variables rw" },
    { "clang_pointers_80_O2", "indexed", "0+?r 2+0w" },
    { "clang_pointers_80_O2", "turned", "0+0r 1+0w" },
    { "nvcc_pointers_80", "gather", "0+0r 0+16r 1+0w" },
    { "nvcc_pointers_80", "choose", "0+0r 1+0r 2+0w" },
    { "nvcc_pointers_80", "swapped", "0+0rw 1+0rw" },
    { "nvcc_pointers_80", "grouped", LOADED },
    { "nvcc_pointers_80", "handed", "0+0rw 1+0rw" },
    { "nvcc_pointers_80", "called", "0+0rw 1+0rw" },
    { "nvcc_pointers_80", "counted", "0+0r 1+0rwa variables rw" },
    { "nvcc_pointers_80", "indexed", "0+0r 0+8r 0+16r 0+24r 2+0w" },
    { "nvcc_pointers_80", "turned", "0+0r 1+0w" },
    { "clang_reverse_80_O0", "by_index", "0+0w-" },
    { "clang_reverse_80_O0", "by_wide_index", "0+0w-" },
    { "clang_reverse_80_O0", "by_length", "0+0w-" },
    { "clang_reverse_80_O0", "by_constant", "0+0w-" },
    { "clang_reverse_80_O0", "by_stride", "0+0w-" },
    { "clang_reverse_80_O0", "by_steps", "0+0r 1+0w-" },
    { "clang_reverse_80_O0", "by_unrolled_steps", "0+0w-" },
    { "clang_reverse_80_O0", "by_iterator", "0+0w-" },
    { "clang_reverse_80_O2", "by_index", "0+0w-" },
    { "clang_reverse_80_O2", "by_wide_index", "0+0w-" },
    { "clang_reverse_80_O2", "by_length", "0+0w-" },
    { "clang_reverse_80_O2", "by_constant", "0+0w-" },
    { "clang_reverse_80_O2", "by_stride", "0+0w-" },
    { "clang_reverse_80_O2", "by_steps", "0+0r 1+0w-" },
    { "clang_reverse_80_O2", "by_unrolled_steps", "0+0w-" },
    { "clang_reverse_80_O2", "by_iterator", "0+0w-" },
    { "nvcc_reverse_80", "by_index", "0+0w-" },
    { "nvcc_reverse_80", "by_wide_index", "0+0w-" },
    { "nvcc_reverse_80", "by_length", "0+0w-" },
    { "nvcc_reverse_80", "by_constant", "0+0w-" },
    { "nvcc_reverse_80", "by_stride", "0+0w-" },
    { "nvcc_reverse_80", "by_steps", "0+0r 1+0w-" },
    { "nvcc_reverse_80", "by_unrolled_steps", "0+0w-" },
    { "nvcc_reverse_80", "by_iterator", "0+0w-" },
    { "triton_counted_80", "counted", "0+0r 1+0rwa" },
    { "triton_gather_80", "gather", "0+0r 1+0r 2+0w" },
    { "triton_grouped_80", "grouped", LOADED },
    { "triton_swapped_90", "swapped", "0+0rw 1+0rw" },
    { "triton_tiles_90", "tiles", STRANGE },
    { "triton_mapped_90", "mapped", STRANGE },
    { "warp_own_80", "paired", "1+0r 1+64w 2+0r" },
    { "warp_own_80", "scaled", "1+0r 3+0w" },
    { "warp_own_80", "summed", "1+0r 2+0rwa" },
    { "clang_O0_60", "add", "0+0rw 1+0r" },
    { "clang_O0_60", "turn", "0+0rwa 1+0rw" },
    { "clang_O2_80", "add", "0+0rw 1+0r" },
    { "clang_O2_80", "turn", "0+0rwa 1+0rw" },
    { "cupy_blend_80", "blend", "0+0r 2+0r 5+0rw" },
    { "numba_reverse_80", "_ZN", "4+0rwa 5+0rw- 6+0rw-" },
    { "numba_scale_80", "_ZN", "4+0rw 5+0rw- 6+0rw-" },
    { "nvcc_common_75", "saxpy", "0+0rw 1+0r" },
    { "nvcc_common_75", "sum", "0+0rwa 1+0r" },
    { "nvcc_common_75", "product", "0+0w 1+0r 2+0r" },
    { "nvcc_common_75", "histogram", "0+0rwa 1+0r" },
    { "nvcc_common_75", "calls", "0+0rw 1+0rw" },
    { "nvcc_common_75", "choice", "0+0rw" },
    { "nvcc_common_75", "settle", "0+0rw 2+0r variables rw" },
    { "nvcc_common_75", "groups", "0+0w" },
    { "nvcc_common_75", "nothing", "" },
    { "nvcc_common_80_lines", "saxpy", "0+0rw 1+0r" },
    { "nvcc_common_80_lines", "sum", "0+0rwa 1+0r" },
    { "nvcc_common_80_lines", "product", "0+0w 1+0r 2+0r" },
    { "nvcc_common_80_lines", "histogram", "0+0rwa 1+0r" },
    { "nvcc_common_80_lines", "calls", "0+0rw 1+0rw" },
    { "nvcc_common_80_lines", "choice", "0+0rw" },
    { "nvcc_common_80_lines", "settle", "0+0rw 2+0r variables rw" },
    { "nvcc_common_80_lines", "groups", "0+0w" },
    { "nvcc_common_80_lines", "nothing", "" },
    { "nvcc_mix_75", "given", "0+0rw" },
    { "nvcc_modern_100", "tail", "0+0rw" },
    { "nvcc_modern_100", "near", "0+0rw" },
    { "nvcc_modern_100", "copies", "0+0rwa 1+0r" },
    { "nvcc_modern_100", "multiply", "0+0w 1+0r 2+0r" },
    { "nvcc_modern_90", "tail", "0+0rw" },
    { "nvcc_modern_90", "near", "0+0rw" },
    { "nvcc_modern_90", "copies", "0+0rwa 1+0r" },
    { "nvcc_modern_90", "multiply", "0+0w 1+0r 2+0r" },
    { "nvcc_modern_90_debug", "tail", "0+0rw" },
    { "nvcc_modern_90_debug", "near", "0+0rw" },
    { "nvcc_modern_90_debug", "copies", "0+0rwa 1+0r" },
    { "nvcc_modern_90_debug", "multiply", "0+0w 1+0r 2+0r" },
    { "nvcc_tiles_80", "tiles", "0+0rw 1+0r 2+0r" },
    { "triton_add_90", "add", "0+0r 1+0r 2+0w" },
    { "triton_product_90", "product", "0+0r 1+0r 2+0w" },
    { "triton_softmax_80", "softmax", "0+0w 1+0r" },
};

static char **folders;
static int num_folders;

static char *read_text(const char *folder, const char *name)
{
    char path[MOST_PATH];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    if (!file)
        return NULL;
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    const long bytes = ftell(file);
    char *text = bytes >= 0 ? malloc((size_t)bytes + 1) : NULL;
    assert_non_null(text);
    rewind(file);
    assert_int_equal(fread(text, 1, (size_t)bytes, file), bytes);
    text[bytes] = '\0';
    fclose(file);
    return text;
}

// A kernel's name may be long: the table has its begin.
static const char *expected_of(const char *text, struct ptx_word kernel)
{
    for (size_t i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++) {
        const size_t length = strlen(kernels[i].text);
        if (strncmp(kernels[i].text, text, length) == 0 && strcmp(text + length, ".ptx") == 0 &&
            braid_ptx_word_begins(kernel, kernels[i].kernel))
            return kernels[i].found;
    }
    return "not in the table";
}

static size_t check_text(const char *name, char *text)
{
    struct kernel_code code;
    struct ptx_reason reason;
    size_t num = 0;
    if (!braid_code_read(text, &code, &reason))
        fail_msg("%s: %s", name, reason.text);
    for (uint32_t i = 0; i < code.num_functions; i++) {
        const struct ptx_function *function = code.functions[i].ptx;
        char found[MOST_LINE];
        if (!function->is_entry)
            continue;
        found_write(&code, i, found, sizeof(found));
        const char *expected = expected_of(name, function->name);
        if (strcmp(found, expected) != 0)
            fail_msg("%s, %.*s: '%s' instead of '%s'", name, (int)function->name.length,
                     function->name.at, found, expected);
        num++;
    }
    braid_code_finish(&code);
    return num;
}

static void all_kernels_of_the_folders_are_as_in_the_table(void **state)
{
    (void)state;
    size_t num = 0;
    for (int i = 0; i < num_folders; i++) {
        DIR *folder = opendir(folders[i]);
        assert_non_null(folder);
        for (struct dirent *entry = readdir(folder); entry; entry = readdir(folder)) {
            char *text =
                strstr(entry->d_name, ".ptx") ? read_text(folders[i], entry->d_name) : NULL;
            if (text)
                num += check_text(entry->d_name, text);
            free(text);
        }
        closedir(folder);
    }
    assert_int_equal(num, sizeof(kernels) / sizeof(kernels[0]));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_kernels_of_the_folders_are_as_in_the_table),
    };
    folders = argv + 1;
    num_folders = argc - 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
