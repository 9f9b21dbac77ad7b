// SPDX-License-Identifier: Apache-2.0
// A tool that listens hears a range for each frame and, inside, one for each node by its name: as
// it is queued on streams, and as it is added to a driver graph.
//
// tools_hear_names TOOL LISTENER: a process has one tool, so each runs by itself. TOOL is nvtx, or
// a listener that homeless knows no domains; roctx, or rocm, where its library is in the process
// for itself alone; both; or one that hears nothing: nobody, missing, refuses, endless.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/owner.h"
#include <braid/braid.h>

typedef const char *take_function(void);

static const char *backend;
static take_function *take, *get_domain;
static bool listens, has_domain;

static bool is_one_of(const char *tool, const char *tools)
{
    return strstr(tools, tool) != NULL;
}

static void set_up(const char *tool, const char *listener)
{
    backend = is_one_of(tool, "roctx rocm") ? "hip" : "cuda";
    listens = is_one_of(tool, "nvtx homeless roctx rocm both");
    has_domain = is_one_of(tool, "nvtx");
    setenv("LISTENER", tool, 1);
    if (is_one_of(tool, "nvtx homeless refuses endless both"))
        setenv("NVTX_INJECTION64_PATH", listener, 1);
    else if (is_one_of(tool, "missing"))
        setenv("NVTX_INJECTION64_PATH", "/nowhere/listener.so", 1);
    // rocprof puts its library into the process; a program may have that of NVTX at hand, unused.
    void *library =
        dlopen(listener, RTLD_NOW | (is_one_of(tool, "roctx both") ? RTLD_GLOBAL : RTLD_LOCAL));
    union {
        void *address;
        take_function *function;
    } found = { library ? dlsym(library, "listener_take") : NULL },
      domain = { library ? dlsym(library, "listener_domain") : NULL };
    take = found.function;
    get_domain = domain.function;
}

static void check_heard(const char *expected)
{
    assert_string_equal(take(), listens ? expected : "");
}

static braid_graph *make_graph(uint32_t *words)
{
    braid_graph *graph = own_graph();
    braid_node clear;
    check_ok(braid_graph_add_fill(
        graph,
        &(braid_fill){ .node.name = "clear", .to = words, .value_bytes = 4, .num_values = 4 },
        &clear));
    check_ok(braid_graph_add_fill(graph,
                                  &(braid_fill){ BRAID_AFTER(clear), .node.name = "mark",
                                                 .to = words, .value_bytes = 4, .num_values = 1 },
                                  NULL));
    return graph;
}

static void check_graph(braid_device *device, const braid_graph *graph)
{
    const braid_exec_options options = { .mode = BRAID_MODE_GRAPH };
    braid_exec *exec = own_exec(device, graph, &options);
    check_heard("clear()mark()");
    check_ok(braid_exec_launch(exec, NULL));
    check_heard("braid frame()");
}

static void frames_and_nodes_have_names(void **state)
{
    (void)state;
    braid_device *device = own_device(backend);
    void *words = own_memory(device, BRAID_MEMORY_DEVICE, 16);
    braid_graph *graph = make_graph(words);
    (void)take();
    const braid_exec_options options = { .mode = BRAID_MODE_STREAMS };
    braid_exec *exec = own_exec(device, graph, &options);
    for (int i = 0; i < 2; i++)
        check_ok(braid_exec_launch(exec, NULL));
    check_heard("braid frame(clear()mark())braid frame(clear()mark())");
    destroy_now(exec);
    if (strcmp(backend, "hip") != 0) // which has no driver graphs
        check_graph(device, graph);
    exec = own_exec(device, graph,
                    &(braid_exec_options){ .mode = BRAID_MODE_STREAMS, .frames_in_flight = 2 });
    check_ok(braid_exec_launch(exec, NULL));
    check_heard("braid frame(clear()mark())");
    destroy_owned();
    assert_string_equal(get_domain(), has_domain ? "Braid" : "");
}

static braid_status refuse(braid_device *device, braid_stream *stream, void *user)
{
    (void)device;
    (void)stream;
    (void)user;
    return BRAID_UNSUPPORTED;
}

static void a_frame_that_fails_ends_its_ranges(void **state)
{
    (void)state;
    static const char *const names[] = { "refuse", NULL };
    static const char *const heard[] = { "braid frame(refuse())", "braid frame(queue call())" };
    const braid_exec_options options = { .mode = BRAID_MODE_STREAMS };
    braid_device *device = own_device(backend);
    for (int i = 0; i < 2; i++) {
        braid_graph *graph = own_graph();
        check_ok(braid_graph_add_queue_call(
            graph, &(braid_queue_call){ .node.name = names[i], .call = refuse }, NULL));
        braid_exec *exec = own_exec(device, graph, &options);
        (void)take();
        assert_int_equal(braid_exec_launch(exec, NULL), BRAID_UNSUPPORTED);
        check_heard(heard[i]);
    }
}

// A program of both vendors' devices, each of which has a tool that listens.
static void two_tools_both_hear(void **state)
{
    (void)state;
    const braid_exec_options options = { .mode = BRAID_MODE_STREAMS };
    braid_device *first = own_device("cuda");
    own_device("hip");
    braid_graph *graph = make_graph(own_memory(first, BRAID_MEMORY_DEVICE, 16));
    braid_exec *exec = own_exec(first, graph, &options);
    (void)take();
    check_ok(braid_exec_launch(exec, NULL));
    check_heard("braid frame(braid frame(clear(clear())mark(mark())))");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        owning_test(frames_and_nodes_have_names),
        owning_test(a_frame_that_fails_ends_its_ranges),
    };
    if (argc != 3)
        return 2;
    set_up(argv[1], argv[2]);
    if (!take)
        return 2;
    const struct CMUnitTest of_two[] = { owning_test(two_tools_both_hear) };
    if (strcmp(argv[1], "both") == 0)
        return cmocka_run_group_tests_name("tools_hear_names", of_two, NULL, NULL);
    return cmocka_run_group_tests_name("tools_hear_names", tests, NULL, NULL);
}
