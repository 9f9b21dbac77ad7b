// SPDX-License-Identifier: Apache-2.0
// On the CPU a node may make a process, whose system calls use data beside buffers.
#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

#include "audit/audit_testing.h"

#if defined(__x86_64__) && !defined(BRAID_INSTRUMENTED)

// In the page of a buffer, and behind it.
struct beside {
    uint32_t buffer[16];
    char text[8];
    char *args[4];
};

static struct beside *beside;
static int ends[2];

static int open_site(void **state)
{
    braid_resource buffer;
    open_audited(state);
    beside = map_pages(1);
    check_ok(braid_graph_add_buffer(audited.graph, "beside", beside->buffer, sizeof(beside->buffer),
                                    &buffer));
    return 0;
}

static int close_site(void **state)
{
    munmap(beside, PAGE);
    return close_audited(state);
}

static void audit_call(braid_host_function *call, braid_resource resource, void *user)
{
    check_ok(braid_graph_add_host_call(
        audited.graph,
        &(braid_host_call){ BRAID_ACCESSES({ resource, BRAID_WRITE }), .call = call, .user = user },
        NULL));
    audit(audited.device, audited.graph, &audited.findings);
    if (audited.findings.lacks_calls)
        skip_because("the system hands no calls over");
}

// How a child ends, as wait() tells.
static int run_child(void (*act)(void))
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        act();
        _exit(77);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static const char makes_child[] =
    "node 0 'host call' is not audited: it makes a thread or a process";

// Only the system uses the page.
static void read_text_and_begin_a_program(void)
{
    if (read(ends[0], beside->text, 5) != 5)
        _exit(78);
    execv("/bin/sh", beside->args);
}

static void let_child_read(void *words)
{
    *(volatile uint32_t *)words = 1;
    assert_int_equal(write(ends[1], "exit", 5), 5);
    assert_int_equal(run_child(read_text_and_begin_a_program), 0);
}

static void calls_of_a_child_use_data_beside_a_buffer(void **state)
{
    (void)state;
    beside->args[0] = (char *)"sh";
    beside->args[1] = (char *)"-c";
    beside->args[2] = beside->text;
    assert_int_equal(pipe(ends), 0);
    audit_call(let_child_read, audited.buffer, audited.words);
    close(ends[0]);
    close(ends[1]);
    assert_int_equal(audited.findings.num, 1);
    assert_string_equal(audited.findings.items[0].text, makes_child);
}

// The child's memory is the parent's.
static void make_process(void *words)
{
    *(volatile uint32_t *)words = 1;
    pid_t child = vfork();
    if (child == 0) {
        execv("/bin/sh", beside->args);
        _exit(77);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(WEXITSTATUS(status), 3);
}

static void a_node_whose_child_uses_its_memory_is_named(void **state)
{
    (void)state;
    strcpy(beside->text, "exit 3");
    beside->args[0] = (char *)"sh";
    beside->args[1] = (char *)"-c";
    beside->args[2] = beside->text;
    audit_call(make_process, audited.buffer, audited.words);
    assert_int_equal(audited.findings.num, 1);
    assert_string_equal(audited.findings.items[0].text, makes_child);
}

static uint32_t *shared;

static void write_shared(void)
{
    *(volatile uint32_t *)shared = 5;
    _exit(0);
}

static void let_child_write(void *user)
{
    (void)user;
    assert_int_equal(run_child(write_shared), 0);
}

// Nobody knows that the node never writes them.
static void what_a_child_may_have_written_counts_as_written(void **state)
{
    braid_resource buffer;
    (void)state;
    shared = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(shared != MAP_FAILED);
    check_ok(braid_graph_add_buffer(audited.graph, "shared", shared, PAGE, &buffer));
    audit_call(let_child_write, buffer, NULL);
    assert_int_equal(*shared, 5);
    munmap(shared, PAGE);
    assert_int_equal(audited.findings.num, 2); // the buffer, and the node
    for (int i = 0; i < 2; i++)
        assert_int_equal(audited.findings.items[i].told.kind, BRAID_AUDIT_UNSEEN);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_site, close_site)
    const struct CMUnitTest tests[] = {
        TEST(calls_of_a_child_use_data_beside_a_buffer),
        TEST(a_node_whose_child_uses_its_memory_is_named),
        TEST(what_a_child_may_have_written_counts_as_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
    skip_program("audits need x86-64, and sanitizers make calls of their own in children");
}

#endif
