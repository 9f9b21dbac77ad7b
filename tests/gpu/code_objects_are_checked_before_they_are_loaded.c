// SPDX-License-Identifier: Apache-2.0
// AMD's runtime aborts the process on a code object without the device's architecture.
#include "support/check.h"

#include <string.h>

#include "backends/hip/hip_vendor.h"

static char *put_u64(char *to, uint64_t value)
{
    memcpy(to, &value, sizeof(value));
    return to + sizeof(value);
}

// A bundle of entries with these ids and no code.
static void make_bundle(char *image, const char *const *ids, size_t num)
{
    memcpy(image, "__CLANG_OFFLOAD_BUNDLE__", 24);
    char *end = put_u64(image + 24, num);
    for (size_t i = 0; i < num; i++) {
        end = put_u64(end, 4096);
        end = put_u64(end, 0);
        end = put_u64(end, strlen(ids[i]));
        memcpy(end, ids[i], strlen(ids[i]));
        end += strlen(ids[i]);
    }
}

static void make_elf(char *image, uint16_t machine, uint32_t flags)
{
    memcpy(image, "\177ELF\2\1\1", 7);
    memcpy(image + 18, &machine, sizeof(machine));
    memcpy(image + 48, &flags, sizeof(flags));
}

static void a_bundle_must_have_the_architecture(void **state)
{
    (void)state;
    static const char *const ids[] = { "host-x86_64-unknown-linux-gnu-",
                                       "hip-amdgcn-amd-amdhsa-gfx906:sramecc+:xnack-",
                                       "hipv4-amdgcn-amd-amdhsa--gfx1030" };
    char image[1024] = { 0 }, found[100];
    make_bundle(image, ids, 3);
    assert_int_equal(braid_hip_find_architecture(image, "gfx1030", found, sizeof(found)), BRAID_OK);
    assert_int_equal(
        braid_hip_find_architecture(image, "gfx906:sramecc+:xnack-", found, sizeof(found)),
        BRAID_OK);
    assert_int_equal(braid_hip_find_architecture(image, "gfx90a", found, sizeof(found)),
                     BRAID_UNSUPPORTED);
    assert_string_equal(found, "gfx906:sramecc+:xnack-, gfx1030");
    assert_int_equal(braid_hip_find_architecture(image, "gfx90", found, sizeof(found)),
                     BRAID_UNSUPPORTED);
}

static void an_elf_must_be_for_the_architecture(void **state)
{
    (void)state;
    char image[64] = { 0 }, found[100];
    make_elf(image, 224, 0x33f);
    assert_int_equal(braid_hip_find_architecture(image, "gfx90a:xnack-", found, sizeof(found)),
                     BRAID_OK);
    assert_int_equal(braid_hip_find_architecture(image, "gfx908", found, sizeof(found)),
                     BRAID_UNSUPPORTED);
    assert_string_equal(found, "gfx90a");
    make_elf(image, 190, 0);
    assert_int_equal(braid_hip_find_architecture(image, "gfx908", found, sizeof(found)),
                     BRAID_UNSUPPORTED);
    assert_string_equal(found, "another kind of machine (190)");
}

static void what_is_not_known_is_left_to_the_runtime(void **state)
{
    (void)state;
    char image[64] = { 0 }, found[100];
    make_elf(image, 224, 0xfe);
    assert_int_equal(braid_hip_find_architecture(image, "gfx9999", found, sizeof(found)), BRAID_OK);
    assert_int_equal(braid_hip_find_architecture("?", "gfx90a", found, sizeof(found)), BRAID_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_bundle_must_have_the_architecture),
        cmocka_unit_test(an_elf_must_be_for_the_architecture),
        cmocka_unit_test(what_is_not_known_is_left_to_the_runtime),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
