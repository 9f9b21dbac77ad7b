// SPDX-License-Identifier: Apache-2.0
// On the CPU a system call that takes lists may do a part at closed pages. An audit opens them
// before, and names the node if they have buffers, at whatever address. So it does for queued work.
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "audit/audit_testing.h"

enum { BYTES = 16 };

static char outside[BYTES]; // in no page of a buffer

static void audit_call(braid_host_function *call, void *user)
{
    check_ok(braid_graph_add_host_call(
        audited.graph,
        &(braid_host_call){ BRAID_ACCESSES({ audited.buffer, BRAID_EXCLUSIVE }), .call = call,
                            .user = user },
        NULL));
    audit(audited.device, audited.graph, &audited.findings);
    if (audited.findings.lacks_calls)
        skip_because("system calls of nodes are not seen here");
}

static void read_parts(void *more)
{
    const struct iovec parts[] = { { outside, BYTES }, { more, BYTES } };
    int file = open("/dev/zero", O_RDONLY | O_CLOEXEC);
    assert_int_equal(preadv2(file, parts, 2, 0, 0), 2 * BYTES);
    close(file);
}

static void copy_parts(void *more)
{
    char from[2 * BYTES] = { 0 };
    const struct iovec parts[] = { { outside, BYTES }, { more, BYTES } };
    const struct iovec whole = { from, sizeof(from) };
    assert_int_equal(process_vm_readv(getpid(), parts, 2, &whole, 1, 0), 2 * BYTES);
}

static void send_messages(void *more)
{
    int ends[2];
    struct iovec first = { outside, BYTES }, second = { more, BYTES };
    struct mmsghdr messages[] = { { .msg_hdr = { .msg_iov = &first, .msg_iovlen = 1 } },
                                  { .msg_hdr = { .msg_iov = &second, .msg_iovlen = 1 } } };
    assert_int_equal(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends), 0);
    assert_int_equal(sendmmsg(ends[0], messages, 2, 0), 2);
    close(ends[0]);
    close(ends[1]);
}

static void send_message(void *more)
{
    int ends[2];
    struct iovec parts[] = { { outside, BYTES }, { more, BYTES } };
    const struct msghdr message = { .msg_iov = parts, .msg_iovlen = 2 };
    assert_int_equal(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends), 0);
    assert_int_equal(sendmsg(ends[0], &message, 0), 2 * BYTES);
    close(ends[0]);
    close(ends[1]);
}

static const char unseen[] = "node 0 'host call' is not audited: a system call uses memory of its "
                             "buffers in a way that is not known";

static void a_part_in_a_buffer_is_named(void **state)
{
    static braid_host_function *const calls[] = { read_parts, copy_parts, send_messages,
                                                  send_message };
    (void)state;
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        braid_graph_destroy(audited.graph);
        check_ok(braid_graph_create(&audited.graph));
        check_ok(
            braid_graph_add_buffer(audited.graph, "words", audited.words, PAGE, &audited.buffer));
        audit_call(calls[i], audited.words);
        assert_int_equal(audited.findings.num, 1);
        assert_string_equal(audited.findings.items[0].text, unseen);
    }
}

// The last part begins in a page that has no buffer.
static void a_part_beside_a_buffer_is_read(void **state)
{
    braid_resource other;
    (void)state;
    unsigned char *pages = map_pages(2);
    check_ok(braid_graph_add_buffer(audited.graph, "other", pages + PAGE + 512, 64, &other));
    audit_call(read_parts, pages + PAGE - BYTES / 2);
    assert_int_equal(audited.findings.num, 0);
    munmap(pages, 2 * PAGE);
}

static bool queues;

// The read ends with an error at a closed page.
static void queue_read(void *words)
{
    aio_context_t context = 0;
    struct io_event event;
    int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    struct iocb read = { .aio_lio_opcode = IOCB_CMD_PREAD,
                         .aio_fildes = (uint32_t)file,
                         .aio_buf = (uintptr_t)words,
                         .aio_nbytes = BYTES };
    struct iocb *list = &read;
    queues = !syscall(SYS_io_setup, 1, &context);
    if (queues) {
        assert_int_equal(syscall(SYS_io_submit, context, 1, &list), 1);
        assert_int_equal(syscall(SYS_io_getevents, context, 1, 1, &event, NULL), 1);
        assert_int_equal(event.res, BYTES);
        assert_int_equal(syscall(SYS_io_destroy, context), 0);
    }
    close(file);
}

static void a_node_that_queues_work_is_named(void **state)
{
    (void)state;
    audit_call(queue_read, audited.words);
    if (!queues)
        skip_because("the system queues no reads");
    assert_int_equal(audited.findings.num, 1);
    assert_string_equal(audited.findings.items[0].text,
                        "node 0 'host call' is not audited: it queues work of the system, which "
                        "may use its buffers");
}

static void find_folder(void *user)
{
    assert_non_null(getcwd(user, 1024));
}

// A program that lies at fixed addresses has such buffers.
static void a_buffer_may_have_a_low_address(void **state)
{
    braid_resource low;
    (void)state;
    void *const wanted = (void *)(uintptr_t)0x20000000;
    void *memory = mmap(wanted, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(memory != MAP_FAILED);
    if (memory == wanted) {
        check_ok(braid_graph_add_buffer(audited.graph, "low", memory, PAGE, &low));
        audit_call(find_folder, memory);
    }
    munmap(memory, PAGE);
    if (memory != wanted)
        skip_because("the low address is in use");
    assert_true(audited.findings.num > 0);
    assert_string_equal(audited.findings.items[audited.findings.num - 1].text, unseen);
}

int main(void)
{
#if defined(UNDER_TSAN)
    puts("the thread sanitizer makes system calls of its own in handlers");
    return 77;
#endif
    const struct CMUnitTest tests[] = {
        AUDITED_TEST(a_part_in_a_buffer_is_named),
        AUDITED_TEST(a_part_beside_a_buffer_is_read),
        AUDITED_TEST(a_node_that_queues_work_is_named),
        AUDITED_TEST(a_buffer_may_have_a_low_address),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
