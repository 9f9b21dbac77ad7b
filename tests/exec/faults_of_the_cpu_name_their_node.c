// SPDX-License-Identifier: Apache-2.0
// The program's own handler of a fault on the CPU learns from the black box which node made it.
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <braid/braid.h>

#include "support/check.h"

static braid_exec *volatile at_work;

// Writes the names of the nodes that run to where the parent reads them, in a child that ends here.
static void tell(int number)
{
    braid_running_node nodes[4];
    size_t num = 0;
    (void)number;
    if (braid_exec_get_running(at_work, nodes, 4, &num))
        _exit(2);
    for (size_t i = 0; i < num && i < 4; i++) {
        if (write(STDOUT_FILENO, nodes[i].name, strlen(nodes[i].name)) < 0)
            _exit(3);
    }
    _exit(0);
}

static void pass(const braid_blocks *blocks, void *const *args)
{
    (void)blocks, (void)args;
}

__attribute__((no_sanitize("undefined"))) static void read_null(const braid_blocks *blocks,
                                                                void *const *args)
{
    (void)blocks;
    volatile int *volatile nothing = NULL;
    **(int *const *)args[0] = *nothing;
}

static void write_beyond(const braid_blocks *blocks, void *const *args)
{
    (void)blocks;
    (*(volatile char *const *)args[0])[0] = 1; // a page without access
}

__attribute__((no_sanitize("undefined"))) static void divide(const braid_blocks *blocks,
                                                             void *const *args)
{
    volatile int zero = 0;
    (void)blocks;
    **(int *const *)args[0] = 7 / zero;
#if !defined(__x86_64__)
    raise(SIGFPE); // elsewhere the quotient is 0
#endif
}

static void run_fault(braid_exec_mode mode, braid_cpu_function *fault, void *memory)
{
    const braid_kernel before = { .name = "before", .cpu = pass };
    const braid_kernel faulty = { .name = "faulty", .cpu = fault };
    const struct sigaction action = { .sa_handler = tell };
    braid_device *device;
    braid_graph *graph;
    braid_exec *exec;
    braid_node first, second;
    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGBUS, &action, NULL);
    sigaction(SIGFPE, &action, NULL);
    bool made = !braid_device_open(&(braid_device_options){ .backend = "cpu" }, &device) &&
                !braid_graph_create(&graph) &&
                !braid_graph_add_kernel(graph, &(braid_kernel_node){ .kernel = &before }, &first) &&
                !braid_graph_add_kernel(graph,
                                        &(braid_kernel_node){ .kernel = &faulty,
                                                              BRAID_AFTER(first),
                                                              BRAID_ARGS(BRAID_ARG(memory)) },
                                        &second) &&
                !braid_graph_add_kernel(
                    graph, &(braid_kernel_node){ .kernel = &before, BRAID_AFTER(second) }, NULL) &&
                !braid_exec_create(device, graph,
                                   &(braid_exec_options){ .mode = mode, .black_box = true }, &exec);
    if (!made)
        _exit(4);
    at_work = exec;
    if (!braid_exec_launch(exec, NULL) && !braid_exec_wait(exec))
        _exit(5);
    _exit(6);
}

static void check_fault(braid_cpu_function *fault)
{
    void *memory = mmap(NULL, 4096, fault == write_beyond ? PROT_NONE : PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (braid_exec_mode mode = BRAID_MODE_STREAMS; mode <= BRAID_MODE_GRAPH; mode++) {
        int ends[2], state = 0;
        char name[16] = "";
        assert_int_equal(pipe(ends), 0);
        pid_t child = fork();
        if (child == 0) {
            dup2(ends[1], STDOUT_FILENO);
            run_fault(mode, fault, memory);
        }
        close(ends[1]);
        assert_int_equal(waitpid(child, &state, 0), child);
        assert_true(WIFEXITED(state));
        assert_int_equal(WEXITSTATUS(state), 0);
        assert_true(read(ends[0], name, sizeof(name) - 1) > 0);
        assert_string_equal(name, "faulty");
        close(ends[0]);
    }
    munmap(memory, 4096);
}

static void a_read_of_null_names_its_node(void **state)
{
    (void)state;
    check_fault(read_null);
}

static void a_write_out_of_bounds_names_its_node(void **state)
{
    (void)state;
    check_fault(write_beyond);
}

static void a_division_by_zero_names_its_node(void **state)
{
    (void)state;
    check_fault(divide);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_read_of_null_names_its_node),
        cmocka_unit_test(a_write_out_of_bounds_names_its_node),
        cmocka_unit_test(a_division_by_zero_names_its_node),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
