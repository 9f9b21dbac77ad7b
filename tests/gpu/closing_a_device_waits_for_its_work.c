// SPDX-License-Identifier: Apache-2.0
// Closing a device waits for what Braid queued on the default stream, by whatever handle, and for
// host calls whose records it owns, on whatever stream. The argument names the backend.
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "braid/braid.h"
#include "support/check.h"

static const char *backend;
static atomic_bool ended;

// Long enough that a close which does not wait comes first.
static void end_late(void *user)
{
    (void)user;
    nanosleep(&(struct timespec){ .tv_nsec = 100 * 1000 * 1000 }, NULL);
    atomic_store(&ended, true);
}

static braid_device *open_device(void)
{
    braid_device *device = NULL;
    check_ok(braid_device_open(&(braid_device_options){ .backend = backend }, &device));
    atomic_store(&ended, false);
    return device;
}

// The driver's function of that name; the device keeps its library open.
static uintptr_t find(const char *name)
{
    const char *library = strcmp(backend, "cuda") == 0 ? "libcuda.so.1" : "libamdhip64.so.5";
    void *handle = dlopen(library, RTLD_NOW | RTLD_NOLOAD);
    assert_non_null(handle);
    void *function = dlsym(handle, name);
    assert_non_null(function);
    return (uintptr_t)function;
}

static void close_behind_call(braid_device *device, braid_stream *stream)
{
    check_ok(braid_stream_host_call(stream, end_late, NULL));
    braid_stream_destroy(stream);
    braid_device_close(device);
    assert_true(atomic_load(&ended));
}

static void on_the_default_stream(void **state)
{
    (void)state;
    braid_device *device = open_device();
    close_behind_call(device, braid_device_get_default_stream(device));
}

static void on_a_wrapped_null_stream(void **state)
{
    (void)state;
    braid_device *device = open_device();
    braid_stream *stream = NULL;
    check_ok(braid_stream_wrap(device, NULL, &stream));
    close_behind_call(device, stream);
}

static void on_the_null_streams_other_handle(void **state)
{
    (void)state;
    braid_device *device = open_device();
    braid_stream *stream = NULL;
    check_ok(braid_stream_wrap(device, (void *)1, &stream)); // CU_STREAM_LEGACY
    close_behind_call(device, stream);
}

// The record of the call, which the callback needs, goes with the device.
static void on_a_stream_of_the_program(void **state)
{
    (void)state;
    braid_device *device = open_device();
    int (*create)(void **, unsigned) = (int (*)(void **, unsigned))find("hipStreamCreateWithFlags");
    int (*destroy)(void *) = (int (*)(void *))find("hipStreamDestroy");
    void *handle = NULL;
    braid_stream *stream = NULL;
    assert_int_equal(create(&handle, 1), 0);
    check_ok(braid_stream_wrap(device, handle, &stream));
    close_behind_call(device, stream);
    assert_int_equal(destroy(handle), 0);
}

// Holds the primary context, as another library in the process would: where Braid's was the last
// reference, the driver itself waits for everything.
static int hold_context(void **state)
{
    (void)state;
    braid_device *device = open_device();
    int (*retain)(void **, int) = (int (*)(void **, int))find("cuDevicePrimaryCtxRetain");
    void *context = NULL;
    assert_int_equal(retain(&context, 0), 0);
    braid_device_close(device);
    return 0;
}

int main(int num_arguments, char **arguments)
{
    const struct CMUnitTest cuda[] = {
        cmocka_unit_test(on_the_default_stream),
        cmocka_unit_test(on_a_wrapped_null_stream),
        cmocka_unit_test(on_the_null_streams_other_handle),
    };
    const struct CMUnitTest hip[] = {
        cmocka_unit_test(on_the_default_stream),
        cmocka_unit_test(on_a_wrapped_null_stream),
        cmocka_unit_test(on_a_stream_of_the_program),
    };
    backend = num_arguments > 1 ? arguments[1] : "";
    if (strcmp(backend, "cuda") == 0)
        return cmocka_run_group_tests(cuda, hold_context, NULL);
    if (strcmp(backend, "hip") == 0)
        return cmocka_run_group_tests(hip, NULL, NULL);
    fprintf(stderr, "usage: %s cuda|hip\n", arguments[0]);
    return 1;
}
