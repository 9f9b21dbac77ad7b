// SPDX-License-Identifier: Apache-2.0
// An audit does no harm to a thread that uses data in the page of a buffer, whenever its faults are
// answered. And an access may reach into the buffer behind.
#include <pthread.h>
#include <signal.h>
#include <string.h>

#include "exec/audit_testing.h"

enum { NUM_AUDITS = 200 };

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
    (void)state;
#if defined(UNDER_TSAN)
    skip_because("the thread sanitizer holds a lock of its own where the thread faults");
#endif
    skip_without_audits();
    braid_device *device;
    braid_graph *graph;
    braid_resource buffer;
    uint32_t *page = map_pages(1);
    struct neighbour neighbour = { .word = (atomic_uint *)&page[100] };
    pthread_t thread;
    check_ok(braid_device_open(&(braid_device_options){ .backend = "cpu" }, &device));
    check_ok(braid_graph_create(&graph));
    check_ok(braid_graph_add_buffer(graph, "buffer", page, 64, &buffer));
    check_ok(braid_graph_add_host_call(
        graph,
        &(braid_host_call){
            .call = write_word, .user = page, BRAID_ACCESSES({ buffer, BRAID_WRITE }) },
        NULL));
    assert_int_equal(pthread_create(&thread, NULL, use_neighbour, &neighbour), 0);
    for (int i = 0; i < NUM_AUDITS; i++) {
        struct findings findings;
        unsigned before = atomic_load(neighbour.word);
        audit(device, graph, &findings);
        while (atomic_load(neighbour.word) == before)
            sched_yield();
    }
    atomic_store(&neighbour.stops, true);
    pthread_join(thread, NULL);
    assert_int_equal(page[0], 7);
    braid_graph_destroy(graph);
    check_ok(braid_device_close(device));
    munmap(page, PAGE);
}

static void read_both(void *user)
{
    (void)*(volatile uint64_t *)user;
}

static void an_access_may_reach_the_next_buffer(void **state)
{
    (void)state;
    skip_without_audits();
    braid_device *device;
    braid_graph *graph;
    braid_resource first, second;
    struct findings findings;
    uint32_t *page = map_pages(1);
    check_ok(braid_device_open(&(braid_device_options){ .backend = "cpu" }, &device));
    check_ok(braid_graph_create(&graph));
    check_ok(braid_graph_add_buffer(graph, "first", page, 4, &first));
    check_ok(braid_graph_add_buffer(graph, "second", page + 1, 4, &second));
    check_ok(braid_graph_add_host_call(
        graph,
        &(braid_host_call){ .call = read_both,
                            .user = page,
                            BRAID_ACCESSES({ first, BRAID_READ }, { second, BRAID_READ }) },
        NULL));
    audit(device, graph, &findings);
    assert_int_equal(findings.num, 0);
    braid_graph_destroy(graph);
    check_ok(braid_device_close(device));
    munmap(page, PAGE);
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
    (void)state;
#if defined(UNDER_TSAN)
    skip_because("the thread sanitizer calls handlers later");
#endif
    skip_without_audits();
    braid_device *device;
    braid_graph *graph;
    braid_resource buffer;
    struct findings findings;
    uint32_t *page = map_pages(1);
    closed = map_pages(1);
    mprotect(closed, PAGE, PROT_NONE);
    signal(SIGSEGV, open_closed);
    check_ok(braid_device_open(&(braid_device_options){ .backend = "cpu" }, &device));
    check_ok(braid_graph_create(&graph));
    check_ok(braid_graph_add_buffer(graph, "buffer", page, 64, &buffer));
    check_ok(braid_graph_add_host_call(
        graph,
        &(braid_host_call){
            .call = write_closed_and_own, .user = page, BRAID_ACCESSES({ buffer, BRAID_WRITE }) },
        NULL));
    audit(device, graph, &findings);
    signal(SIGSEGV, SIG_DFL);
    assert_int_equal(findings.num, 0);
    assert_int_equal(closed[0], 1);
    braid_graph_destroy(graph);
    check_ok(braid_device_close(device));
    munmap(page, PAGE);
    munmap(closed, PAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(data_beside_a_buffer_may_be_used),
                                        cmocka_unit_test(an_access_may_reach_the_next_buffer),
                                        cmocka_unit_test(
                                            a_handler_of_the_program_may_mend_its_fault) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
