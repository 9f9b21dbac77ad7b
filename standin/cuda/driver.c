// SPDX-License-Identifier: Apache-2.0
// What the tests of the stand-in driver share: assertions on results, a context, a gate in a
// stream.
#include "driver.h"

#include <time.h>

void must_be_at(CUresult result, CUresult expected, const char *call, const char *file, int line)
{
    const char *got = NULL, *wanted = NULL;
    if (result == expected)
        return;
    cuGetErrorName(result, &got);
    cuGetErrorName(expected, &wanted);
    print_error("%s: %s (%d), not %s\n", call, got == NULL ? "?" : got, (int)result,
                wanted == NULL ? "?" : wanted);
    _fail(file, line);
}

static const char *const settings[] = {
    "BRAID_STANDIN_FAIL",          "BRAID_STANDIN_ASYNC", "BRAID_STANDIN_MEMORY",
    "BRAID_STANDIN_DEVICES",       "BRAID_STANDIN_SEED",  "BRAID_STANDIN_SLOW_US",
    "BRAID_STANDIN_GRAPH_THREADS", "BRAID_STANDIN_PEERS", "BRAID_STANDIN_VERSION",
};

static void forget_settings(void)
{
    for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
        assert_true(standin_configure(settings[i], NULL));
}

int open_driver(void **state)
{
    CUcontext context;
    (void)state;
    forget_settings();
    must(cuInit(0));
    must(cuDevicePrimaryCtxRetain(&context, 0));
    must(cuCtxSetCurrent(context));
    return 0;
}

int close_driver(void **state)
{
    static const char *const kinds[] = { "context", "stream", "event", "module",
                                         "graph",   "exec",   "pool",  "memory" };
    (void)state;
    forget_settings();
    must(cuCtxSetCurrent(NULL));
    must(cuDevicePrimaryCtxRelease_v2(0));
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        assert_int_equal(standin_live(kinds[i]), 0);
    return 0;
}

int open_interpreter(void **state)
{
    open_driver(state);
    assert_true(standin_configure("BRAID_STANDIN_PTX", "1"));
    return 0;
}

int close_interpreter(void **state)
{
    assert_true(standin_configure("BRAID_STANDIN_PTX", NULL));
    return close_driver(state);
}

CUcontext current_context(void)
{
    CUcontext context;
    must(cuCtxGetCurrent(&context));
    return context;
}

CUstream make_stream(void)
{
    CUstream stream = NULL;
    must(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    return stream;
}

CUevent make_event(void)
{
    CUevent event = NULL;
    must(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    return event;
}

CUdeviceptr device(const void *memory)
{
    return (CUdeviceptr)(uintptr_t)memory;
}

unsigned *make_memory(size_t count)
{
    CUdeviceptr memory = 0;
    must(cuMemAlloc_v2(&memory, count * sizeof(unsigned)));
    must(cuMemsetD32_v2(memory, 0, count));
    return (unsigned *)(uintptr_t)memory;
}

void free_memory(void *memory)
{
    must(cuMemFree_v2(device(memory)));
}

const char word_kernels[] = ".version 7.8\n"
                            ".target sm_90\n"
                            ".address_size 64\n"
                            ".visible .entry add_one(.param .u64 add_one_param_0)\n"
                            "{ ret; }\n"
                            ".visible .entry copy_word(\n"
                            "    .param .u64 .ptr .global .align 4 copy_word_param_0,\n"
                            "    .param .u64 copy_word_param_1\n"
                            ")\n"
                            "{ ret; }\n";

__attribute__((visibility("default"))) void braid_standin_add_one(const unsigned grid[3],
                                                                  const unsigned block[3],
                                                                  unsigned shared_bytes,
                                                                  void **args);
__attribute__((visibility("default"))) void braid_standin_copy_word(const unsigned grid[3],
                                                                    const unsigned block[3],
                                                                    unsigned shared_bytes,
                                                                    void **args);

void braid_standin_add_one(const unsigned grid[3], const unsigned block[3], unsigned shared_bytes,
                           void **args)
{
    (void)grid, (void)block, (void)shared_bytes;
    (**(unsigned **)args[0])++;
}

void braid_standin_copy_word(const unsigned grid[3], const unsigned block[3], unsigned shared_bytes,
                             void **args)
{
    (void)grid, (void)block, (void)shared_bytes;
    **(unsigned **)args[0] = **(unsigned **)args[1];
}

struct words load_words(void)
{
    struct words words = { 0 };
    must(cuModuleLoadData(&words.module, word_kernels));
    must(cuModuleGetFunction(&words.add_one, words.module, "add_one"));
    must(cuModuleGetFunction(&words.copy_word, words.module, "copy_word"));
    return words;
}

void launch_add_one(const struct words *words, unsigned *word, CUstream stream)
{
    void *params[] = { &word };
    must(cuLaunchKernel(words->add_one, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL));
}

void launch_copy_word(const struct words *words, unsigned *to, unsigned *from, CUstream stream)
{
    void *params[] = { &to, &from };
    must(cuLaunchKernel(words->copy_word, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL));
}

static void nap(void)
{
    const struct timespec time = { .tv_nsec = 100000 };
    nanosleep(&time, NULL);
}

static void stand_at_gate(void *user)
{
    struct gate *gate = user;
    atomic_store_explicit(&gate->entered, true, memory_order_release);
    while (!atomic_load_explicit(&gate->open, memory_order_acquire))
        nap();
}

void close_gate(struct gate *gate, CUstream stream)
{
    atomic_init(&gate->entered, false);
    atomic_init(&gate->open, false);
    must(cuLaunchHostFunc(stream, stand_at_gate, gate));
}

void await_gate(struct gate *gate)
{
    while (!atomic_load_explicit(&gate->entered, memory_order_acquire))
        nap();
}

void open_gate(struct gate *gate)
{
    atomic_store_explicit(&gate->open, true, memory_order_release);
}
