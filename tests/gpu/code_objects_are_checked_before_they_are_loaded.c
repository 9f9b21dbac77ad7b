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

static void check_bundle(const char *id, const char *architecture, braid_status expected)
{
    char image[1024] = { 0 }, found[100];
    make_bundle(image, &id, 1);
    assert_int_equal(braid_hip_find_architecture(image, architecture, found, sizeof(found)),
                     expected);
}

static void a_stated_feature_must_be_the_devices(void **state)
{
    (void)state;
    const char device[] = "gfx90a:sramecc+:xnack-";
    check_bundle("hipv4-amdgcn-amd-amdhsa--gfx90a", device, BRAID_OK);
    check_bundle("hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-", device, BRAID_OK);
    check_bundle("hipv4-amdgcn-amd-amdhsa--gfx90a:sramecc+", device, BRAID_OK);
    check_bundle("hipv4-amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-", device, BRAID_OK);
    check_bundle("hipv4-amdgcn-amd-amdhsa--gfx90a:xnack+", device, BRAID_UNSUPPORTED);
    check_bundle("hipv4-amdgcn-amd-amdhsa--gfx90a:sramecc-:xnack-", device, BRAID_UNSUPPORTED);
    check_bundle("hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-", "gfx90a", BRAID_UNSUPPORTED);
    check_bundle("hipv4-amdgcn-amd-amdhsa--gfx90a:xnack", device, BRAID_UNSUPPORTED);
}

static void check_elf(uint32_t flags, const char *architecture, braid_status expected)
{
    char image[64] = { 0 }, found[100];
    make_elf(image, 224, flags);
    image[8] = 2; // code object version 4
    assert_int_equal(braid_hip_find_architecture(image, architecture, found, sizeof(found)),
                     expected);
}

static void a_feature_in_elf_flags_must_be_the_devices(void **state)
{
    (void)state;
    const char device[] = "gfx90a:sramecc+:xnack-";
    check_elf(0x03f, device, BRAID_OK);
    check_elf(0x53f, device, BRAID_OK); // both any
    check_elf(0xe3f, device, BRAID_OK);
    check_elf(0x33f, device, BRAID_UNSUPPORTED);
    check_elf(0x83f, device, BRAID_UNSUPPORTED);
}

static void generic_code_is_named(void **state)
{
    (void)state;
    static const char *const ids[] = { "hipv4-amdgcn-amd-amdhsa--gfx9-4-generic:xnack+",
                                       "hip-spirv64-amd-amdhsa--amdgcnspirv" };
    char image[1024] = { 0 }, found[200];
    make_bundle(image, ids, 2);
    assert_int_equal(braid_hip_find_architecture(image, "gfx942", found, sizeof(found)),
                     BRAID_UNSUPPORTED);
    assert_string_equal(found, "gfx9-4-generic:xnack+ (generic code is not supported), amdgcnspirv "
                               "(generic code is not supported)");
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
        cmocka_unit_test(a_stated_feature_must_be_the_devices),
        cmocka_unit_test(a_feature_in_elf_flags_must_be_the_devices),
        cmocka_unit_test(generic_code_is_named),
        cmocka_unit_test(what_is_not_known_is_left_to_the_runtime),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
