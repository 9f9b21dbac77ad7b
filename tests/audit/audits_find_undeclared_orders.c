// SPDX-License-Identifier: Apache-2.0
// Random graphs whose nodes have all orders that they need have no finding. If two nodes lack one,
// an audit names these two. It takes no more orders than the graph is wide, and few runs to reduce
// a difference to the two. BRAID_TEST_GRAPHS=N runs the first N.
//
// Argument: the backend.
#include <stdlib.h>
#include <string.h>

#include "audit/audit_testing.h"
#include "support/random.h"

enum {
    NUM_GRAPHS = 1000,
    MOST_NODES = 24,
    NUM_BUFFERS = 4,
    NUM_WORDS = 8,                     // in a buffer; no node declares the last one
    FIRST = 0,                         // the nodes that reset the state outside, and keep it
    RESULTS = NUM_BUFFERS * NUM_WORDS, // a word for each node
    MOST_STEPS = 2 * NUM_BUFFERS + 4,
};

enum planted { NOTHING, STATE_OUTSIDE, UNDECLARED_UPDATES, UNDECLARED_READ, NUM_PLANTED };

// The steps of a node change its value, which begins as its number, or write it.
enum step_kind { TAKES = 1, GIVES, MIXES }; // 0 ends a list of steps

struct step {
    enum step_kind kind;
    uint32_t *at;
};

struct node {
    uint32_t number, num_steps;
    struct step steps[MOST_STEPS];
    bool reads[NUM_BUFFERS], writes[NUM_BUFFERS], follows[MOST_NODES];
};

// Kernels of a device reach it.
struct plan {
    braid_device *device;
    uint32_t *memory;
    uint32_t outside; // in no buffer
    uint32_t num_runs;
    struct node nodes[MOST_NODES]; // but for the first and the last: these follow all or none
    uint32_t num;
    bool before[MOST_NODES][MOST_NODES];
    enum planted planted;
    uint32_t one, other; // where
};

static uint32_t mix(uint32_t value, uint32_t more)
{
    return (value ^ more) * 0x9e3779b1u + (value >> 13);
}

static void work(const braid_blocks *blocks, void *const *args)
{
    const uint32_t number = *(const uint32_t *)args[1];
    uint32_t value = number;
    (void)blocks;
    for (const struct step *step = *(const struct step *const *)args[0]; step->kind; step++) {
        if (step->kind == TAKES)
            value = mix(value, *step->at);
        else
            *step->at = step->kind == GIVES ? value : mix(*step->at, number);
    }
}

static const braid_kernel working = {
    .name = "work",
    .cpu = work,
    .cuda.data = ".version 7.0\n.target sm_70\n.address_size 64\n"
                 ".visible .entry work(.param .u64 list, .param .u32 number)\n{\n"
                 ".reg .pred %p<4>;\n.reg .b32 %r<8>;\n.reg .b64 %d<2>;\n"
                 "ld.param.u64 %d0, [list];\nld.param.u32 %r0, [number];\nmov.u32 %r1, %r0;\n"
                 "again:\nld.global.u32 %r2, [%d0];\nsetp.eq.u32 %p0, %r2, 0;\n@%p0 bra done;\n"
                 "ld.global.u64 %d1, [%d0+8];\nsetp.eq.u32 %p1, %r2, 1;\n"
                 "setp.eq.u32 %p2, %r2, 2;\nsetp.eq.u32 %p3, %r2, 3;\n"
                 "@!%p2 ld.global.u32 %r3, [%d1];\n"
                 // One of the two is mixed with the other.
                 "selp.b32 %r4, %r1, %r3, %p1;\nselp.b32 %r5, %r3, %r0, %p1;\n"
                 "xor.b32 %r6, %r4, %r5;\nmul.lo.u32 %r6, %r6, 2654435761;\n"
                 "shr.u32 %r7, %r4, 13;\nadd.u32 %r6, %r6, %r7;\n@%p1 mov.u32 %r1, %r6;\n"
                 "@%p2 st.global.u32 [%d1], %r1;\n@%p3 st.global.u32 [%d1], %r6;\n"
                 "add.u64 %d0, %d0, 16;\nbra again;\ndone:\nret;\n}\n"
};

static void add_step(struct node *node, enum step_kind kind, uint32_t *at)
{
    assert_true(node->num_steps < MOST_STEPS - 1);
    node->steps[node->num_steps++] = (struct step){ kind, at };
    node->steps[node->num_steps] = (struct step){ 0 };
}

// They make results depend on the order of two nodes.
static void add_planted_steps(struct plan *plan, struct node *node)
{
    uint32_t *undeclared = &plan->memory[NUM_WORDS - 1];
    if (node->number != plan->one && node->number != plan->other)
        return;
    if (plan->planted == STATE_OUTSIDE)
        add_step(node, MIXES, &plan->outside);
    if (plan->planted == UNDECLARED_UPDATES)
        add_step(node, MIXES, undeclared);
    if (plan->planted == UNDECLARED_READ && node->number == plan->one) {
        add_step(node, TAKES, undeclared);
        add_step(node, GIVES, &plan->memory[RESULTS + node->number]);
    }
    if (plan->planted == UNDECLARED_READ && node->number == plan->other)
        add_step(node, GIVES, undeclared);
}

static void add_steps(struct plan *plan, struct node *node)
{
    node->num_steps = 0;
    for (uint32_t i = 0; i < NUM_BUFFERS; i++)
        if (node->reads[i])
            add_step(node, TAKES, &plan->memory[i * NUM_WORDS]);
    for (uint32_t i = 0; i < NUM_BUFFERS; i++)
        if (node->writes[i])
            add_step(node, GIVES, &plan->memory[i * NUM_WORDS]);
    add_step(node, GIVES, &plan->memory[RESULTS + node->number]);
    add_planted_steps(plan, node);
}

static void begin(void *user)
{
    struct plan *plan = user;
    plan->outside = 0;
    plan->num_runs++;
}

static bool conflict(const struct node *one, const struct node *other)
{
    bool found = other->follows[one->number];
    for (uint32_t i = 0; i < NUM_BUFFERS; i++)
        found = found || (one->writes[i] && (other->reads[i] || other->writes[i])) ||
                (one->reads[i] && other->writes[i]);
    return found;
}

static void close_order(struct plan *plan)
{
    for (uint32_t i = 0; i < plan->num; i++)
        for (uint32_t k = 0; k < plan->num; k++)
            plan->before[i][k] = i < k && (i == FIRST || k == plan->num - 1 ||
                                           conflict(&plan->nodes[i], &plan->nodes[k]));
    for (uint32_t k = 0; k < plan->num; k++)
        for (uint32_t i = 0; i < plan->num; i++)
            for (uint32_t j = 0; plan->before[i][k] && j < plan->num; j++)
                plan->before[i][j] = plan->before[i][j] || plan->before[k][j];
}

static void choose(struct random *random, struct plan *plan)
{
    uint32_t access = random_below(random, 30), edge = random_below(random, 30);
    plan->num = 4 + random_below(random, MOST_NODES - 3);
    for (uint32_t i = 0; i < plan->num; i++) {
        struct node *node = &plan->nodes[i];
        *node = (struct node){ .number = i };
        for (uint32_t k = 0; k < NUM_BUFFERS && i && i < plan->num - 1; k++) {
            node->reads[k] = random_chance(random, access);
            node->writes[k] = random_chance(random, access / 2);
        }
        for (uint32_t k = 1; k < i; k++)
            node->follows[k] = random_chance(random, edge / (i - k));
    }
    close_order(plan);
}

// False: all nodes have an order.
static bool plant(struct random *random, struct plan *plan)
{
    uint32_t num = 0;
    for (uint32_t i = 0; i < plan->num; i++) {
        for (uint32_t k = i + 1; k < plan->num; k++) {
            if (plan->before[i][k] || random_below(random, ++num))
                continue;
            plan->one = i;
            plan->other = k;
        }
    }
    plan->planted = 1 + random_below(random, NUM_PLANTED - 1);
    return num > 0;
}

// Makes one chain of two, by an augmenting path.
static bool lengthen(const struct plan *plan, uint32_t element, uint32_t *previous, bool *tried)
{
    for (uint32_t i = 0; i < plan->num; i++) {
        if (!plan->before[element][i] || tried[i])
            continue;
        tried[i] = true;
        if (previous[i] == UINT32_MAX || lengthen(plan, previous[i], previous, tried)) {
            previous[i] = element;
            return true;
        }
    }
    return false;
}

static uint32_t find_width(const struct plan *plan)
{
    uint32_t previous[MOST_NODES], width = plan->num;
    memset(previous, 0xff, sizeof(previous));
    for (uint32_t i = 0; i < plan->num; i++) {
        bool tried[MOST_NODES] = { false };
        width -= lengthen(plan, i, previous, tried);
    }
    return width;
}

static void add_node(braid_graph *graph, struct plan *plan, const braid_resource *ranges,
                     braid_node *nodes, uint32_t index)
{
    struct node *node = &plan->nodes[index];
    const struct step *steps = node->steps;
    braid_access accesses[NUM_BUFFERS + 1];
    braid_node after[MOST_NODES];
    braid_kernel_node added = { .node = { .accesses = accesses, .after = after },
                                .kernel = &working,
                                BRAID_ARGS({ &steps, sizeof(steps), BRAID_ARG_UNCHECKED_POINTER },
                                           BRAID_ARG(index)) };
    add_steps(plan, node);
    if (index == plan->num - 1) {
        add_step(node, TAKES, &plan->outside);
        add_step(node, GIVES, &plan->memory[RESULTS + index]);
    }
    for (uint32_t i = 0; i < NUM_BUFFERS; i++)
        if (node->reads[i] || node->writes[i])
            accesses[added.node.num_accesses++] =
                (braid_access){ ranges[i], !node->writes[i]  ? BRAID_READ
                                           : !node->reads[i] ? BRAID_WRITE
                                                             : BRAID_READ_WRITE };
    check_ok(braid_graph_add_range(graph, ranges[NUM_BUFFERS], index * 4, 4,
                                   &accesses[added.node.num_accesses].resource));
    accesses[added.node.num_accesses++].mode = BRAID_WRITE;
    for (uint32_t i = 0; i < index; i++)
        if (i == FIRST || index == plan->num - 1 || node->follows[i])
            after[added.node.num_after++] = nodes[i];
    check_ok(braid_graph_add_kernel(graph, &added, &nodes[index]));
}

static braid_graph *make_graph(struct plan *plan, braid_resource *buffers)
{
    braid_graph *graph;
    braid_resource ranges[NUM_BUFFERS + 1];
    braid_node nodes[MOST_NODES];
    check_ok(braid_graph_create(&graph));
    for (uint32_t i = 0; i < NUM_BUFFERS; i++) {
        check_ok(braid_graph_add_buffer(graph, "buffer", plan->memory + i * NUM_WORDS,
                                        NUM_WORDS * 4, &buffers[i]));
        check_ok(braid_graph_add_range(graph, buffers[i], 0, (NUM_WORDS - 1) * 4, &ranges[i]));
    }
    check_ok(braid_graph_add_buffer(graph, "results", plan->memory + RESULTS, MOST_NODES * 4,
                                    &ranges[NUM_BUFFERS]));
    buffers[NUM_BUFFERS] = ranges[NUM_BUFFERS];
    check_ok(braid_graph_add_host_call(graph, &(braid_host_call){ .call = begin, .user = plan },
                                       &nodes[FIRST]));
    for (uint32_t i = 1; i < plan->num; i++)
        add_node(graph, plan, ranges, nodes, i);
    return graph;
}

// Counts only orders: where the two touch an undeclared word, there are other findings.
static uint32_t audit_orders(struct plan *plan, struct findings *findings, braid_resource *buffers)
{
    braid_graph *graph = make_graph(plan, buffers);
    size_t num = 0, kept = 0;
    *findings = (struct findings){ 0 };
    plan->num_runs = 0;
    check_ok(braid_stream_fill(braid_device_get_default_stream(plan->device), plan->memory, 0, 4,
                               PAGE / 4));
    check_ok(braid_stream_wait(braid_device_get_default_stream(plan->device)));
    check_ok(braid_graph_audit(
        graph, plan->device,
        &(braid_audit_options){ .report = keep_finding, .user = findings, .orders = true }, &num));
    assert_int_equal(num, findings->num + findings->lacks_calls + findings->others_run);
    for (size_t i = 0; i < findings->num; i++)
        if (findings->items[i].told.kind >= BRAID_AUDIT_ORDER)
            findings->items[kept++] = findings->items[i];
    findings->num = kept;
    braid_graph_destroy(graph);
    return plan->num_runs;
}

static uint32_t num_halvings(uint32_t num)
{
    uint32_t halvings = 0;
    while (1u << halvings < num)
        halvings++;
    return halvings;
}

static void check_found(const struct plan *plan, const struct findings *findings,
                        const braid_resource *buffers)
{
    const struct finding *found = &findings->items[0];
    const uint32_t kept_in = plan->planted == STATE_OUTSIDE ? plan->num - 1 : plan->one;
    bool is_result = plan->planted != UNDECLARED_UPDATES;
    char text[128];
    snprintf(text, sizeof(text), "nothing orders nodes %u 'work' and %u 'work', and byte ",
             plan->one, plan->other);
    assert_int_equal(findings->num, 1);
    assert_memory_equal(found->text, text, strlen(text));
    assert_int_equal(found->told.kind, BRAID_AUDIT_ORDER);
    assert_int_equal(found->told.node.index, plan->one);
    assert_int_equal(found->told.other.index, plan->other);
    assert_int_equal(found->told.resource.index, buffers[is_result ? NUM_BUFFERS : 0].index);
    assert_int_equal(found->told.begin / 4, is_result ? kept_in : NUM_WORDS - 1);
    assert_in_range(found->told.num, 1, 4);
    assert_string_equal(found->told.kernel, "work");
}

// Behind the orders, and a second run of the first one, comes the run of which accesses are
// judged.
static bool audit_plan(struct random *random, struct plan *plan, bool *out_full)
{
    static struct findings findings;
    braid_resource buffers[NUM_BUFFERS + 1];
    uint32_t width = find_width(plan);
    plan->planted = NOTHING;
    uint32_t num_orders = audit_orders(plan, &findings, buffers) - 2;
    assert_int_equal(findings.num, 0);
    assert_in_range(num_orders, 1, width);
    *out_full = width > 2 && num_orders == width;
    if (!plant(random, plan))
        return false;
    uint32_t num_runs = audit_orders(plan, &findings, buffers);
    check_found(plan, &findings, buffers);
    assert_true(num_runs <= num_orders + 1 + 2 * num_halvings(plan->num) + 2 + width + 2);
    return true;
}

static void audit_plans(struct plan *plan)
{
    struct random random = { 31 };
    const char *fewer = getenv("BRAID_TEST_GRAPHS");
    int num = fewer ? atoi(fewer) : NUM_GRAPHS, num_full = 0;
    for (int i = 0; i < num;) {
        bool is_full = false;
        choose(&random, plan);
        i += audit_plan(&random, plan, &is_full);
        num_full += is_full;
    }
    assert_true(num_full > 0); // as many orders as the graph is wide
}

static void each_missing_order_is_named(void **state)
{
    braid_device *device;
    void *plan, *memory;
    skip_without_audits();
    if (braid_device_open(&(braid_device_options){ .backend = *state }, &device))
        skip_because(braid_error_get_message());
    check_ok(braid_memory_allocate(device, BRAID_MEMORY_HOST, sizeof(struct plan), &plan));
    check_ok(braid_memory_allocate(device, BRAID_MEMORY_DEVICE, 2 * PAGE, &memory));
    *(struct plan *)plan = (struct plan){
        .device = device,
        .memory = (uint32_t *)(((uintptr_t)memory + PAGE - 1) / PAGE * PAGE), // a page of its own
    };
    audit_plans(plan);
    braid_memory_free(device, memory);
    braid_memory_free(device, plan);
    check_ok(braid_device_close(device));
}

int main(int argc, char **argv)
{
    static char cpu[] = "cpu";
    const struct CMUnitTest tests[] = { cmocka_unit_test_prestate(each_missing_order_is_named,
                                                                  argc > 1 ? argv[1] : cpu) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
