// SPDX-License-Identifier: Apache-2.0
// On the CPU a finding says where an audit may have missed accesses, and none says so where it has
// seen all.
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "audit/audit_testing.h"
#include "audit/node_thread.h"

static int open_site(void **state)
{
    int opened = open_audited(state);
    node_thread_open();
    return opened;
}

static int close_site(void **state)
{
    node_thread_close();
    return close_audited(state);
}

// A node that declares the bytes of words, and runs behind those added before.
static void add_call(braid_host_function *call, uint64_t bytes, braid_access_mode mode)
{
    braid_resource part;
    check_ok(braid_graph_add_range(audited.graph, audited.buffer, 0, bytes, &part));
    check_ok(braid_graph_add_host_call(
        audited.graph,
        &(braid_host_call){ BRAID_ACCESSES({ part, mode }), .call = call, .user = audited.words },
        NULL));
}

static void check_kinds(size_t num, const braid_audit_kind *kinds)
{
    audit(audited.device, audited.graph, &audited.findings);
    for (size_t i = 0; i < num && i < audited.findings.num; i++)
        assert_int_equal(audited.findings.items[i].told.kind, kinds[i]);
    assert_int_equal(audited.findings.num, num);
}
#define CHECK_KINDS(...)                                                                           \
    check_kinds(sizeof((const braid_audit_kind[]){ __VA_ARGS__ }) / sizeof(braid_audit_kind),      \
                (const braid_audit_kind[]){ __VA_ARGS__ })

static void write_word(void *words)
{
    *(volatile uint32_t *)words = 7;
}

static void *write_on_thread(void *words)
{
    ((volatile uint32_t *)words)[0] = 1;
    return NULL;
}

static void write_on_two_threads(void *words)
{
    node_thread_run(write_on_thread, words);
    ((volatile uint32_t *)words)[0] = 2;
}

// The node's own thread might have written it meanwhile.
static void write_on_other_thread(void *words)
{
    node_thread_run(write_on_thread, words);
}

static void threads_that_share_a_page_may_hide_accesses(void **state)
{
    (void)state;
#if defined(UNDER_TSAN)
    skip_because("the thread sanitizer uses memory of its own where a thread faults");
#endif
    add_call(write_on_two_threads, 64, BRAID_WRITE);
    add_call(write_on_other_thread, 64, BRAID_WRITE);
    add_call(write_word, 64, BRAID_WRITE);
    CHECK_KINDS(BRAID_AUDIT_UNSEEN, BRAID_AUDIT_UNSEEN);
    assert_int_equal(audited.findings.items[0].told.node.index, 0);
    assert_int_equal(audited.findings.items[1].told.node.index, 1);
}

static void threads_hide_nothing_where_all_is_declared(void **state)
{
    (void)state;
#if defined(UNDER_TSAN)
    skip_because("the thread sanitizer uses memory of its own where a thread faults");
#endif
    add_call(write_on_two_threads, PAGE, BRAID_WRITE);
    check_kinds(0, NULL);
}

static void *read_beside(void *words)
{
    (void)((volatile uint32_t *)words)[100];
    return NULL;
}

static void read_beside_a_thread(void *words)
{
    node_thread_run(read_beside, words);
    (void)((volatile uint32_t *)words)[0];
}

// The buffer has a part of its page, and no other buffer has the rest.
static void threads_may_hide_reads_of_what_is_only_written(void **state)
{
    (void)state;
#if defined(UNDER_TSAN)
    skip_because("the thread sanitizer uses memory of its own where a thread faults");
#endif
    static _Alignas(PAGE) uint32_t words[PAGE / sizeof(uint32_t)];
    braid_resource buffer;
    check_ok(braid_graph_add_buffer(audited.graph, "beside", words, 64, &buffer));
    check_ok(
        braid_graph_add_host_call(audited.graph,
                                  &(braid_host_call){ BRAID_ACCESSES({ buffer, BRAID_WRITE }),
                                                      .call = read_beside_a_thread, .user = words },
                                  NULL));
    CHECK_KINDS(BRAID_AUDIT_READS, BRAID_AUDIT_UNSEEN);
}

static void read_word(void *words)
{
    (void)*(volatile uint32_t *)words;
}

static void memory_that_only_allows_to_read_is_not_seen(void **state)
{
    (void)state;
    add_call(read_word, 64, BRAID_READ);
    assert_int_equal(mprotect(audited.words, PAGE, PROT_READ), 0);
    CHECK_KINDS(BRAID_AUDIT_UNSEEN);
    assert_int_equal(mprotect(audited.words, PAGE, PROT_READ | PROT_WRITE), 0);
    const struct finding *found = &audited.findings.items[0];
    assert_int_equal(found->told.resource.index, audited.buffer.index);
    assert_int_equal(found->told.node.graph, 0);
    assert_string_equal(found->text,
                        "'words' is not audited in full: it has pages that only allow to read, or "
                        "with data or the stack of a thread");
}

// Other processes, a second mapping and calls with the file reach it, also later.
static void memory_of_a_file_is_not_seen(void **state)
{
    (void)state;
    int file = memfd_create("words", 0);
    assert_true(file >= 0);
    assert_int_equal(ftruncate(file, PAGE), 0);
    void *mapped = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    assert_true(mapped != MAP_FAILED);
    braid_resource buffer;
    check_ok(braid_graph_add_buffer(audited.graph, "mapped", mapped, PAGE, &buffer));
    add_call(read_word, 64, BRAID_READ);
    CHECK_KINDS(BRAID_AUDIT_UNSEEN);
    assert_int_equal(audited.findings.items[0].told.resource.index, buffer.index);
    assert_string_equal(audited.findings.items[0].text,
                        "'mapped' is not audited in full: it has memory that files, other "
                        "processes or addresses may share");
    munmap(mapped, PAGE);
    close(file);
}

static void open_words(int number)
{
    (void)number;
    mprotect(audited.words, PAGE, PROT_READ | PROT_WRITE);
}

static void set_handler_and_write(void *words)
{
    signal(SIGSEGV, open_words);
    write_word(words);
}

// For the next node the audit's handler is there again, and the page is closed.
static void a_handler_set_by_a_node_may_hide_accesses(void **state)
{
    (void)state;
#if defined(UNDER_TSAN)
    skip_because("the thread sanitizer calls handlers later");
#endif
    signal(SIGSEGV, SIG_DFL);
    add_call(set_handler_and_write, 4, BRAID_EXCLUSIVE);
    add_call(write_word, 4, BRAID_READ);
    audit(audited.device, audited.graph, &audited.findings);
    signal(SIGSEGV, SIG_DFL);
    assert_int_equal(audited.findings.num, 2);
    assert_int_equal(audited.findings.items[0].told.kind, BRAID_AUDIT_UNSEEN);
    assert_int_equal(audited.findings.items[0].told.node.index, 0);
    assert_int_equal(audited.findings.items[1].told.kind, BRAID_AUDIT_WRITES);
    assert_int_equal(audited.findings.items[1].told.node.index, 1);
}

static void write_in_child(void *words)
{
    pid_t child = fork();
    int status = 0;
    if (child == 0) {
        *(volatile uint32_t *)words = 8;
        _exit(*(volatile uint32_t *)words != 8);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void a_node_that_makes_a_child_is_named(void **state)
{
    (void)state;
#if defined(UNDER_TSAN)
    skip_because("the child of a program with threads cannot start any under the sanitizer");
#endif
    add_call(write_in_child, 4, BRAID_EXCLUSIVE);
    CHECK_KINDS(BRAID_AUDIT_UNSEEN);
    assert_int_equal(*audited.words, 0); // the child wrote a copy of its own
    void *shared = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    braid_resource buffer;
    assert_true(shared != MAP_FAILED);
    check_ok(braid_graph_add_buffer(audited.graph, "shared", shared, PAGE, &buffer));
    check_ok(
        braid_graph_add_host_call(audited.graph,
                                  &(braid_host_call){ BRAID_ACCESSES({ buffer, BRAID_EXCLUSIVE }),
                                                      .call = write_in_child, .user = shared },
                                  NULL));
    CHECK_KINDS(BRAID_AUDIT_UNSEEN, BRAID_AUDIT_UNSEEN, BRAID_AUDIT_UNSEEN);
    assert_int_equal(*(uint32_t *)shared, 8);
    munmap(shared, PAGE);
}

enum { NODES = 4 };
static atomic_bool has_ended;

static void *fork_often(void *words)
{
    do {
        write_in_child(words);
    } while (!atomic_load(&has_ended));
    return NULL;
}

static void write_often(void *words)
{
    for (int i = 0; i < 10000; i++)
        ((volatile uint32_t *)words)[i % 2] = 1;
}

// A child has no thread that ends the step which another thread of its parent makes.
static void a_child_does_not_wait_for_threads_of_its_parent(void **state)
{
    (void)state;
#if defined(UNDER_TSAN)
    skip_because("the child of a program with threads cannot start any under the sanitizer");
#endif
    pthread_t thread;
    for (int i = 0; i < NODES; i++)
        add_call(write_often, 4, BRAID_EXCLUSIVE);
    atomic_store(&has_ended, false);
    assert_int_equal(pthread_create(&thread, NULL, fork_often, audited.words), 0);
    audit(audited.device, audited.graph, &audited.findings);
    atomic_store(&has_ended, true);
    pthread_join(thread, NULL);
    for (size_t i = 0; i < audited.findings.num; i++)
        assert_int_equal(audited.findings.items[i].told.kind, BRAID_AUDIT_WRITES);
    assert_int_equal(audited.findings.num, NODES);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_site, close_site)
    const struct CMUnitTest tests[] = {
        TEST(threads_that_share_a_page_may_hide_accesses),
        TEST(threads_hide_nothing_where_all_is_declared),
        TEST(threads_may_hide_reads_of_what_is_only_written),
        TEST(memory_that_only_allows_to_read_is_not_seen),
        TEST(memory_of_a_file_is_not_seen),
        TEST(a_handler_set_by_a_node_may_hide_accesses),
        TEST(a_node_that_makes_a_child_is_named),
        TEST(a_child_does_not_wait_for_threads_of_its_parent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
