// SPDX-License-Identifier: Apache-2.0
// An audit beside ranks tells of their thread only while that moves data of the program.
#include <dirent.h>
#include <sched.h>
#include <unistd.h>

#include "audit/audit_testing.h"
#include "base/own_threads.h"
#include "ranks_testing.h"

static long communicating; // the thread

static void read_file(long thread, const char *name, char *text, size_t size)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/self/task/%ld/%s", thread, name);
    FILE *file = fopen(path, "r");
    text[file ? fread(text, 1, size - 1, file) : 0] = '\0';
    if (file)
        fclose(file);
}

static void find_thread(void)
{
    char name[32];
    DIR *threads = opendir("/proc/self/task");
    assert_non_null(threads);
    for (struct dirent *thread; !communicating && (thread = readdir(threads));) {
        long number = strtol(thread->d_name, NULL, 10);
        read_file(number, "comm", name, sizeof(name));
        communicating = strcmp(name, "braid-ranks\n") == 0 ? number : 0;
    }
    closedir(threads);
    assert_int_not_equal(communicating, 0);
}

static long count_sleeps(void)
{
    static const char word[] = "\nvoluntary_ctxt_switches:";
    char text[4096];
    read_file(communicating, "status", text, sizeof(text));
    const char *found = strstr(text, word);
    assert_non_null(found);
    return strtol(found + sizeof(word) - 1, NULL, 10);
}

static void await_sleep(void *user)
{
    (void)user;
    for (long before = count_sleeps(); count_sleeps() < before + 2;)
        usleep(1000);
}

static void check_audit(bool is_told)
{
    audit(audited.device, audited.graph, &audited.findings);
    assert_int_equal(audited.findings.num, 0);
    assert_int_equal(audited.findings.others_run, is_told);
}

static bool moves_data(void)
{
    uint32_t num_changes = 0;
    assert_true(braid_own_threads_find((int)communicating, &num_changes));
    return num_changes % 2;
}

// A number goes from one rank of a pair to the other.
static void open_move(struct job *job, braid_communicator *communicator, double *number, bool sends)
{
    const uint32_t peer = rank ^ 1;
    job->device = audited.device;
    check_ok(braid_graph_create(&job->graph));
    check_ok(braid_graph_add_communicator(job->graph, communicator, &job->world));
    const braid_access access = { add_buffer(job, "number", number, 1),
                                  sends ? BRAID_READ : BRAID_WRITE };
    const braid_communication send = { .from = number, .count = 1, .peer = peer };
    const braid_communication receive = { .to = number, .count = 1, .peer = peer };
    add(job, "move", sends ? BRAID_RANK_SEND : BRAID_RANK_RECEIVE, sends ? send : receive, &access,
        1);
    check_ok(braid_exec_create(job->device, job->graph, NULL, &job->exec));
}

static void close_move(const struct job *job)
{
    braid_exec_destroy(job->exec);
    braid_graph_destroy(job->graph);
}

// Beside what the default stream has.
static void finish_move(const struct job *job)
{
    braid_stream *stream = NULL;
    check_ok(braid_stream_create(job->device, NULL, &stream));
    check_ok(braid_exec_launch(job->exec, stream));
    check_ok(braid_exec_wait(job->exec));
    braid_stream_destroy(stream);
}

static void skip_where_audits_tell_of_none(void)
{
#if defined(UNDER_TSAN)
    skip_because("the thread sanitizer has a thread of its own, so audits tell of none");
#endif
}

static void test_an_idle_thread_is_not_told_of(void **state)
{
    (void)state;
    skip_where_audits_tell_of_none();
    find_thread();
    check_ok(
        braid_graph_add_host_call(audited.graph, &(braid_host_call){ .call = await_sleep }, NULL));
    check_audit(false);
}

// The thread sleeps in memory of the ranks, and a buffer ends right before that.
static void test_a_thread_sleeps_beside_buffers(void **state)
{
    (void)state;
    enum { BYTES = 16, NUM_NODES = 30 };
    braid_resource beside;
    skip_where_audits_tell_of_none();
    find_thread();
    check_ok(
        braid_graph_add_buffer(audited.graph, "beside", (char *)ranks - 2 * BYTES, BYTES, &beside));
    for (int i = 0; i < NUM_NODES; i++)
        check_ok(braid_graph_add_host_call(audited.graph, &(braid_host_call){ .call = await_sleep },
                                           NULL));
    check_audit(false);
}

// One of each pair audits while its receive is pending. The other one sends once it has heard so.
static void test_a_thread_with_a_pending_operation_is_told_of(void **state)
{
    (void)state;
    skip_where_audits_tell_of_none();
    double number = 5.0 + rank, word = 0;
    const bool audits = rank % 2 == 0;
    struct job pending, done;
    open_move(&pending, world, &number, !audits);
    open_move(&done, other, &word, audits);
    check_ok(
        braid_graph_add_host_call(audited.graph, &(braid_host_call){ .call = await_sleep }, NULL));
    if (audits) {
        check_ok(braid_exec_launch(pending.exec, NULL));
        while (!moves_data())
            sched_yield();
        check_audit(true);
        finish_move(&done);
        check_ok(braid_exec_wait(pending.exec));
    } else {
        finish_move(&done);
        finish_move(&pending);
    }
    assert_true(number == 5.0 + (rank | 1));
    while (moves_data())
        sched_yield();
    check_audit(false);
    close_move(&done);
    close_move(&pending);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        AUDITED_TEST(test_an_idle_thread_is_not_told_of),
        AUDITED_TEST(test_a_thread_sleeps_beside_buffers),
        AUDITED_TEST(test_a_thread_with_a_pending_operation_is_told_of),
    };
    return run_on_ranks(tests);
}
