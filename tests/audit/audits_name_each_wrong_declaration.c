// SPDX-License-Identifier: Apache-2.0
// Random graphs with right declarations have no finding. With one wrong declaration they have the
// findings that follow from it, and no others. BRAID_TEST_GRAPHS=N runs the first N.
//
// Argument: the backend. On CUDA there are no host calls: their accesses are not seen.
#include <stdlib.h>
#include <string.h>

#include "audit/audit_testing.h"
#include "support/random.h"

enum {
    NUM_GRAPHS = 1000,
    NUM_PAGES = 4,
    NUM_ELEMENTS = NUM_PAGES * PAGE / 4,
    MOST_BUFFERS = 5,
    MOST_NODES = 4,
    MOST_TOUCHES = 64,
};

// Elements of a buffer from `begin` on, before `end`.
struct part {
    uint32_t begin, end;
};

struct declaration {
    struct part part; // the buffer's; empty: there is none
    braid_access_mode mode;
};

struct node {
    struct declaration declared[MOST_BUFFERS];
    struct touch touches[MOST_TOUCHES];
    uint32_t num_touches;
    const struct touch *list;
    bool is_host_call;
};

struct plan {
    bool on_cuda;
    uint32_t *memory;
    struct part buffers[MOST_BUFFERS]; // in the memory
    uint32_t num_buffers;
    struct node nodes[MOST_NODES];
    uint32_t num_nodes;
};

static void touch(const struct plan *plan, struct node *node, uint32_t buffer, uint32_t element,
                  enum how how)
{
    assert_true(node->num_touches < MOST_TOUCHES - 1);
    node->touches[node->num_touches++] =
        (struct touch){ how, plan->memory + plan->buffers[buffer].begin + element };
}

// Both ends of a part, so that each border counts, and something between.
static void touch_part(struct random *random, const struct plan *plan, struct node *node,
                       uint32_t buffer)
{
    const struct declaration *declared = &node->declared[buffer];
    const struct part *part = &declared->part;
    const uint32_t elements[] = { part->begin, part->end - 1,
                                  part->begin + random_below(random, part->end - part->begin) };
    for (size_t i = 0; i < 3; i++) {
        if (declared->mode == BRAID_READ || declared->mode == BRAID_READ_WRITE)
            touch(plan, node, buffer, elements[i], READS);
        if (declared->mode == BRAID_ACCUMULATE)
            touch(plan, node, buffer, elements[i], ADDS);
        if (declared->mode == BRAID_WRITE || declared->mode == BRAID_READ_WRITE)
            touch(plan, node, buffer, elements[i], WRITES);
    }
}

// Buffers follow each other closely, so that most pages have several.
static void choose_buffers(struct random *random, struct plan *plan)
{
    uint32_t at = random_below(random, 64);
    plan->num_buffers = 2 + random_below(random, MOST_BUFFERS - 1);
    for (uint32_t i = 0; i < plan->num_buffers; i++) {
        bool is_large = random_chance(random, 25);
        uint32_t num = 2 + random_below(random, is_large ? 2 * PAGE / 4 : 60);
        uint32_t left = NUM_ELEMENTS - 70 * (plan->num_buffers - i) - at;
        num = num < left ? num : left;
        plan->buffers[i] = (struct part){ at, at + num };
        at += num + (random_chance(random, 50) ? 0 : random_below(random, 8));
    }
}

static void choose(struct random *random, struct plan *plan)
{
    static const braid_access_mode modes[] = { BRAID_READ, BRAID_WRITE, BRAID_READ_WRITE,
                                               BRAID_ACCUMULATE };
    choose_buffers(random, plan);
    plan->num_nodes = 1 + random_below(random, MOST_NODES);
    for (uint32_t i = 0; i < plan->num_nodes; i++) {
        struct node *node = &plan->nodes[i];
        *node = (struct node){ .is_host_call = random_chance(random, 20) && !plan->on_cuda };
        node->list = node->touches;
        for (uint32_t k = 0; k < plan->num_buffers; k++) {
            uint32_t num = plan->buffers[k].end - plan->buffers[k].begin;
            if (k && random_chance(random, 40))
                continue;
            bool is_whole = random_chance(random, 50);
            uint32_t begin = is_whole ? 0 : random_below(random, num - 1);
            uint32_t end = is_whole ? num : begin + 2 + random_below(random, num - begin - 1);
            node->declared[k] =
                (struct declaration){ { begin, end }, modes[random_below(random, 4)] };
            touch_part(random, plan, node, k);
        }
    }
}

// Makes one declaration wrong: it is gone, or ends or begins an element too soon or too late, or
// only reads.
static void break_one(struct random *random, struct plan *plan)
{
    struct node *node = &plan->nodes[random_below(random, plan->num_nodes)];
    uint32_t buffer;
    do {
        buffer = random_below(random, plan->num_buffers);
    } while (!node->declared[buffer].part.end);
    struct declaration *declared = &node->declared[buffer];
    uint32_t num = plan->buffers[buffer].end - plan->buffers[buffer].begin;
    switch (random_below(random, 5)) {
    case 0:
        *declared = (struct declaration){ 0 };
        break;
    case 1:
        declared->part.begin++;
        break;
    case 2:
        declared->part.end--;
        break;
    case 3: // moved by an element
        declared->part.begin++;
        declared->part.end += declared->part.end < num;
        break;
    case 4:
        if (declared->mode == BRAID_READ)
            declared->part.end--;
        declared->mode = BRAID_READ;
    }
}

static braid_graph *make_graph(const struct plan *plan, braid_resource *buffers)
{
    braid_graph *graph;
    check_ok(braid_graph_create(&graph));
    for (uint32_t i = 0; i < plan->num_buffers; i++) {
        const struct part *part = &plan->buffers[i];
        check_ok(braid_graph_add_buffer(graph, "buffer", plan->memory + part->begin,
                                        (part->end - part->begin) * 4, &buffers[i]));
    }
    for (uint32_t i = 0; i < plan->num_nodes; i++) {
        const struct node *node = &plan->nodes[i];
        braid_access accesses[MOST_BUFFERS];
        braid_node_options options = { .accesses = accesses };
        for (uint32_t k = 0; k < plan->num_buffers; k++) {
            const struct declaration *declared = &node->declared[k];
            if (!declared->part.end)
                continue;
            braid_access *access = &accesses[options.num_accesses++];
            access->mode = declared->mode;
            check_ok(braid_graph_add_range(graph, buffers[k], declared->part.begin * 4,
                                           (declared->part.end - declared->part.begin) * 4,
                                           &access->resource));
        }
        if (node->is_host_call)
            check_ok(braid_graph_add_host_call(
                graph,
                &(braid_host_call){ .node = options,
                                    .call = make_touches_of_user,
                                    .user = (void *)(uintptr_t)node->touches },
                NULL));
        else
            check_ok(braid_graph_add_kernel(
                graph,
                &(braid_kernel_node){
                    .node = options,
                    .kernel = &touching,
                    .block.x = plan->on_cuda ? 8 : 1,
                    BRAID_ARGS({ &node->list, sizeof(node->list), BRAID_ARG_UNCHECKED_POINTER }) },
                NULL));
    }
    return graph;
}

// On the CPU an update is a write.
static braid_audit_kind kind_of(const struct plan *plan, enum how how)
{
    return how == READS                   ? BRAID_AUDIT_READS
           : how == ADDS && plan->on_cuda ? BRAID_AUDIT_UPDATES
                                          : BRAID_AUDIT_WRITES;
}

// What follows from the declarations for one node, buffer and kind. On the CPU an access counts by
// its first byte. On CUDA the lowest one counts as the first.
static braid_audit_finding expect_accesses(const struct plan *plan, const struct node *node,
                                           uint32_t buffer, braid_audit_kind kind)
{
    const uint32_t bytes = plan->on_cuda ? 4 : 1;
    const struct declaration *declared = &node->declared[buffer];
    const struct part *part = &plan->buffers[buffer];
    braid_audit_finding expected = { .kind = kind };
    for (uint32_t i = 0; i < node->num_touches; i++) {
        uint32_t element = (uint32_t)((uint32_t *)node->touches[i].at - plan->memory);
        if (element < part->begin || element >= part->end ||
            kind_of(plan, node->touches[i].how) != kind)
            continue;
        element -= part->begin;
        if (element >= declared->part.begin && element < declared->part.end &&
            (kind == BRAID_AUDIT_READS || declared->mode != BRAID_READ))
            continue;
        if (!expected.num++) {
            expected.address = node->touches[i].at;
            expected.begin = element * 4;
        }
        if (element * 4 < expected.begin) {
            expected.begin = element * 4;
            if (plan->on_cuda)
                expected.address = node->touches[i].at;
        }
        if (element * 4 + bytes > expected.end)
            expected.end = element * 4 + bytes;
    }
    return expected;
}

// Whether the node makes no access of a declaration.
static bool is_never_made(const struct plan *plan, const struct node *node, uint32_t buffer)
{
    const struct declaration *declared = &node->declared[buffer];
    if (!declared->part.end)
        return false;
    for (uint32_t i = 0; i < node->num_touches; i++) {
        uint32_t element = (uint32_t)((uint32_t *)node->touches[i].at - plan->memory) -
                           plan->buffers[buffer].begin;
        if (element >= declared->part.begin && element < declared->part.end &&
            (declared->mode == BRAID_READ || node->touches[i].how != READS))
            return false;
    }
    return true;
}

static void compare(const braid_audit_finding *found, const braid_audit_finding *expected,
                    uint32_t node)
{
    assert_int_equal(found->node.index, node);
    assert_int_equal(found->kind, expected->kind);
    assert_int_equal(found->resource.index, expected->resource.index);
    assert_ptr_equal(found->address, expected->address);
    assert_int_equal(found->begin, expected->begin);
    assert_int_equal(found->end, expected->end);
    assert_int_equal(found->num, expected->num);
}

// In the order of nodes, kinds and resources. Returns their number.
static size_t check_findings(const struct plan *plan, const braid_resource *buffers,
                             const struct findings *findings)
{
    size_t num = 0, num_never = 0;
    for (uint32_t i = 0; i < plan->num_nodes; i++) {
        const struct node *node = &plan->nodes[i];
        for (int kind = BRAID_AUDIT_READS; kind <= BRAID_AUDIT_UPDATES; kind++) {
            for (uint32_t k = 0; k < plan->num_buffers; k++) {
                braid_audit_finding expected =
                    expect_accesses(plan, node, k, (braid_audit_kind)kind);
                expected.resource = buffers[k];
                if (!expected.num)
                    continue;
                assert_true(num < findings->num);
                compare(&findings->items[num++].told, &expected, i);
            }
        }
        for (uint32_t k = 0; k < plan->num_buffers; k++)
            num_never += is_never_made(plan, node, k);
        for (; num < findings->num && findings->items[num].told.node.index == i; num++) {
            assert_true(findings->items[num].told.kind >= BRAID_AUDIT_NEVER_READS);
            assert_true(num_never-- > 0);
        }
        assert_int_equal(num_never, 0);
    }
    assert_int_equal(num, findings->num);
    return num;
}

static size_t audit_plan(braid_device *device, const struct plan *plan)
{
    static struct findings findings;
    braid_resource buffers[MOST_BUFFERS];
    braid_graph *graph = make_graph(plan, buffers);
    audit(device, graph, &findings);
    size_t num = check_findings(plan, buffers, &findings);
    braid_graph_destroy(graph);
    return num;
}

static void audit_graphs(braid_device *device, struct plan *plan)
{
    struct random random = { 27 };
    const char *fewer = getenv("BRAID_TEST_GRAPHS");
    for (int i = 0; i < (fewer ? atoi(fewer) : NUM_GRAPHS); i++) {
        choose(&random, plan);
        assert_int_equal(audit_plan(device, plan), 0);
        break_one(&random, plan);
        assert_true(audit_plan(device, plan) > 0);
    }
}

static void each_wrong_declaration_is_named(void **state)
{
    braid_device *device;
    static struct plan plan;
    (void)state;
    skip_without_audits();
    plan.memory = map_pages(NUM_PAGES);
    check_ok(braid_device_open(&(braid_device_options){ .backend = "cpu" }, &device));
    audit_graphs(device, &plan);
    check_ok(braid_device_close(device));
    munmap(plan.memory, NUM_PAGES * PAGE);
}

// Kernels read the lists of touches, so the plan lies in memory that the device reaches.
static void each_wrong_declaration_is_named_on_cuda(void **state)
{
    braid_device *device;
    void *plan, *memory;
    (void)state;
    if (braid_device_open(&(braid_device_options){ .backend = "cuda" }, &device))
        skip_because(braid_error_get_message());
    check_ok(braid_memory_allocate(device, BRAID_MEMORY_HOST, sizeof(struct plan), &plan));
    check_ok(braid_memory_allocate(device, BRAID_MEMORY_DEVICE, NUM_PAGES * PAGE, &memory));
    *(struct plan *)plan = (struct plan){ .on_cuda = true, .memory = memory };
    audit_graphs(device, plan);
    braid_memory_free(device, memory);
    braid_memory_free(device, plan);
    check_ok(braid_device_close(device));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(each_wrong_declaration_is_named) };
    const struct CMUnitTest on_cuda[] = { cmocka_unit_test(
        each_wrong_declaration_is_named_on_cuda) };
    if (argc > 1 && strcmp(argv[1], "cuda") == 0)
        return cmocka_run_group_tests(on_cuda, NULL, NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
