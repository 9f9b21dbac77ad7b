// SPDX-License-Identifier: Apache-2.0
// An audit answers the faults of threads that use data in a buffer's page, of an access that
// reaches into the next buffer, of a program that mends its own faults, and of threads that learn
// of their fault late. Another thread's audit waits until it has ended.
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <time.h>

#include "audit/audit_testing.h"

enum { NUM_AUDITS = 200 };

struct site {
    braid_device *device;
    braid_graph *graph;
    uint32_t *page; // the buffers'
};

static int open_site(void **state)
{
    static struct site site;
    check_ok(braid_device_open(&(braid_device_options){ .backend = "cpu" }, &site.device));
    check_ok(braid_graph_create(&site.graph));
    site.page = map_pages(1);
    *state = &site;
    return 0;
}

static int close_site(void **state)
{
    struct site *site = *state;
    braid_graph_destroy(site->graph);
    check_ok(braid_device_close(site->device));
    munmap(site->page, PAGE);
    return 0;
}

static void add_call(const struct site *site, braid_host_function *call, braid_node_options node)
{
    check_ok(braid_graph_add_host_call(
        site->graph, &(braid_host_call){ .node = node, .call = call, .user = site->page }, NULL));
}

struct neighbour {
    atomic_uint *word; // in the buffer's page
    atomic_bool stops;
};

static void *use_neighbour(void *user)
{
    struct neighbour *neighbour = user;
    while (!atomic_load(&neighbour->stops))
        atomic_fetch_add(neighbour->word, 1);
    return NULL;
}

static void write_word(void *user)
{
    *(volatile uint32_t *)user = 7;
}

static void data_beside_a_buffer_may_be_used(void **state)
{
    struct site *site = *state;
#if defined(UNDER_TSAN)
    skip_because("the thread sanitizer holds a lock of its own where the thread faults");
#endif
    skip_without_audits();
    braid_resource buffer;
    struct neighbour neighbour = { .word = (atomic_uint *)&site->page[100] };
    pthread_t thread;
    check_ok(braid_graph_add_buffer(site->graph, "buffer", site->page, 64, &buffer));
    const braid_access uses[] = { { buffer, BRAID_WRITE } };
    add_call(site, write_word, (braid_node_options){ .accesses = uses, .num_accesses = 1 });
    assert_int_equal(pthread_create(&thread, NULL, use_neighbour, &neighbour), 0);
    for (int i = 0; i < NUM_AUDITS; i++) {
        struct findings findings;
        unsigned before = atomic_load(neighbour.word);
        audit(site->device, site->graph, &findings);
        while (atomic_load(neighbour.word) == before)
            sched_yield();
    }
    atomic_store(&neighbour.stops, true);
    pthread_join(thread, NULL);
    assert_int_equal(site->page[0], 7);
}

static void read_both(void *user)
{
    (void)*(volatile uint64_t *)user;
}

static void an_access_may_reach_the_next_buffer(void **state)
{
    struct site *site = *state;
    skip_without_audits();
    braid_resource first, second;
    struct findings findings;
    check_ok(braid_graph_add_buffer(site->graph, "first", site->page, 4, &first));
    check_ok(braid_graph_add_buffer(site->graph, "second", site->page + 1, 4, &second));
    const braid_access uses[] = { { first, BRAID_READ }, { second, BRAID_READ } };
    add_call(site, read_both, (braid_node_options){ .accesses = uses, .num_accesses = 2 });
    audit(site->device, site->graph, &findings);
    assert_int_equal(findings.num, 0);
}

static uint32_t *closed;

static void open_closed(int number)
{
    (void)number;
    mprotect(closed, PAGE, PROT_READ | PROT_WRITE);
}

static void write_closed_and_own(void *own)
{
    *(volatile uint32_t *)closed = 1;
    *(volatile uint32_t *)own = 7;
}

// Behind the handler the pages of buffers are closed again, so that the write is seen.
static void a_handler_of_the_program_may_mend_its_fault(void **state)
{
    struct site *site = *state;
#if defined(UNDER_TSAN)
    skip_because("the thread sanitizer calls handlers later");
#endif
    skip_without_audits();
    braid_resource buffer;
    struct findings findings;
    closed = map_pages(1);
    mprotect(closed, PAGE, PROT_NONE);
    signal(SIGSEGV, open_closed);
    check_ok(braid_graph_add_buffer(site->graph, "buffer", site->page, 64, &buffer));
    const braid_access uses[] = { { buffer, BRAID_WRITE } };
    add_call(site, write_closed_and_own,
             (braid_node_options){ .accesses = uses, .num_accesses = 1 });
    audit(site->device, site->graph, &findings);
    signal(SIGSEGV, SIG_DFL);
    assert_int_equal(findings.num, 0);
    assert_int_equal(closed[0], 1);
    munmap(closed, PAGE);
}

// Another thread, in a handler of its own fault while a node runs.
static struct {
    sem_t begins, is_inside, ends;
    uint32_t *counted; // beside the buffer
} guard;

static void mend_behind_node(int number)
{
    open_closed(number);
    ++*(volatile uint32_t *)guard.counted;
    sem_post(&guard.is_inside);
    sem_wait(&guard.ends);
    ++*(volatile uint32_t *)guard.counted;
}

static void *fault_once(void *user)
{
    sem_wait(&guard.begins);
    *(volatile uint32_t *)closed = 1;
    return user;
}

static void read_during_handler(void *user)
{
    sem_post(&guard.begins);
    sem_wait(&guard.is_inside);
    (void)*(volatile uint32_t *)user;
}

static void end_handler(void *user)
{
    (void)user;
    sem_post(&guard.ends);
}

// No page is open for the handler, which uses data of a closed one. It does so during the first
// node, whose accesses might be hidden by its own.
static void a_handler_on_another_thread_hides_no_access(void **state)
{
    struct site *site = *state;
#if defined(UNDER_TSAN)
    skip_because("the thread sanitizer calls handlers later");
#endif
    skip_without_audits();
    braid_resource buffer;
    struct findings findings;
    pthread_t thread;
    closed = map_pages(1);
    mprotect(closed, PAGE, PROT_NONE);
    guard.counted = site->page + 512;
    assert_int_equal(sem_init(&guard.begins, 0, 0) | sem_init(&guard.is_inside, 0, 0) |
                         sem_init(&guard.ends, 0, 0),
                     0);
    signal(SIGSEGV, mend_behind_node);
    check_ok(braid_graph_add_buffer(site->graph, "buffer", site->page, 64, &buffer));
    add_call(site, read_during_handler, (braid_node_options){ 0 });
    add_call(site, write_word, (braid_node_options){ 0 });
    add_call(site, end_handler, (braid_node_options){ 0 });
    assert_int_equal(pthread_create(&thread, NULL, fault_once, NULL), 0);
    audit(site->device, site->graph, &findings);
    pthread_join(thread, NULL);
    signal(SIGSEGV, SIG_DFL);
    assert_true(findings.num >= 3); // the handler may go on during the last node
    assert_int_equal(findings.items[0].told.kind, BRAID_AUDIT_READS);
    assert_int_equal(findings.items[1].told.kind, BRAID_AUDIT_UNSEEN);
    assert_int_equal(findings.items[2].told.kind, BRAID_AUDIT_WRITES);
    assert_int_equal(findings.items[2].told.node.index, 1);
    assert_int_equal(*guard.counted, 2);
    assert_int_equal(site->page[0], 7);
    munmap(closed, PAGE);
    sem_destroy(&guard.begins);
    sem_destroy(&guard.is_inside);
    sem_destroy(&guard.ends);
}

// A thread with a fault that it has not been told of.
struct late_thread {
    sem_t is_ready, begins;
    atomic_bool was_told;
};

static struct late_thread late;

static void note_fault(int number)
{
    (void)number;
    atomic_store(&late.was_told, true);
}

static void *learn_late(void *user)
{
    (void)user;
    sigset_t faults;
    sigemptyset(&faults);
    sigaddset(&faults, SIGSEGV);
    pthread_sigmask(SIG_BLOCK, &faults, NULL);
    sem_post(&late.is_ready);
    sem_wait(&late.begins);
    nanosleep(&(struct timespec){ .tv_nsec = 50000000 }, NULL); // so that an audit could end before
    pthread_sigmask(SIG_UNBLOCK, &faults, NULL);
    return NULL;
}

static void let_learn(void *user)
{
    (void)user;
    sem_post(&late.begins);
}

static void an_audit_ends_behind_the_faults_of_all_threads(void **state)
{
    struct site *site = *state;
#if defined(UNDER_TSAN)
    skip_because("the thread sanitizer calls handlers later");
#endif
    skip_without_audits();
    struct findings findings;
    pthread_t thread;
    assert_int_equal(sem_init(&late.is_ready, 0, 0) | sem_init(&late.begins, 0, 0), 0);
    signal(SIGSEGV, note_fault);
    add_call(site, let_learn, (braid_node_options){ 0 });
    assert_int_equal(pthread_create(&thread, NULL, learn_late, NULL), 0);
    sem_wait(&late.is_ready);
    assert_int_equal(pthread_kill(thread, SIGSEGV), 0);
    audit(site->device, site->graph, &findings);
    assert_true(atomic_load(&late.was_told));
    signal(SIGSEGV, SIG_DFL);
    pthread_join(thread, NULL);
    sem_destroy(&late.is_ready);
    sem_destroy(&late.begins);
}

// An audit by another thread, which begins while one runs.
struct second {
    struct site site;
    sem_t begins;
    struct findings findings;
};

static void *audit_second(void *user)
{
    struct second *second = user;
    sem_wait(&second->begins);
    audit_frames(second->site.device, second->site.graph, true, &second->findings);
    return NULL;
}

static void let_begin(void *user)
{
    struct second *second = user;
    sem_post(&second->begins);
    nanosleep(&(struct timespec){ .tv_nsec = 50000000 }, NULL); // so that it could read rights
}

static void write_eight(void *user)
{
    *(volatile uint32_t *)user = 8;
}

// Both have buffers in one page, which the first closes. The nodes of the second have no order.
static void two_audits_do_not_disturb_each_other(void **state)
{
    struct site *site = *state;
    skip_without_audits();
    struct second second = { .site.page = site->page + 512 };
    struct findings findings;
    braid_resource buffer;
    pthread_t thread;
    check_ok(braid_device_open(&(braid_device_options){ .backend = "cpu" }, &second.site.device));
    check_ok(braid_graph_create(&second.site.graph));
    check_ok(braid_graph_add_buffer(site->graph, "first", site->page, 64, &buffer));
    check_ok(braid_graph_add_buffer(second.site.graph, "second", second.site.page, 64, &buffer));
    check_ok(braid_graph_add_host_call(
        site->graph, &(braid_host_call){ .call = let_begin, .user = &second }, NULL));
    add_call(&second.site, write_word, (braid_node_options){ 0 });
    add_call(&second.site, write_eight, (braid_node_options){ 0 });
    assert_int_equal(sem_init(&second.begins, 0, 0), 0);
    assert_int_equal(pthread_create(&thread, NULL, audit_second, &second), 0);
    audit(site->device, site->graph, &findings);
    pthread_join(thread, NULL);
    assert_int_equal(findings.num, 0);
    assert_int_equal(second.findings.num, 3);
    for (int i = 0; i < 3; i++)
        assert_int_equal(second.findings.items[i].told.kind,
                         i < 2 ? BRAID_AUDIT_WRITES : BRAID_AUDIT_ORDER);
    sem_destroy(&second.begins);
    braid_graph_destroy(second.site.graph);
    check_ok(braid_device_close(second.site.device));
}

// A thread with a buffer on its stack, which it uses all the time.
struct runner {
    _Atomic(uint32_t *) buffer;
    atomic_bool stops;
    int levels;
};

__attribute__((noinline)) static void run_deeper(struct runner *runner, int levels)
{
    volatile uint32_t room[16] = { 0 };
    if (levels)
        run_deeper(runner, levels - 1);
    else
        atomic_store(&runner->buffer, (uint32_t *)(uintptr_t)room);
    while (!atomic_load(&runner->stops))
        room[1]++;
}

static void *run_at_depth(void *user)
{
    struct runner *runner = user;
    run_deeper(runner, runner->levels);
    return NULL;
}

// The system could not tell it of a fault where the page of its stack is closed.
static void a_buffer_on_the_stack_of_a_thread_is_not_seen(void **state)
{
    struct site *site = *state;
#if defined(BRAID_INSTRUMENTED)
    skip_because("sanitizers may keep local variables elsewhere than on the stack");
#endif
    skip_without_audits();
    for (int levels = 0; levels < PAGE / 128; levels++) {
        struct runner runner = { .levels = levels };
        struct findings findings;
        braid_graph *graph;
        braid_resource buffer;
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, run_at_depth, &runner), 0);
        while (!atomic_load(&runner.buffer))
            sched_yield();
        check_ok(braid_graph_create(&graph));
        check_ok(braid_graph_add_buffer(graph, "local", runner.buffer, 64, &buffer));
        check_ok(braid_graph_add_host_call(
            graph, &(braid_host_call){ .call = write_word, .user = runner.buffer }, NULL));
        audit(site->device, graph, &findings);
        atomic_store(&runner.stops, true);
        pthread_join(thread, NULL);
        braid_graph_destroy(graph);
        assert_int_equal(findings.num, 1);
        assert_string_equal(findings.items[0].text,
                            "'local' is not audited in full: it has pages that only allow to read, "
                            "or with data or the stack of a thread");
    }
}

// A frame that is late while a node of an audit runs.
static struct {
    sem_t is_late, ends;
} late_frame;

static void note_late(uint64_t frame, const braid_running_node *nodes, size_t num, void *user)
{
    (void)frame, (void)nodes, (void)num, (void)user;
    sem_post(&late_frame.is_late);
}

static void await_end(void *user)
{
    (void)user;
    sem_wait(&late_frame.ends);
}

static void await_late(void *user)
{
    (void)user;
    sem_wait(&late_frame.is_late);
    nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL); // so that its thread could sleep
}

static void launch_late(braid_device *device, braid_exec **out_exec)
{
    braid_graph *graph;
    const braid_exec_options options = { .deadline_ns = 100000000, .on_deadline = note_late };
    check_ok(braid_graph_create(&graph));
    check_ok(braid_graph_add_host_call(graph, &(braid_host_call){ .call = await_end }, NULL));
    check_ok(braid_exec_create(device, graph, &options, out_exec));
    check_ok(braid_exec_launch(*out_exec, NULL));
    braid_graph_destroy(graph);
}

// Buffers lie before and behind each object of the exec. The system would refuse a lock there.
static void a_thread_of_deadlines_sleeps_beside_buffers(void **state)
{
    enum { NUM = 2000, BYTES = 40 };
    static void *memory[NUM];
    struct site *site = *state;
    struct findings findings;
    braid_device *device;
    braid_exec *exec;
#if defined(BRAID_INSTRUMENTED)
    skip_because("sanitizers keep data of their own in such pages");
#endif
    skip_without_audits();
    assert_int_equal(sem_init(&late_frame.is_late, 0, 0) | sem_init(&late_frame.ends, 0, 0), 0);
    check_ok(braid_device_open(&(braid_device_options){ .backend = "cpu" }, &device));
    for (int i = 0; i < NUM / 2; i++)
        memory[i] = malloc(BYTES);
    launch_late(device, &exec);
    for (int i = NUM / 2; i < NUM; i++)
        memory[i] = malloc(BYTES);
    for (int i = 0; i < NUM; i++) {
        char name[16];
        braid_resource buffer;
        snprintf(name, sizeof(name), "%d", i);
        check_ok(braid_graph_add_buffer(site->graph, name, memory[i], BYTES, &buffer));
    }
    add_call(site, await_late, (braid_node_options){ 0 });
    audit(site->device, site->graph, &findings);
    for (size_t i = 0; i < findings.num; i++) // an object of the audit's may lie in the same page
        assert_non_null(strstr(findings.items[i].text, "several threads use pages"));
    sem_post(&late_frame.ends);
    braid_exec_destroy(exec);
    check_ok(braid_device_close(device));
    for (int i = 0; i < NUM; i++)
        free(memory[i]);
    sem_destroy(&late_frame.is_late);
    sem_destroy(&late_frame.ends);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(data_beside_a_buffer_may_be_used, open_site, close_site),
        cmocka_unit_test_setup_teardown(an_access_may_reach_the_next_buffer, open_site, close_site),
        cmocka_unit_test_setup_teardown(a_handler_of_the_program_may_mend_its_fault, open_site,
                                        close_site),
        cmocka_unit_test_setup_teardown(a_handler_on_another_thread_hides_no_access, open_site,
                                        close_site),
        cmocka_unit_test_setup_teardown(an_audit_ends_behind_the_faults_of_all_threads, open_site,
                                        close_site),
        cmocka_unit_test_setup_teardown(two_audits_do_not_disturb_each_other, open_site,
                                        close_site),
        cmocka_unit_test_setup_teardown(a_thread_of_deadlines_sleeps_beside_buffers, open_site,
                                        close_site),
        cmocka_unit_test_setup_teardown(a_buffer_on_the_stack_of_a_thread_is_not_seen, open_site,
                                        close_site),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
