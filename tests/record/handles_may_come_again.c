// SPDX-License-Identifier: Apache-2.0
// A thread knows handles that it used before. It asks again once any of them was destroyed, by
// whatever thread, and where a mark begins the record. Threads may end, and captures begin early.
#include "record/program.h"

#include <pthread.h>
#include <string.h>

enum { THREADS = 40, ROUNDS = 100, STREAMS = 12 };

#define HEAD ".version 7.8\n.target sm_90\n.address_size 64\n.visible .entry "

static const char *const names[] = { "odd", "even" };
static const char *const texts[] = { HEAD "odd()\n{\nret;\n}\n", HEAD "even()\n{\nret;\n}\n" };
static CUdeviceptr memory;

// ---- another thread destroys ----

static void *destroy_stream(void *stream)
{
    must(cuCtxSetCurrent(program.context));
    must(cuStreamDestroy_v2(stream));
    return NULL;
}

static void *unload_module(void *module)
{
    must(cuCtxSetCurrent(program.context));
    must(cuModuleUnload(module));
    return NULL;
}

static void elsewhere(void *(*work)(void *), void *argument)
{
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, work, argument), 0);
    pthread_join(thread, NULL);
}

// Handles of streams and functions come again soon, since their memory does.
static uint32_t renew_streams(void)
{
    uint32_t num_again = 0;
    CUstream before = NULL;
    for (int i = 0; i < ROUNDS; i++) {
        CUstream stream;
        must(cuStreamCreate(&stream, i % 2 ? CU_STREAM_NON_BLOCKING : CU_STREAM_DEFAULT));
        num_again += stream == before;
        launch_nothing(stream);
        must(cuStreamSynchronize(stream));
        elsewhere(destroy_stream, stream);
        before = stream;
    }
    return num_again;
}

static uint32_t renew_functions(void)
{
    uint32_t num_again = 0;
    CUfunction before = NULL;
    for (int i = 0; i < ROUNDS; i++) {
        CUmodule module;
        CUfunction function;
        must(cuModuleLoadData(&module, texts[i % 2]));
        must(cuModuleGetFunction(&function, module, names[i % 2]));
        num_again += function == before;
        must(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
        must(cuStreamSynchronize(NULL));
        elsewhere(unload_module, module);
        before = function;
    }
    return num_again;
}

// More streams than a thread knows, by turns.
static void launch_on_many(void)
{
    CUstream streams[STREAMS];
    for (int i = 0; i < STREAMS; i++)
        must(cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING));
    for (int i = 0; i < 3 * STREAMS; i++)
        launch_add(streams[i % STREAMS], memory, 1000 + (uint32_t)(i % STREAMS));
    for (int i = 0; i < STREAMS; i++) {
        must(cuStreamSynchronize(streams[i]));
        must(cuStreamDestroy_v2(streams[i]));
    }
}

static void *launch_once(void *unused)
{
    (void)unused;
    must(cuCtxSetCurrent(program.context));
    launch_add(NULL, memory, 2000);
    return NULL;
}

// ---- the record ----

static uint32_t number_of(const braid_record_work *work)
{
    uint32_t number = 0;
    memcpy(&number, (const char *)work->parameters + 8, sizeof(number));
    return number;
}

static void check(const braid_record_contents *contents)
{
    uint32_t num_streams = 0, num_nothing = 0, num_odd = 0, num_even = 0, num_threads = 0;
    uint32_t stream_of[STREAMS];
    memset(stream_of, 0xff, sizeof(stream_of));
    for (uint32_t i = 0; i < contents->num_operations; i++) {
        const braid_record_operation *row = &contents->operations[i];
        if (row->work.kind != BRAID_RECORD_KERNEL)
            continue;
        const char *name = contents->kernels[row->work.kernel].name;
        num_nothing += strcmp(name, "nothing") == 0;
        num_odd += strcmp(name, "odd") == 0;
        num_even += strcmp(name, "even") == 0;
        if (strcmp(name, "add") != 0 || number_of(&row->work) < 1000)
            continue;
        const uint32_t number = number_of(&row->work) - 1000;
        num_threads += number == 1000;
        if (number >= STREAMS)
            continue;
        assert_true(stream_of[number] == BRAID_RECORD_NONE || stream_of[number] == row->stream);
        stream_of[number] = row->stream;
    }
    // Each stream is its own, though the handle is the same, and has the kind that it was made
    // with.
    for (uint32_t i = 0; i < contents->num_streams; i++)
        num_streams += contents->streams[i].kind == BRAID_RECORD_BLOCKING;
    assert_int_equal(num_streams, ROUNDS / 2);
    assert_int_equal(num_nothing, ROUNDS);
    assert_int_equal(num_odd, ROUNDS / 2);
    assert_int_equal(num_even, ROUNDS / 2);
    assert_int_equal(num_threads, THREADS);
    assert_int_equal(contents->num_frames, 1);
}

static void handles_may_come_again(void **state)
{
    CUstream captured;
    CUgraph graph;
    size_t num = 0;
    (void)state;
    must(cuMemAlloc_v2(&memory, 64));
    must(cuStreamCreate(&captured, CU_STREAM_NON_BLOCKING));
    // What is captured is not launched, though the capture began where nothing is noted.
    must(cuStreamBeginCapture_v2(captured, CU_STREAM_CAPTURE_MODE_RELAXED));
    launch_nothing(captured);
    assert_true(braid_record_frame_mark());
    launch_nothing(captured);
    const uint32_t num_streams = renew_streams(), num_functions = renew_functions();
    print_message("summary: of %d handles %u of streams and %u of functions came again\n", ROUNDS,
                  num_streams, num_functions);
    launch_on_many();
    for (int i = 0; i < THREADS; i++)
        elsewhere(launch_once, NULL);
    must(cuStreamEndCapture(captured, &graph));
    assert_true(braid_record_frame_mark());
    launch_nothing(NULL); // the record is written
    must(cuGraphGetNodes(graph, NULL, &num));
    assert_int_equal(num, 2);
    check(open_own_record());
    close_own_record();
    must(cuGraphDestroy(graph));
    must(cuStreamDestroy_v2(captured));
    must(cuMemFree_v2(memory));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(handles_may_come_again) };
    return cmocka_run_group_tests(tests, open_program, close_program);
}
