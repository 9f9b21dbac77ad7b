// SPDX-License-Identifier: Apache-2.0
// The recorder keeps the memory of a frame while other threads go on: memory that they free
// meanwhile is left, and its row has no other memory. Each context's work is over before. Memory
// that the program has locked, and that the driver still knows, is left, too.
#include "record/program.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { OLD = 65536, NEW = 64, VALUE = 77, PAGE = 4096 };

static CUdeviceptr kept, old, new, elsewhere;
static CUstream stream, other, far;
static char *locked[2];
static pthread_barrier_t waits, is_freed; // two threads meet there

static void *free_old(void *unused)
{
    (void)unused;
    pthread_barrier_wait(&waits);
    must(cuCtxSetCurrent(program.context));
    must(cuMemFreeAsync(old, other));
    must(cuMemAllocAsync(&new, NEW, other));
    pthread_barrier_wait(&is_freed);
    return NULL;
}

// The recorder lists the memory meanwhile, and then waits for this.
static void let_free(void *unused)
{
    (void)unused;
    usleep(50000);
    pthread_barrier_wait(&waits);
    pthread_barrier_wait(&is_freed);
}

static void sleep_shortly(void *unused)
{
    (void)unused;
    usleep(20000);
}

// One has its first page locked, and the other its last.
static void pin_and_lock(void)
{
    for (int i = 0; i < 2; i++) {
        locked[i] =
            mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        assert_ptr_not_equal(locked[i], MAP_FAILED);
        must(cuMemHostRegister_v2(locked[i], 2 * PAGE, 0));
        assert_int_equal(mprotect(locked[i] + i * PAGE, PAGE, PROT_NONE), 0);
    }
}

static void unpin(void)
{
    for (int i = 0; i < 2; i++) {
        must(cuMemHostUnregister(locked[i]));
        munmap(locked[i], 2 * PAGE);
    }
}

// Its variable goes with it.
static void use_module_for_a_while(void)
{
    static const char text[] = ".version 7.8\n.target sm_90\n.address_size 64\n"
                               ".global .u32 number;\n.visible .entry none()\n{\nret;\n}\n";
    CUmodule module;
    CUdeviceptr variable;
    size_t bytes;
    must(cuModuleLoadData(&module, text));
    must(cuModuleGetGlobal_v2(&variable, &bytes, module, "number"));
    must(cuModuleUnload(module));
}

static void open_world(CUcontext *out_context)
{
    use_module_for_a_while();
    pin_and_lock();
    must(cuMemAlloc_v2(&kept, 64));
    must(cuMemsetD32Async(kept, VALUE, 16, NULL));
    must(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    must(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    must(cuMemAllocAsync(&old, OLD, other));
    must(cuCtxSynchronize());
    must(cuCtxCreate_v2(out_context, 0, 0));
    must(cuMemAlloc_v2(&elsewhere, 64));
    must(cuMemsetD32Async(elsewhere, 0, 16, NULL));
    must(cuStreamCreate(&far, CU_STREAM_NON_BLOCKING));
    must(cuCtxSynchronize());
    must(cuLaunchHostFunc(far, sleep_shortly, NULL));
    must(cuMemsetD32Async(elsewhere, VALUE, 16, far));
    must(cuCtxSetCurrent(program.context));
    must(cuLaunchHostFunc(stream, let_free, NULL));
}

static void check(const braid_record_contents *contents)
{
    uint32_t num = 0;
    const uint32_t value = VALUE;
    assert_int_equal(contents->num_frames, 1);
    for (uint32_t i = 0; i < contents->num_memory; i++) {
        const braid_record_memory *memory = &contents->memory[i];
        const uint64_t address = contents->allocations[memory->allocation].address;
        assert_true(memory->num_bytes != OLD && memory->num_bytes != 2 * PAGE);
        assert_int_not_equal(memory->digest_behind, 0);
        if (address != kept && address != elsewhere)
            continue;
        assert_memory_equal(memory->bytes, &value, 4);
        num++;
    }
    assert_int_equal(num, 2);
    for (uint32_t i = 0; i < contents->num_allocations; i++)
        assert_true(contents->allocations[i].bytes != OLD &&
                    contents->allocations[i].kind != BRAID_RECORD_VARIABLE);
}

static void memory_may_go_while_it_is_kept(void **state)
{
    pthread_t thread;
    CUcontext context;
    (void)state;
    assert_int_equal(pthread_barrier_init(&waits, NULL, 2), 0);
    assert_int_equal(pthread_barrier_init(&is_freed, NULL, 2), 0);
    assert_int_equal(pthread_create(&thread, NULL, free_old, NULL), 0);
    open_world(&context);
    assert_true(braid_record_frame_mark());
    pthread_join(thread, NULL);
    launch_add(stream, kept, 1);
    assert_true(braid_record_frame_mark());
    check(open_own_record());
    close_own_record();
    unpin();
    must(cuMemFree_v2(kept));
    must(cuMemFreeAsync(new, other));
    must(cuStreamDestroy_v2(stream));
    must(cuStreamDestroy_v2(other));
    must(cuCtxSetCurrent(context));
    must(cuMemFree_v2(elsewhere));
    must(cuStreamDestroy_v2(far));
    must(cuCtxDestroy_v2(context));
    must(cuCtxSetCurrent(program.context));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(memory_may_go_while_it_is_kept) };
    return cmocka_run_group_tests(tests, open_program, close_program);
}
