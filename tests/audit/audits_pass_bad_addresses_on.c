// SPDX-License-Identifier: Apache-2.0
// In an audit a node's system calls with bad addresses fail as they do without.
#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "audit/audit_testing.h"

enum { HAND_OVER = 59, MOST_ARGS = 4, LISTED_BYTES = 64 };
enum { MASK_BYTES = 8, LIST_BYTES = sizeof(struct iovec) };

static int open_site(void **state)
{
    char letter = 0;
    if (prctl(HAND_OVER, 1, 0, 0, &letter))
        skip_program("the system hands no calls over");
    prctl(HAND_OVER, 0, 0, 0, 0);
    return open_audited(state);
}

struct call {
    long number;
    uintptr_t args[MOST_ARGS];
};

enum { NUM_CALLS = 15 };

static struct {
    int ends[2]; // a socket pair's
    struct call calls[NUM_CALLS];
    int errors[NUM_CALLS]; // as the last try had them
} bad;

static void make_bad_calls(void *user)
{
    (void)user;
    for (int i = 0; i < NUM_CALLS; i++) {
        const struct call *call = &bad.calls[i];
        const uintptr_t *args = call->args;
        errno = 0;
        (void)!syscall(call->number, args[0], args[1], args[2], args[3]);
        bad.errors[i] = errno;
    }
}

// Addresses of nothing, and of the last bytes before it.
static void choose_calls(uintptr_t nothing, const struct msghdr *message)
{
    const uintptr_t end = (uintptr_t)bad.ends[1], last = UINTPTR_MAX - MASK_BYTES;
    const struct call calls[NUM_CALLS] = {
        { SYS_rt_sigprocmask, { SIG_SETMASK, 0, 0, MASK_BYTES } }, // which asks
        { SYS_rt_sigprocmask, { SIG_SETMASK, 0, nothing, MASK_BYTES } },
        { SYS_rt_sigprocmask, { SIG_SETMASK, nothing, 0, MASK_BYTES } },
        { SYS_rt_sigprocmask, { SIG_BLOCK, nothing - MASK_BYTES / 2, 0, MASK_BYTES } },
        { SYS_rt_sigprocmask, { SIG_BLOCK, 1, 0, MASK_BYTES } },
        { SYS_rt_sigprocmask, { SIG_BLOCK, MASK_BYTES, 0, MASK_BYTES } },
        { SYS_rt_sigprocmask, { SIG_BLOCK, last, 0, MASK_BYTES } },
        { SYS_writev, { end, 0, 1 } },
        { SYS_writev, { end, nothing, 1 } },
        { SYS_writev, { end, nothing - LIST_BYTES, 2 } },
        { SYS_writev, { end, last, 2 } },
        { SYS_sendmsg, { end, nothing } },
        { SYS_sendmsg, { end, (uintptr_t)message } },
        { SYS_clone3, { nothing, LISTED_BYTES } },
        { SYS_clone3, { nothing - MASK_BYTES, LISTED_BYTES } },
    };
    memcpy(bad.calls, calls, sizeof(calls));
}

static void compare_errors(void)
{
    int expected[NUM_CALLS], num_bad = 0;
    make_bad_calls(NULL);
    memcpy(expected, bad.errors, sizeof(expected));
    for (int i = 0; i < NUM_CALLS; i++)
        num_bad += expected[i] != 0;
    assert_true(num_bad > NUM_CALLS / 2);
    check_ok(braid_graph_add_host_call(
        audited.graph, &(braid_host_call){ .call = make_bad_calls, .user = audited.words }, NULL));
    audit(audited.device, audited.graph, &audited.findings);
    assert_memory_equal(bad.errors, expected, sizeof(expected));
}

static void compare_calls(char *pages)
{
    struct msghdr message = { .msg_iov = (void *)(pages + PAGE), .msg_iovlen = 1 };
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, bad.ends), 0);
    choose_calls((uintptr_t)pages + PAGE, &message);
    compare_errors();
    close(bad.ends[0]), close(bad.ends[1]);
    munmap(pages, (size_t)2 * PAGE);
}

static void bad_addresses_of_masks_and_lists(void **state)
{
    (void)state;
    char *pages = map_pages(2);
    assert_int_equal(mprotect(pages + PAGE, PAGE, PROT_NONE), 0);
    compare_calls(pages);
}

// The buffer's file has become shorter.
static void bad_addresses_inside_a_buffer(void **state)
{
    (void)state;
    braid_resource buffer;
    FILE *file = tmpfile();
    assert_non_null(file);
    assert_int_equal(ftruncate(fileno(file), PAGE), 0);
    char *pages = mmap(NULL, (size_t)2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(file), 0);
    assert_true(pages != MAP_FAILED);
    check_ok(braid_graph_add_buffer(audited.graph, "file", pages, (size_t)2 * PAGE, &buffer));
    compare_calls(pages);
    fclose(file);
}

int main(void)
{
#if defined(UNDER_TSAN)
    puts("the thread sanitizer makes system calls of its own in handlers");
    return 77;
#endif
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(bad_addresses_of_masks_and_lists, open_site, close_audited),
        cmocka_unit_test_setup_teardown(bad_addresses_inside_a_buffer, open_site, close_audited),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
