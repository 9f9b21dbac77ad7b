// SPDX-License-Identifier: Apache-2.0
// On the CPU an audit judges the memory that common system calls of a node use, and no other.
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "audit/audit_testing.h"

enum { HAND_OVER = 59, BYTES = 64 };

static int ends[2]; // a pipe's

static int open_site(void **state)
{
    char letter = 0;
    if (prctl(HAND_OVER, 1, 0, 0, &letter))
        skip_program("the system hands no calls over");
    prctl(HAND_OVER, 0, 0, 0, 0);
    int opened = open_audited(state);
    assert_int_equal(pipe(ends), 0);
    return opened;
}

static int close_site(void **state)
{
    close(ends[0]), close(ends[1]);
    return close_audited(state);
}

static void add_call(braid_host_function *call, braid_access_mode mode)
{
    check_ok(braid_graph_add_host_call(audited.graph,
                                       &(braid_host_call){
                                           BRAID_ACCESSES({ audited.buffer, mode }),
                                           .call = call,
                                           .user = audited.words,
                                       },
                                       NULL));
}

static void send_bytes(void *words)
{
    char got[BYTES];
    assert_int_equal(write(ends[1], words, BYTES), BYTES);
    assert_int_equal(read(ends[0], got, BYTES), BYTES);
}

static void send_and_write(void *words)
{
    send_bytes(words);
    *(volatile char *)words = 9;
}

static void write_and_send(void *words)
{
    *(volatile char *)words = 9;
    send_bytes(words);
}

static void a_write_reads_what_the_node_has_not_written(void **state)
{
    (void)state;
    add_call(send_and_write, BRAID_WRITE);
    add_call(write_and_send, BRAID_WRITE);
    audit(audited.device, audited.graph, &audited.findings);
    assert_int_equal(audited.findings.num, 1);
    assert_string_equal(audited.findings.items[0].text,
                        "node 0 'host call' reads bytes from 0 to 63 of 'words', which it does not "
                        "declare");
}

// The registers of further arguments still have the buffer of the call before.
static void use_file(void *words)
{
    struct stat about;
    int file = open("/dev/zero", O_RDONLY | O_CLOEXEC);
    assert_int_equal(read(file, words, PAGE), PAGE);
    assert_int_equal(lseek(file, 0, SEEK_SET), 0);
    assert_int_equal(fstat(file, &about), 0);
    assert_int_equal(stat("/", &about), 0);
    assert_int_equal(read(file, words, PAGE), PAGE);
    assert_int_equal(close(file), 0);
    long number = SYS_getpid;
    __asm__ volatile("syscall"
                     : "+a"(number)
                     : "D"(words), "S"(words), "d"(words)
                     : "rcx", "r11", "memory");
}

static void what_registers_keep_is_no_argument(void **state)
{
    (void)state;
    add_call(use_file, BRAID_WRITE);
    audit(audited.device, audited.graph, &audited.findings);
    if (audited.findings.num)
        print_message("%s\n", audited.findings.items[0].text);
    assert_int_equal(audited.findings.num, 0);
}

// The child's memory is the parent's.
static void read_in_borrower(void *words)
{
    int status = 1;
    assert_int_equal(write(ends[1], "text", 4), 4);
    pid_t child = vfork();
    if (child == 0)
        _exit(read(ends[0], words, 4) != 4);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void check_unseen(const char *reason)
{
    audit(audited.device, audited.graph, &audited.findings);
    assert_int_equal(audited.findings.num, 1);
    const struct finding *found = &audited.findings.items[0];
    assert_int_equal(found->told.kind, BRAID_AUDIT_UNSEEN);
    if (!strstr(found->text, reason))
        fail_msg("%s", found->text);
}

static void calls_of_a_child_in_its_parents_memory_are_not_seen(void **state)
{
    (void)state;
#if defined(BRAID_INSTRUMENTED)
    skip_because("sanitizers make calls of their own in children");
#endif
    add_call(read_in_borrower, BRAID_EXCLUSIVE);
    check_unseen("makes a process");
    assert_memory_equal(audited.words, "text", 4);
}

int main(void)
{
#if defined(UNDER_TSAN)
    puts("the thread sanitizer makes system calls of its own in handlers");
    return 77;
#endif
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_site, close_site)
    const struct CMUnitTest tests[] = {
        TEST(a_write_reads_what_the_node_has_not_written),
        TEST(what_registers_keep_is_no_argument),
        TEST(calls_of_a_child_in_its_parents_memory_are_not_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
