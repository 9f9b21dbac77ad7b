// SPDX-License-Identifier: Apache-2.0
// An audit ends where a node reads more pages than the system has mappings, and where the system
// refuses to open a page or to close it.
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "audit/audit_testing.h"

struct large {
    braid_device *device;
    braid_graph *graph;
    volatile unsigned char *memory;
    size_t bytes;
    braid_resource buffer;
    struct findings findings;
};

static int open_large(void **state)
{
    static struct large large;
    large = (struct large){ .bytes = (size_t)400 << 20 };
    skip_without_audits();
    void *memory = mmap(NULL, large.bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_true(memory != MAP_FAILED);
    large.memory = memory;
    check_ok(braid_graph_create(&large.graph));
    check_ok(braid_graph_add_buffer(large.graph, "large", memory, large.bytes, &large.buffer));
    *state = &large;
    return 0;
}

static int close_large(void **state)
{
    struct large *large = *state;
    braid_graph_destroy(large->graph);
    munmap((void *)(uintptr_t)large->memory, large->bytes);
    return 0;
}

static void audit_large(struct large *large)
{
    check_ok(braid_device_open(&(braid_device_options){ .backend = "cpu", .num_workers = 1 },
                               &large->device));
    audit(large->device, large->graph, &large->findings);
    check_ok(braid_device_close(large->device));
}

static void read_pages(const struct large *large, size_t bytes, size_t step)
{
    for (size_t at = 0; at < bytes; at += step)
        (void)large->memory[at];
}

static void read_every_second_page(void *user)
{
    const struct large *large = user;
    read_pages(large, large->bytes, 2 * PAGE);
}

static void more_pages_are_read_than_there_are_mappings(void **state)
{
    struct large *large = *state;
    check_ok(braid_graph_add_host_call(
        large->graph, &(braid_host_call){ .call = read_every_second_page, .user = large }, NULL));
    audit_large(large);
    assert_int_equal(large->findings.num, 1);
    const braid_audit_finding *found = &large->findings.items[0].told;
    assert_int_equal(found->kind, BRAID_AUDIT_READS);
    assert_int_equal(found->begin, 0);
    assert_in_range(found->end, large->bytes - large->bytes / 100, large->bytes);
    assert_true(found->num > 4096);
}

// The page with the header never opens, since the node declares a part of it. The next page does
// not open for these writes.
static void read_header_often_and_half_the_pages(void *user)
{
    struct large *large = user;
    for (int i = 0; i < 9000; i++)
        (void)large->memory[0];
    (void)large->memory[64];
    for (int i = 0; i < 4000; i++)
        large->memory[PAGE] = 1;
    read_pages(large, large->bytes / 2, PAGE);
}

static void accesses_that_open_no_page_make_no_opening_larger(void **state)
{
    struct large *large = *state;
    braid_resource declared;
    check_ok(braid_graph_add_range(large->graph, large->buffer, 64, 64, &declared));
    check_ok(braid_graph_add_host_call(
        large->graph,
        &(braid_host_call){ BRAID_ACCESSES({ declared, BRAID_READ }),
                            .call = read_header_often_and_half_the_pages, .user = large },
        NULL));
    audit_large(large);
    assert_int_equal(large->findings.num, 2);
    const braid_audit_finding *found = &large->findings.items[0].told;
    assert_int_equal(found->kind, BRAID_AUDIT_READS);
    assert_int_equal(found->begin, 0);
    assert_in_range(found->end, large->bytes / 2 - large->bytes / 100, large->bytes / 2);
}

static void write_often_and_read_every_second_page(void *user)
{
    struct large *large = user;
    for (int i = 0; i < 4096; i++)
        large->memory[0] = 1;
    read_every_second_page(user);
}

static void reads_behind_many_writes_open_ever_more_pages(void **state)
{
    struct large *large = *state;
    check_ok(braid_graph_add_host_call(
        large->graph,
        &(braid_host_call){ .call = write_often_and_read_every_second_page, .user = large }, NULL));
    audit_large(large);
    assert_int_equal(large->findings.num, 2);
    const braid_audit_finding *reads = &large->findings.items[0].told;
    assert_int_equal(reads->kind, BRAID_AUDIT_READS);
    assert_in_range(reads->end, large->bytes - large->bytes / 100, large->bytes);
    assert_int_equal(large->findings.items[1].told.kind, BRAID_AUDIT_WRITES);
    assert_int_equal(large->findings.items[1].told.end, 1);
}

static void write_many_pages_and_read_the_last(void *user)
{
    const struct large *large = user;
    for (size_t i = 0; i < large->bytes / 4; i += PAGE)
        large->memory[i] = 1;
    (void)large->memory[large->bytes / 4 - PAGE];
}

static void reads_behind_many_writes_may_be_hidden(void **state)
{
    struct large *large = *state;
    check_ok(braid_graph_add_host_call(
        large->graph,
        &(braid_host_call){ .call = write_many_pages_and_read_the_last, .user = large }, NULL));
    audit_large(large);
    assert_int_equal(large->findings.num, 2);
    assert_int_equal(large->findings.items[0].told.kind, BRAID_AUDIT_WRITES);
    assert_int_equal(large->findings.items[1].told.kind, BRAID_AUDIT_UNSEEN);
}

// Further writes open pages that are not yet written.
static void pages_opened_for_later_writes_may_hide_reads(void **state)
{
    struct large *large = *state;
    check_ok(braid_graph_add_host_call(
        large->graph,
        &(braid_host_call){ BRAID_ACCESSES({ large->buffer, BRAID_WRITE }),
                            .call = write_many_pages_and_read_the_last, .user = large },
        NULL));
    audit_large(large);
    assert_int_equal(large->findings.num, 1);
    assert_string_equal(large->findings.items[0].text,
                        "node 0 'host call' is not audited: behind its first pages, reads of what "
                        "it may only write are not seen");
}

// Pages that are declared stay closed, so that the one write to them is found.
static void read_all_and_write_the_middle(void *user)
{
    const struct large *large = user;
    read_every_second_page(user);
    large->memory[large->bytes / 2] = 1;
}

static void declared_pages_stay_closed_among_open_ones(void **state)
{
    struct large *large = *state;
    braid_resource middle;
    check_ok(
        braid_graph_add_range(large->graph, large->buffer, large->bytes / 2 - 64, 128, &middle));
    check_ok(braid_graph_add_host_call(large->graph,
                                       &(braid_host_call){ BRAID_ACCESSES({ middle, BRAID_READ }),
                                                           .call = read_all_and_write_the_middle,
                                                           .user = large },
                                       NULL));
    audit_large(large);
    assert_int_equal(large->findings.num, 2);
    assert_int_equal(large->findings.items[0].told.kind, BRAID_AUDIT_READS);
    assert_int_equal(large->findings.items[1].told.kind, BRAID_AUDIT_WRITES);
    assert_int_equal(large->findings.items[1].told.begin, large->bytes / 2);
}

// From here on this thread gets no other rights for this page alone, or cannot close it alone.
static bool refuse_page(const volatile unsigned char *page, bool only_closes)
{
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mprotect, 0, 7),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(uintptr_t)page, 0, 5),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PAGE, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
        BPF_JUMP(BPF_JMP | (only_closes ? BPF_JEQ : BPF_JGE) | BPF_K, PROT_NONE, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOMEM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog filter = { sizeof(rules) / sizeof(rules[0]), rules };
    return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
           !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
}

// One instruction, whose first page is opened, and whose second is refused.
static void copy_to_second_page(void *user)
{
    const volatile unsigned char *from = ((const struct large *)user)->memory, *to = from + PAGE;
    size_t num = 8;
#if defined(__x86_64__)
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(num) : : "memory");
#endif
}

static void read_fourth_page(void *user)
{
    (void)((const struct large *)user)->memory[3 * PAGE];
}

// If an assert fails in the child, the child ends with the number of failed tests instead.
enum { DONE, NO_FILTER = 77, WRONG };

static int audit_with_refusal(struct large *large, bool only_closes, const char *const *texts,
                              size_t num)
{
    if (!refuse_page(large->memory + PAGE, only_closes))
        return NO_FILTER;
    audit_large(large);
    for (size_t i = 0; i < large->findings.num; i++)
        if (i >= num || strcmp(large->findings.items[i].text, texts[i]))
            return WRONG;
    return large->findings.num == num ? DONE : WRONG;
}

// In a child, since the filter stays.
static void check_with_refusal(struct large *large, bool only_closes, const char *const *texts,
                               size_t num)
{
    pid_t child = fork();
    if (child == 0)
        _exit(audit_with_refusal(large, only_closes, texts, num));
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == NO_FILTER)
        skip_because("the system takes no filter of calls");
    assert_int_equal(WEXITSTATUS(status), DONE);
}

// The first node is seen up to the refusal, and its declared access counts as made. For the second
// one all pages are closed again.
static void a_node_is_unseen_where_the_system_opens_no_page(void **state)
{
    struct large *large = *state;
#if defined(UNDER_TSAN)
    skip_because("the child of a program with threads cannot start any under the sanitizer");
#endif
    braid_resource last;
    check_ok(braid_graph_add_range(large->graph, large->buffer, large->bytes - 64, 64, &last));
    check_ok(
        braid_graph_add_host_call(large->graph,
                                  &(braid_host_call){ BRAID_ACCESSES({ last, BRAID_WRITE }),
                                                      .call = copy_to_second_page, .user = large },
                                  NULL));
    check_ok(braid_graph_add_host_call(
        large->graph, &(braid_host_call){ .call = read_fourth_page, .user = large }, NULL));
    static const char *const texts[] = {
        "node 0 'host call' reads byte 0 of 'large', which it does not declare",
        "node 0 'host call' writes byte 4096 of 'large', which it does not declare",
        ("node 0 'host call' is not audited: behind its first accesses, the system refuses to open "
         "single pages of its buffers"),
        "node 1 'host call' reads byte 12288 of 'large', which it does not declare",
    };
    check_with_refusal(large, false, texts, 4);
}

static void read_second_page(void *user)
{
    (void)((const struct large *)user)->memory[PAGE];
}

// For the second node all pages together are closed again.
static void a_node_is_unseen_where_the_system_closes_no_page(void **state)
{
    struct large *large = *state;
    static const char *const texts[] = {
        "node 0 'host call' reads byte 4096 of 'large', which it does not declare",
        ("node 0 'host call' is not audited: the system refuses to close pages of its buffers"),
        "node 1 'host call' reads byte 12288 of 'large', which it does not declare",
    };
#if defined(UNDER_TSAN)
    skip_because("the child of a program with threads cannot start any under the sanitizer");
#endif
    check_ok(braid_graph_add_host_call(
        large->graph, &(braid_host_call){ .call = read_second_page, .user = large }, NULL));
    check_ok(braid_graph_add_host_call(
        large->graph, &(braid_host_call){ .call = read_fourth_page, .user = large }, NULL));
    check_with_refusal(large, true, texts, 3);
}

#define LARGE_TEST(name) cmocka_unit_test_setup_teardown(name, open_large, close_large)

int main(void)
{
    const struct CMUnitTest tests[] = {
        LARGE_TEST(more_pages_are_read_than_there_are_mappings),
        LARGE_TEST(accesses_that_open_no_page_make_no_opening_larger),
        LARGE_TEST(reads_behind_many_writes_open_ever_more_pages),
        LARGE_TEST(reads_behind_many_writes_may_be_hidden),
        LARGE_TEST(pages_opened_for_later_writes_may_hide_reads),
        LARGE_TEST(declared_pages_stay_closed_among_open_ones),
        LARGE_TEST(a_node_is_unseen_where_the_system_opens_no_page),
        LARGE_TEST(a_node_is_unseen_where_the_system_closes_no_page),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
