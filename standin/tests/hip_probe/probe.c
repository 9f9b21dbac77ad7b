// SPDX-License-Identifier: Apache-2.0
// Opens the library a probe runs over, and compiles and launches kernels with it.
#include "probe.h"

#include <dlfcn.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct probe_functions hip;
int probe_rocm_version;

struct row {
    const char *name;
    size_t offset;
    bool optional;
};

#define REQUIRED(name) { #name, offsetof(struct probe_functions, name), false },
#define OPTIONAL(name) { #name, offsetof(struct probe_functions, name), true },
static const struct row rows[] = { PROBE_REQUIRED_FUNCTIONS(REQUIRED)
                                       PROBE_OPTIONAL_FUNCTIONS(OPTIONAL) };
#undef REQUIRED
#undef OPTIONAL

static bool load_functions(void *library)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        void *address = dlsym(library, rows[i].name);
        if (!address)
            printf("# %s is not in this library\n", rows[i].name);
        if (!address && !rows[i].optional)
            return false;
        memcpy((char *)&hip + rows[i].offset, &address, sizeof(address));
    }
    return true;
}

int probe_open(void)
{
    const char *reason = getenv("BRAID_PROBE_SKIP");
    if (reason) {
        printf("SKIP: %s\n", reason);
        return 77;
    }
    const char *name = getenv("BRAID_PROBE_LIBRARY");
    void *library = dlopen(name ? name : "libamdhip64.so.6", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        printf("SKIP: %s\n", dlerror());
        return 77;
    }
    int version = 0;
    int num_devices = 0;
    if (!load_functions(library))
        return 1;
    hipError_t error = hip.hipInit(0);
    if (error == hipSuccess)
        error = hip.hipGetDeviceCount(&num_devices);
    if (error == hipSuccess)
        error = hip.hipRuntimeGetVersion(&version);
    if (error != hipSuccess || num_devices < 1) {
        printf("FAIL: no device: error %d\n", (int)error);
        return 1;
    }
    probe_rocm_version = version / 100000; // 50221153 is 5.2, 60300000 is 6.3
    printf("# %s, version %d\n", name ? name : "libamdhip64.so.6", version);
    return 0;
}

int probe_run_tests(const char *name, const struct CMUnitTest *tests, size_t num_tests)
{
    int status = probe_open();
    if (status)
        return status;
    return _cmocka_run_group_tests(name, tests, num_tests, NULL, NULL);
}

void probe_check(hipError_t error, const char *call, const char *file, int line)
{
    if (error == hipSuccess)
        return;
    print_error("%s: %d %s\n", call, (int)error, hip.hipGetErrorName(error));
    _fail(file, line);
}

static void fail_with_log(hiprtcProgram program)
{
    size_t num_bytes = 0;
    hip.hiprtcGetProgramLogSize(program, &num_bytes);
    char *log = calloc(1, num_bytes + 1);
    if (log && hip.hiprtcGetProgramLog(program, log) == HIPRTC_SUCCESS)
        print_error("%s\n", log);
    free(log);
    fail();
}

static char *compile(const char *source, const char *architecture)
{
    const char *options[] = { architecture };
    hiprtcProgram program;
    size_t num_bytes = 0;
    assert_int_equal(hip.hiprtcCreateProgram(&program, source, "probe.hip", 0, NULL, NULL),
                     HIPRTC_SUCCESS);
    if (hip.hiprtcCompileProgram(program, 1, options) != HIPRTC_SUCCESS)
        fail_with_log(program);
    assert_int_equal(hip.hiprtcGetCodeSize(program, &num_bytes), HIPRTC_SUCCESS);
    char *code = malloc(num_bytes);
    assert_non_null(code);
    assert_int_equal(hip.hiprtcGetCode(program, code), HIPRTC_SUCCESS);
    assert_int_equal(hip.hiprtcDestroyProgram(&program), HIPRTC_SUCCESS);
    return code;
}

// Compiling takes most of a second, and the tests of one program compile few sources again and
// again.
struct compiled {
    const char *source;
    char *code;
};

static const char *compile_once(const char *source)
{
    static struct compiled cache[8];
    for (size_t i = 0; i < sizeof(cache) / sizeof(cache[0]); i++) {
        if (!cache[i].source)
            cache[i] = (struct compiled){ source, compile(source, "--offload-arch=gfx90a") };
        if (cache[i].source == source)
            return cache[i].code;
    }
    fail_msg("more sources than the cache has room for");
    return NULL;
}

hipModule_t probe_compile(const char *source)
{
    hipModule_t module = NULL;
    check(hip.hipModuleLoadData(&module, compile_once(source)));
    return module;
}

hipFunction_t probe_function(hipModule_t module, const char *name)
{
    hipFunction_t function = NULL;
    check(hip.hipModuleGetFunction(&function, module, name));
    return function;
}

hipStream_t probe_stream(void)
{
    hipStream_t stream = NULL;
    check(hip.hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
    return stream;
}

hipEvent_t probe_event(void)
{
    hipEvent_t event = NULL;
    check(hip.hipEventCreateWithFlags(&event, hipEventDisableTiming));
    return event;
}

void probe_launch(hipFunction_t function, hipStream_t stream, void **arguments)
{
    check(hip.hipModuleLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, arguments, NULL));
}

void *probe_pointer_argument(void **arguments, unsigned index)
{
    void *pointer;
    memcpy(&pointer, arguments[index], sizeof(pointer));
    return pointer;
}

static const char gate_source[] = "extern \"C\" __global__ void gate(volatile unsigned *flag)\n"
                                  "{\n"
                                  "    while (*flag == 0) {\n"
                                  "    }\n"
                                  "}\n";

void braid_standin_gate(const unsigned grid[3], const unsigned block[3], unsigned shared_bytes,
                        void **arguments);
void braid_standin_gate(const unsigned grid[3], const unsigned block[3], unsigned shared_bytes,
                        void **arguments)
{
    (void)grid;
    (void)block;
    (void)shared_bytes;
    unsigned *flag = probe_pointer_argument(arguments, 0);
    while (__atomic_load_n(flag, __ATOMIC_ACQUIRE) == 0)
        sched_yield();
}

struct probe_gate probe_gate_create(void)
{
    struct probe_gate gate = { .module = probe_compile(gate_source) };
    gate.function = probe_function(gate.module, "gate");
    check(hip.hipHostMalloc((void **)&gate.flag, sizeof(*gate.flag), hipHostMallocDefault));
    return gate;
}

void probe_gate_close(struct probe_gate *gate, hipStream_t stream)
{
    void *arguments[] = { &gate->flag };
    __atomic_store_n(gate->flag, 0, __ATOMIC_RELEASE);
    probe_launch(gate->function, stream, arguments);
}

void probe_gate_open(struct probe_gate *gate)
{
    __atomic_store_n(gate->flag, 1, __ATOMIC_RELEASE);
}

void probe_gate_destroy(struct probe_gate *gate)
{
    check(hip.hipHostFree(gate->flag));
    check(hip.hipModuleUnload(gate->module));
}
