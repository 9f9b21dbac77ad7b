// SPDX-License-Identifier: Apache-2.0
// Defects of AMD's 5.2.3 that a backend must steer clear of, each shown in a process of its own.
//
// Started with the name of a defect, this program walks into it; without, it starts itself so and
// looks at how the process ended.
#include "probe.h"

#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static const char *program_path;

// A bundle's beginning, and its only entry. Numbers are little-endian.
struct bundle {
    char magic[24];
    uint64_t num_entries;
    uint64_t offset;
    uint64_t num_bytes;
    uint64_t id_bytes;
    char id[40];
};

// hipModuleLoadData of a bundle that has code for other GPUs only.
static void load_a_bundle_without_the_architecture(void)
{
    static struct bundle bundle = {
        .magic = "__CLANG_OFFLOAD_BUNDLE__",
        .num_entries = 1,
        .offset = sizeof(bundle),
        .id = "hipv4-amdgcn-amd-amdhsa--gfx906",
    };
    bundle.id_bytes = strlen(bundle.id);
    hipModule_t module = NULL;
    hipError_t error = hip.hipModuleLoadData(&module, &bundle);
    printf("hipModuleLoadData returned %d\n", (int)error);
}

// hipFreeAsync, then hipStreamDestroy.
static void destroy_a_stream_after_an_asynchronous_free(void)
{
    hipStream_t stream = NULL;
    void *device = NULL;
    if (hip.hipStreamCreateWithFlags(&stream, hipStreamNonBlocking) != hipSuccess ||
        hip.hipMallocAsync(&device, 4096, stream) != hipSuccess ||
        hip.hipFreeAsync(device, stream) != hipSuccess ||
        hip.hipStreamSynchronize(stream) != hipSuccess)
        exit(1);
    // The loop never ends, so any time will do.
    alarm(1);
    hip.hipStreamDestroy(stream);
    printf("hipStreamDestroy returned\n");
}

struct defect {
    const char *name;
    void (*walk_into)(void);
    int ending_signal;
};

static const struct defect defects[] = {
    { "bundle", load_a_bundle_without_the_architecture, SIGABRT },
    { "free_async", destroy_a_stream_after_an_asynchronous_free, SIGALRM },
};

static int start_and_wait(const char *argument)
{
    char *arguments[] = { (char *)(uintptr_t)program_path, (char *)(uintptr_t)argument, NULL };
    pid_t child;
    int status = 0;
    assert_int_equal(posix_spawn(&child, program_path, NULL, NULL, arguments, environ), 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void assert_defect(const struct defect *defect)
{
    if (probe_rocm_version >= ROCM_5_3) {
        print_message("SKIP: the defect was mended after ROCm 5.2\n");
        skip();
    }
    int status = start_and_wait(defect->name);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), defect->ending_signal);
}

static void a_bundle_without_the_architecture_aborts_the_process(void **state)
{
    (void)state;
    assert_defect(&defects[0]);
}

static void destroying_a_stream_after_an_asynchronous_free_never_ends(void **state)
{
    (void)state;
    assert_defect(&defects[1]);
}

// In ROCm 5.2 the header declares it.
static void launching_a_host_function_is_not_exported(void **state)
{
    (void)state;
    assert_true(probe_rocm_version >= ROCM_5_3 || !hip.hipLaunchHostFunc);
}

static int walk_into(const char *name)
{
    for (size_t i = 0; i < sizeof(defects) / sizeof(defects[0]); i++) {
        if (strcmp(defects[i].name, name) == 0) {
            defects[i].walk_into();
            return 0;
        }
    }
    return 1;
}

int main(int num_arguments, char **arguments)
{
    program_path = arguments[0];
    int status = probe_open();
    if (status)
        return status;
    if (num_arguments > 1)
        return walk_into(arguments[1]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_bundle_without_the_architecture_aborts_the_process),
        cmocka_unit_test(destroying_a_stream_after_an_asynchronous_free_never_ends),
        cmocka_unit_test(launching_a_host_function_is_not_exported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
