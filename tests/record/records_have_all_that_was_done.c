// SPDX-License-Identifier: Apache-2.0
// A record has modules, memory, parameters and bytes, whichever way the program took to the driver.
#include "record/program.h"

#include <dlfcn.h>
#include <string.h>

enum { WORDS = 64, WAYS = 5 };

// The functions that each way finds.
struct driver {
    CUresult (*launch)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                       unsigned, CUstream, void **, void **);
    CUresult (*send)(CUdeviceptr, const void *, size_t, CUstream);
    CUresult (*fill)(CUdeviceptr, unsigned, size_t, CUstream);
};

static CUdeviceptr memory;
static CUstream stream;

#define TAKE(to, found)                                                                            \
    do {                                                                                           \
        void *function = (found);                                                                  \
        assert_non_null(function);                                                                 \
        memcpy(&(to), &function, sizeof(function));                                                \
    } while (0)

static void take_opened(const char *name, struct driver *out_driver)
{
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(library);
    TAKE(out_driver->launch, dlsym(library, "cuLaunchKernel"));
    TAKE(out_driver->send, dlsym(library, "cuMemcpyHtoDAsync_v2"));
    TAKE(out_driver->fill, dlsym(library, "cuMemsetD32Async"));
}

static void *ask(const char *name)
{
    void *function = NULL;
    must(cuGetProcAddress_v2(name, &function, 12000, 0, NULL));
    return function;
}

static void *ask_as_before(const char *name)
{
    void *lookup, *function = NULL;
    CUresult (*call)(const char *, void **, int, cuuint64_t);
    must(cuGetProcAddress("cuGetProcAddress", &lookup, 11030, 0));
    memcpy(&call, &lookup, sizeof(lookup));
    must(cuGetProcAddress(name, &function, 12000, 0));
    return function;
}

static void take(int way, struct driver *out_driver)
{
    *out_driver = (struct driver){ cuLaunchKernel, cuMemcpyHtoDAsync_v2, cuMemsetD32Async };
    if (way == 1)
        take_opened("libcuda.so.1", out_driver);
    if (way == 2)
        take_opened("libcuda.so", out_driver);
    if (way < 3)
        return;
    TAKE(out_driver->launch, way == 3 ? ask("cuLaunchKernel") : ask_as_before("cuLaunchKernel"));
    TAKE(out_driver->send,
         way == 3 ? ask("cuMemcpyHtoDAsync") : ask_as_before("cuMemcpyHtoDAsync"));
    TAKE(out_driver->fill, way == 3 ? ask("cuMemsetD32Async") : ask_as_before("cuMemsetD32Async"));
}

static void go(int way)
{
    struct driver driver;
    uint32_t number = 40 + (uint32_t)way, words[WORDS];
    void *arguments[] = { &memory, &number };
    take(way, &driver);
    for (uint32_t i = 0; i < WORDS; i++)
        words[i] = i * number;
    must(driver.fill(memory, number, WORDS, stream));
    must(driver.send(memory, words, sizeof(words), stream));
    must(driver.launch(program.add, 2, 1, 1, 1, 3, 1, 16, stream, arguments, NULL));
    must(cuStreamSynchronize(stream));
    memset(words, 0, sizeof(words));
    must(cuMemcpyDtoH_v2(words, memory, sizeof(words)));
    // Six threads add without atomics: at least one of them counts.
    assert_true(words[0] >= number && words[1] == number);
}

// ---- the record ----

static const braid_record_work *work_of(const braid_record_contents *contents, int way, uint32_t i)
{
    return &contents->operations[contents->frames[way].first_operation + i].work;
}

static void check_launch(const braid_record_contents *contents, const braid_record_work *work,
                         uint32_t number)
{
    const uint32_t grid[] = { 2, 1, 1 }, block[] = { 1, 3, 1 };
    assert_int_equal(work->kind, BRAID_RECORD_KERNEL);
    assert_memory_equal(work->grid, grid, sizeof(grid));
    assert_memory_equal(work->block, block, sizeof(block));
    assert_int_equal(work->shared_bytes, 16);
    const braid_record_kernel *kernel = &contents->kernels[work->kernel];
    assert_string_equal(kernel->name, "add");
    assert_int_equal(kernel->num_parameters, 2);
    assert_int_equal(contents->parameters[kernel->first_parameter + 1].offset, 8);
    assert_int_equal(work->parameter_bytes, 12);
    assert_memory_equal(work->parameters, &memory, 8);
    assert_memory_equal((const char *)work->parameters + 8, &number, 4);
    const braid_record_module *module = &contents->modules[kernel->module];
    assert_int_equal(module->kind, BRAID_RECORD_PTX);
    assert_string_equal(module->text, program_text);
}

static void check_way(const braid_record_contents *contents, int way)
{
    const uint32_t number = 40 + (uint32_t)way;
    const braid_record_work *fill = work_of(contents, way, 0), *send = work_of(contents, way, 1);
    assert_int_equal(contents->frames[way].num_operations, 6);
    assert_int_equal(fill->kind, BRAID_RECORD_FILL);
    assert_int_equal(fill->to.address, memory);
    assert_int_equal(fill->value, number);
    assert_int_equal(fill->value_bytes, 4);
    assert_int_equal(fill->width, 4 * WORDS);
    assert_int_equal(send->kind, BRAID_RECORD_COPY);
    assert_int_equal(send->from.place, BRAID_RECORD_ON_HOST);
    assert_int_equal(send->num_bytes, 4 * WORDS);
    for (uint32_t i = 0; i < WORDS; i++) {
        const uint32_t expected = i * number;
        assert_memory_equal((const char *)send->bytes + 4 * (size_t)i, &expected, 4);
    }
    assert_int_equal(send->digest, braid_record_get_digest(send->bytes, send->num_bytes));
    check_launch(contents, work_of(contents, way, 2), number);
    assert_int_equal(work_of(contents, way, 3)->kind, BRAID_RECORD_SYNCHRONISE);
    assert_int_equal(work_of(contents, way, 4)->kind, BRAID_RECORD_COPY);
    assert_int_equal(work_of(contents, way, 4)->to.place, BRAID_RECORD_ON_HOST);
    assert_int_equal(work_of(contents, way, 5)->scope, BRAID_RECORD_OF_OPERATION);
}

// Memory from before the frames has no operation, and what comes and goes in them has two.
static void check_memory(const braid_record_contents *contents, CUdeviceptr short_lived)
{
    bool has_old = false, has_new = false;
    for (uint32_t i = 0; i < contents->num_allocations; i++) {
        const braid_record_allocation *row = &contents->allocations[i];
        assert_true(row->bytes != 12345); // freed before the first frame
        if (row->address == memory && row->bytes == 4 * WORDS) {
            assert_int_equal(row->born, BRAID_RECORD_NONE);
            assert_int_equal(row->freed_at, BRAID_RECORD_NONE);
            has_old = true;
        }
        if (row->address == short_lived && row->bytes == 512) {
            assert_int_equal(row->kind, BRAID_RECORD_POOL);
            assert_int_equal(contents->operations[row->born].work.kind, BRAID_RECORD_ALLOCATE);
            assert_int_equal(contents->operations[row->born].work.memory, i);
            assert_int_equal(contents->operations[row->freed_at].work.kind, BRAID_RECORD_FREE);
            has_new = true;
        }
    }
    assert_true(has_old && has_new);
}

// A copy over the limit of --copy-bytes has a digest alone.
static unsigned char many[(1 << 20) + 13];

static void check_large_copy(const braid_record_work *send)
{
    assert_int_equal(send->num_bytes, sizeof(many));
    assert_null(send->bytes);
    assert_int_equal(send->digest, braid_record_get_digest(many, sizeof(many)));
}

// Bytes between parameters are zero. Meson has the allocator fill memory with others.
static void launch_with_gap(void)
{
    static const char text[] = ".version 7.8\n.target sm_90\n.address_size 64\n"
                               ".visible .entry gap(.param .u32 a, .param .u64 b)\n{\nret;\n}\n";
    CUmodule module;
    CUfunction gap;
    uint32_t first = 0x01020304;
    uint64_t second = UINT64_C(0x1112131415161718);
    void *arguments[] = { &first, &second };
    must(cuModuleLoadData(&module, text));
    must(cuModuleGetFunction(&gap, module, "gap"));
    must(cuLaunchKernel(gap, 1, 1, 1, 1, 1, 1, 0, stream, arguments, NULL));
    must(cuStreamSynchronize(stream));
    must(cuModuleUnload(module));
}

static void check_gap(const braid_record_work *work)
{
    const uint32_t words[] = { 0x01020304, 0, 0x15161718, 0x11121314 };
    assert_int_equal(work->parameter_bytes, sizeof(words));
    assert_memory_equal(work->parameters, words, sizeof(words));
}

// Functions that no handler knows. They make objects for later frames, or end them. So they count
// before the first mark, too.
static const char *const strangers[] = { "cuMemAllocHost", "cuCtxAttach", "cuGreenCtxCreate",
                                         "cuGreenCtxDestroy" };

enum { NUM_STRANGERS = sizeof(strangers) / sizeof(strangers[0]) };

static void call_strangers(void)
{
    for (int i = 0; i < NUM_STRANGERS; i++) {
        CUresult (*call)(void *, uint64_t, uint64_t, uint64_t);
        TAKE(call, dlsym(RTLD_DEFAULT, strangers[i]));
        assert_int_not_equal(call(NULL, 0, 0, 0), CUDA_SUCCESS);
    }
}

// A function that no handler knows, and that writes at once. Before the first mark it does not
// count.
static void write_words(void)
{
    CUresult (*call)(void *, uint64_t, uint64_t, uint64_t);
    TAKE(call, dlsym(RTLD_DEFAULT, "cuMemcpyHtoD"));
    assert_int_not_equal(call(NULL, 0, 0, 0), CUDA_SUCCESS);
}

static void each_way_is_recorded(void **state)
{
    CUdeviceptr short_lived, gone, large;
    (void)state;
    must(cuMemAlloc_v2(&gone, 12345));
    must(cuMemFree_v2(gone));
    must(cuMemAlloc_v2(&memory, 4 * WORDS));
    must(cuMemAlloc_v2(&large, sizeof(many)));
    for (size_t i = 0; i < sizeof(many); i++)
        many[i] = (unsigned char)(i * i >> 3);
    must(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    call_strangers();
    write_words();
    for (int way = 0; way < WAYS; way++) {
        assert_true(braid_record_frame_mark());
        go(way);
    }
    assert_true(braid_record_frame_mark());
    must(cuMemAllocAsync(&short_lived, 512, stream));
    // A call that fails is no operation.
    assert_int_not_equal(cuMemsetD32Async(memory, 1, WORDS, (CUstream)(uintptr_t)0xdead), 0);
    must(cuMemFreeAsync(short_lived, stream));
    must(cuMemcpyHtoDAsync_v2(large, many, sizeof(many), stream));
    launch_with_gap();
    call_strangers();
    assert_true(braid_record_frame_mark());
    // Behind the last mark nothing is noted.
    launch_nothing(stream);
    const braid_record_contents *contents = open_own_record();
    int version;
    must(cuDriverGetVersion(&version));
    assert_int_equal(contents->driver_version, version);
    assert_non_null(strstr(contents->program, "records_have_all"));
    assert_int_equal(contents->num_frames, WAYS + 1);
    for (int way = 0; way < WAYS; way++)
        check_way(contents, way);
    assert_int_equal(contents->frames[WAYS].num_operations, 5 + NUM_STRANGERS);
    check_large_copy(work_of(contents, WAYS, 2));
    check_gap(work_of(contents, WAYS, 3));
    assert_int_equal(contents->num_strangers, NUM_STRANGERS);
    for (int i = 0; i < NUM_STRANGERS; i++) {
        assert_string_equal(contents->strangers[i].name, strangers[i]);
        assert_int_equal(contents->strangers[i].num_calls, 2);
    }
    check_memory(contents, short_lived);
    close_own_record();
    must(cuStreamDestroy_v2(stream));
    must(cuMemFree_v2(memory));
    must(cuMemFree_v2(large));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(each_way_is_recorded) };
    return cmocka_run_group_tests(tests, open_program, close_program);
}
