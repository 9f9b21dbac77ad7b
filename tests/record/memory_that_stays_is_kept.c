// SPDX-License-Identifier: Apache-2.0
// Memory of a pool outlives the context that was current where it came. It is kept nevertheless.
// If the driver refuses to free memory, its end comes later.
#include "record/program.h"

#include <dlfcn.h>
#include <stdlib.h>

enum { BYTES = 128, KEPT_BYTES = 64, VALUE = 5, NUM = 2 };

// Returns memory of a context that is gone.
static CUdeviceptr make_memory(void)
{
    CUcontext context;
    CUstream stream;
    CUdeviceptr memory;
    must(cuCtxCreate_v2(&context, 0, 0));
    must(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    must(cuMemAllocAsync(&memory, BYTES, stream));
    must(cuMemsetD32Async(memory, VALUE, BYTES / 4, stream));
    must(cuStreamSynchronize(stream));
    must(cuStreamDestroy_v2(stream));
    must(cuCtxDestroy_v2(context));
    must(cuCtxSetCurrent(program.context));
    return memory;
}

static void refuse_to_free(CUdeviceptr memory)
{
    typedef bool configure(const char *setting, const char *value);
    void *driver = dlopen(getenv("BRAID_RECORD_REAL"), RTLD_LAZY | RTLD_NOLOAD);
    configure *set = (configure *)(uintptr_t)dlsym(driver, "standin_configure");
    assert_true(set("BRAID_STANDIN_FAIL", "cuMemFree:1=999"));
    assert_int_equal(cuMemFree_v2(memory), 999);
    assert_true(set("BRAID_STANDIN_FAIL", NULL));
    dlclose(driver);
}

static void memory_that_stays_is_kept(void **state)
{
    const CUdeviceptr memory[NUM] = { make_memory(), make_memory() };
    uint32_t num_of_end = 0;
    (void)state;
    assert_true(braid_record_frame_mark());
    refuse_to_free(memory[1]);
    for (int i = 0; i < NUM; i++)
        launch_add(NULL, memory[i], 1);
    assert_true(braid_record_frame_mark());
    const braid_record_contents *contents = open_own_record();
    assert_int_equal(contents->num_memory, 2 * NUM);
    for (uint32_t i = 0; i < contents->num_memory; i++) {
        const braid_record_memory *kept = &contents->memory[i];
        const uint32_t value = kept->is_of_end ? VALUE + 1 : VALUE;
        assert_int_equal(kept->num_bytes, kept->is_of_end ? KEPT_BYTES : BYTES);
        assert_memory_equal(kept->bytes, &value, sizeof(value));
        assert_true(kept->is_of_end || kept->digest_behind != 0);
        num_of_end += kept->is_of_end;
    }
    assert_int_equal(num_of_end, NUM);
    close_own_record();
    for (int i = 0; i < NUM; i++)
        must(cuMemFree_v2(memory[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(memory_that_stays_is_kept) };
    return cmocka_run_group_tests(tests, open_program, close_program);
}
