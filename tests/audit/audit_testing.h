// SPDX-License-Identifier: Apache-2.0
// Kernels that make given accesses, and a list of an audit's findings.
#ifndef BRAID_TESTS_AUDIT_TESTING_H
#define BRAID_TESTS_AUDIT_TESTING_H

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <braid/braid.h>

#include "support/check.h"
#include "support/sanitizers.h"

enum { MOST_FINDINGS = 64, PAGE = 4096 };

enum how { READS = 1, WRITES, ADDS };

// One access of four bytes; 0 ends a list of them.
struct touch {
    enum how how;
    void *at;
};

static void make_touches(const struct touch *touch)
{
    for (; touch->how; touch++) {
        if (touch->how == READS)
            (void)*(volatile uint32_t *)touch->at;
        else if (touch->how == WRITES)
            *(volatile uint32_t *)touch->at = 7;
        else
            atomic_fetch_add_explicit((_Atomic uint32_t *)touch->at, 1, memory_order_relaxed);
    }
}

static inline void make_given_touches(const braid_blocks *blocks, void *const *args)
{
    (void)blocks;
    make_touches(*(const struct touch *const *)args[0]);
}

static inline void make_touches_of_user(void *touches)
{
    make_touches(touches);
}

// The same by the threads of a block, by turns.
#define TOUCHING_PTX                                                                               \
    ".version 7.0\n.target sm_70\n.address_size 64\n"                                              \
    ".visible .entry touching(.param .u64 list)\n{\n"                                              \
    ".reg .pred %p<6>;\n.reg .b32 %r<6>;\n.reg .b64 %d<2>;\n"                                      \
    "ld.param.u64 %d0, [list];\nmov.u32 %r0, %tid.x;\nmov.u32 %r1, %ntid.x;\nmov.u32 %r2, 0;\n"    \
    "again:\nld.global.u32 %r3, [%d0];\nsetp.eq.u32 %p0, %r3, 0;\n@%p0 bra done;\n"                \
    "ld.global.u64 %d1, [%d0+8];\nrem.u32 %r4, %r2, %r1;\nsetp.eq.u32 %p1, %r4, %r0;\n"            \
    "setp.eq.and.u32 %p2, %r3, 1, %p1;\nsetp.eq.and.u32 %p3, %r3, 2, %p1;\n"                       \
    "setp.ne.or.u32 %p4, %r3, 3, !%p1;\n"                                                          \
    "@%p2 ld.volatile.global.u32 %r5, [%d1];\n@%p3 st.u32 [%d1], 7;\n"                             \
    "@!%p4 red.global.add.u32 [%d1], 1;\n"                                                         \
    "add.u64 %d0, %d0, 16;\nadd.u32 %r2, %r2, 1;\nbra again;\ndone:\nret;\n}\n"

__attribute__((unused)) static const braid_kernel touching = { .name = "touching",
                                                               .cpu = make_given_touches,
                                                               .cuda.data = TOUCHING_PTX };

// Adds a node named "scatter" to world->graph.
#define ADD(world, touches, ...)                                                                   \
    do {                                                                                           \
        const struct touch *list_ = (touches);                                                     \
        check_ok(braid_graph_add_kernel(                                                           \
            (world)->graph,                                                                        \
            &(braid_kernel_node){                                                                  \
                .node.name = "scatter",                                                            \
                .kernel = &touching,                                                               \
                BRAID_ARGS({ &list_, sizeof(list_), BRAID_ARG_UNCHECKED_POINTER }),                \
                BRAID_ACCESSES(__VA_ARGS__),                                                       \
            },                                                                                     \
            NULL));                                                                                \
    } while (0)

struct finding {
    braid_audit_finding told; // its texts are gone, but for the kernel's
    char text[256];
};

struct findings {
    struct finding items[MOST_FINDINGS];
    size_t num;
    bool lacks_calls; // the system, or a sanitizer, hands no system calls over
    bool others_run;  // threads, whose system calls are not seen
};

static inline void keep_finding(const braid_audit_finding *finding, void *user)
{
    struct findings *findings = user;
    if (finding->kind == BRAID_AUDIT_UNSEEN && strstr(finding->text, "not seen here, and fail")) {
        findings->lacks_calls = true;
        return;
    }
    if (finding->kind == BRAID_AUDIT_UNSEEN && strstr(finding->text, "other threads run")) {
        findings->others_run = true;
        return;
    }
    assert_true(findings->num < MOST_FINDINGS);
    struct finding *item = &findings->items[findings->num++];
    item->told = *finding;
    snprintf(item->text, sizeof(item->text), "%s", finding->text);
}

static inline void audit_frames(braid_device *device, const braid_graph *graph, bool orders,
                                struct findings *findings)
{
    size_t num = 77;
    findings->num = 0;
    findings->lacks_calls = findings->others_run = false;
    check_ok(braid_graph_audit(graph, device,
                               &(braid_audit_options){ keep_finding, findings, orders }, &num));
    assert_int_equal(num, findings->num + findings->lacks_calls + findings->others_run);
}

static inline void audit(braid_device *device, const braid_graph *graph, struct findings *findings)
{
    audit_frames(device, graph, false, findings);
}

static inline void *map_pages(size_t num)
{
    void *memory =
        mmap(NULL, num * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(memory != MAP_FAILED);
    return memory;
}

// Whether audits run here; otherwise the program is skipped.
static inline void skip_without_audits(void)
{
#if !defined(__x86_64__)
    skip_program("audits need x86-64");
#endif
}

// A graph for BRAID_TEST_BACKEND, or the CPU, with one buffer of the host, "words", of a page.
static struct {
    braid_device *device;
    braid_graph *graph;
    uint32_t *words, *outside; // a page of no buffer
    void *memory;
    braid_resource buffer;
    struct findings findings;
} audited;

static inline bool audits_cpu(void)
{
    const char *backend = getenv("BRAID_TEST_BACKEND");
    return !backend || !strcmp(backend, "cpu");
}

static inline void skip_loops_of_host_calls(void)
{
    if (!audits_cpu())
        skip_because("a device plays no host calls in loops");
}

static inline int open_audited(void **state)
{
    (void)state;
    skip_without_audits();
    const braid_device_options options = {
        .backend = audits_cpu() ? "cpu" : getenv("BRAID_TEST_BACKEND"),
        .num_workers = 2,
    };
    if (braid_device_open(&options, &audited.device))
        skip_program(braid_error_get_message());
    check_ok(braid_memory_allocate(audited.device, BRAID_MEMORY_HOST, 3 * PAGE, &audited.memory));
    memset(audited.memory, 0, 3 * PAGE);
    audited.words = (uint32_t *)(((uintptr_t)audited.memory + PAGE - 1) / PAGE * PAGE);
    audited.outside = audited.words + PAGE / 4;
    check_ok(braid_graph_create(&audited.graph));
    check_ok(braid_graph_add_buffer(audited.graph, "words", audited.words, PAGE, &audited.buffer));
    return 0;
}

static inline int close_audited(void **state)
{
    (void)state;
    braid_graph_destroy(audited.graph);
    braid_memory_free(audited.device, audited.memory);
    check_ok(braid_device_close(audited.device));
    return 0;
}

#define AUDITED_TEST(name) cmocka_unit_test_setup_teardown(name, open_audited, close_audited)

#endif
