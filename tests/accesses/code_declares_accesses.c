// SPDX-License-Identifier: Apache-2.0
// A kernel node leaves its accesses to its code, and planning compares those that it declares. No
// GPU is there.
#include <stdio.h>
#include <string.h>

#include <braid/braid.h>

#include "base/host_memory.h"
#include "graph/code.h"
#include "support/check.h"
#include "support/owner.h"

enum { BYTES = 64, MOST_TEXT = 512 };

#define HEAD ".version 8.0\n.target sm_90\n.address_size 64\n.global .u32 count;\n"
#define TWO "(.param .u64 from, .param .u64 to) {\n"
#define TAKE "ld.param.u64 %d0, [from];\nld.param.u64 %d1, [to];\n"

// Line 8 reads through `from` and line 9 writes through `to`; a pointer that is not used.
static const char steps[] = HEAD
    ".entry copy" TWO TAKE "ld.global.u32 %r0, [%d0];\nst.global.u32 [%d1], %r0;\nret;\n}\n"
    ".entry sum" TWO TAKE "ld.global.u32 %r0, [%d0];\nred.global.add.u32 [%d1], %r0;\nret;\n}\n"
    ".entry idle" TWO "ret;\n}\n"
    ".entry counts" TWO TAKE "red.global.add.u32 [count], 1;\nret;\n}\n"
    ".entry follows" TWO TAKE "ld.global.u64 %d2, [%d0];\nst.global.u32 [%d2], 1;\nret;\n}\n"
    ".entry scales(.param .u64 to, .param .f32 by) {\nld.param.u64 %d1, [to];\n"
    "st.global.u32 [%d1], 1;\nret;\n}\n"
    ".entry packs(.param .align 8 .b8 all[24]) {\nld.param.u64 %d0, [all+8];\n"
    "ld.param.u64 %d1, [all+16];\nld.global.u32 %r0, [%d0];\nst.global.u32 [%d1], 1;\nret;\n}\n";

static void do_nothing(const braid_blocks *blocks, void *const *args)
{
    (void)blocks;
    (void)args;
}

#define KERNEL(entry)                                                                              \
    {                                                                                              \
        .name = entry, .cpu = do_nothing, .cuda.data = steps                                       \
    }
static const braid_kernel copy = KERNEL("copy"), sum = KERNEL("sum"), idle = KERNEL("idle"),
                          counts = KERNEL("counts"), follows = KERNEL("follows"),
                          scales = KERNEL("scales"), packs = KERNEL("packs");

static char a[BYTES], b[BYTES], c[BYTES];
static const void *const elsewhere = (const void *)(uintptr_t)UINT64_C(0x7f0012345000);

struct setting {
    braid_graph *graph;
    braid_device *device;
    braid_resource a, b, c;
    char found[MOST_TEXT];
};

static struct setting make_setting(void)
{
    struct setting s = { .graph = own_graph() };
    check_ok(braid_device_open(&(braid_device_options){ .backend = "cpu" }, &s.device));
    check_ok(braid_graph_add_buffer(s.graph, "a", a, BYTES, &s.a));
    check_ok(braid_graph_add_buffer(s.graph, "b", b, BYTES, &s.b));
    check_ok(braid_graph_add_buffer(s.graph, "c", c, BYTES, &s.c));
    return s;
}

static void finish(struct setting *s)
{
    destroy_now(s->graph);
    check_ok(braid_device_close(s->device));
}

static braid_status try_add(struct setting *s, const braid_kernel *kernel, const void *from,
                            const void *to, braid_node *node)
{
    return braid_graph_add_kernel(
        s->graph,
        &(braid_kernel_node){ .kernel = kernel,
                              .code_use = BRAID_CODE_DECLARES,
                              BRAID_ARGS(BRAID_ARG(from), BRAID_ARG(to)) },
        node);
}

static braid_node add(struct setting *s, const braid_kernel *kernel, const void *from,
                      const void *to)
{
    braid_node node;
    check_ok(try_add(s, kernel, from, to, &node));
    return node;
}

static braid_schedule *plan(struct setting *s)
{
    braid_schedule *schedule;
    check_ok(braid_schedule_create(s->graph, &(braid_schedule_options){ .device = s->device },
                                   &schedule));
    return schedule;
}

// The explanation of a node, or of the order of two.
static const char *explain(struct setting *s, braid_node first, braid_node second)
{
    braid_schedule *schedule = plan(s);
    const braid_node nodes[] = { first, second };
    check_ok(
        braid_schedule_explain(schedule, nodes, second.graph ? 2 : 1, s->found, sizeof(s->found)));
    braid_schedule_destroy(schedule);
    return s->found;
}

#define explain_has(s, first, second, part)                                                        \
    do {                                                                                           \
        if (!strstr(explain(s, first, second), part))                                              \
            fail_msg("'%s' has no '%s'", (s)->found, part);                                        \
    } while (0)

static void code_orders_nodes(void **state)
{
    (void)state;
    struct setting s = make_setting();
    const braid_node first = add(&s, &copy, a, b), beside = add(&s, &copy, a, c),
                     second = add(&s, &sum, b, c);
    explain_has(&s, first, second, "ordered by data in b (written by copy, read by sum)");
    explain_has(&s, beside, second, "ordered by data in c");
    if (strstr(explain(&s, first, beside), "ordered by data"))
        fail_msg("%s", s.found);
    finish(&s);
}

static void a_pointer_that_the_code_leaves_alone_orders_nothing(void **state)
{
    (void)state;
    struct setting s = make_setting();
    const braid_node first = add(&s, &copy, a, b), second = add(&s, &idle, b, b);
    if (strstr(explain(&s, first, second), "by data"))
        fail_msg("%s", s.found);
    finish(&s);
}

static void pointers_in_structs_count(void **state)
{
    (void)state;
    struct setting s = make_setting();
    const struct {
        uint64_t n;
        const char *from, *to;
    } all = { 1, b + 4, c };
    braid_node second;
    const braid_node first = add(&s, &copy, a, b);
    check_ok(braid_graph_add_kernel(s.graph,
                                    &(braid_kernel_node){ .kernel = &packs,
                                                          .code_use = BRAID_CODE_DECLARES,
                                                          BRAID_ARGS(BRAID_ARG(all)) },
                                    &second));
    explain_has(&s, first, second, "ordered by data in b");
    finish(&s);
}

static void resources_have_the_accesses_of_their_arguments(void **state)
{
    (void)state;
    struct setting s = make_setting();
    braid_resource transient;
    braid_node first, second;
    check_ok(braid_graph_add_transient(s.graph, "t", BYTES, 0, &transient));
    const void *from = a, *to = c;
    check_ok(braid_graph_add_kernel(
        s.graph,
        &(braid_kernel_node){ .kernel = &copy,
                              .code_use = BRAID_CODE_DECLARES,
                              .node = { .accesses = &(braid_access){ transient, BRAID_WRITE },
                                        .num_accesses = 1 }, // the first node writes all of it
                              BRAID_ARGS(BRAID_ARG(from), braid_resource_address(&transient)) },
        &first));
    check_ok(braid_graph_add_kernel(
        s.graph,
        &(braid_kernel_node){ .kernel = &copy,
                              .code_use = BRAID_CODE_DECLARES,
                              BRAID_ARGS(braid_resource_address(&transient), BRAID_ARG(to)) },
        &second));
    explain_has(&s, first, second, "ordered by data in t (written by copy, read by copy)");
    finish(&s);
}

static braid_status complete(struct setting *s, const braid_kernel *kernel,
                             const braid_access *read, const braid_resource *to, braid_node *node)
{
    return braid_graph_add_kernel(
        s->graph,
        &(braid_kernel_node){
            .kernel = kernel,
            .node = { .accesses = read, .num_accesses = read ? 1 : 0 },
            .code_use = BRAID_CODE_COMPLETES,
            BRAID_ARGS(braid_resource_address(&s->a), braid_resource_address(to)) },
        node);
}

static void code_completes_accesses_to_arguments(void **state)
{
    (void)state;
    static const braid_kernel bare = { .name = "bare", .cpu = do_nothing };
    struct setting s = make_setting();
    const braid_access reads_a = { s.a, BRAID_READ }, reads_c = { s.c, BRAID_READ };
    braid_resource scratch, transient;
    braid_node second;
    check_ok(braid_graph_add_scratch(s.graph, "own", BYTES, 0, &scratch));
    check_ok(braid_graph_add_transient(s.graph, "t", BYTES, 0, &transient));
    check_fails(complete(&s, &follows, &reads_a, &s.b, NULL), BRAID_INVALID_ARGUMENT, "not proven");
    check_ok(complete(&s, &follows, &reads_a, &scratch, NULL)); // nothing to complete
    const braid_node first = add(&s, &copy, a, b);
    check_ok(complete(&s, &sum, &reads_a, &s.b, &second));
    explain_has(&s, first, second, "ordered by data in b (written by copy, changed by sum)");
    check_fails(complete(&s, &bare, &reads_a, &transient, NULL), BRAID_INVALID_ARGUMENT,
                "'t', whose memory frames choose and to which the node declares no access");
    check_ok(complete(&s, &copy, &reads_c, &s.a, NULL));
    check_ok(complete(&s, &copy, &reads_a, &s.a, NULL)); // it declares, and so is compared
    check_fails(braid_schedule_create(s.graph, &(braid_schedule_options){ .device = s.device },
                                      &(braid_schedule *){ NULL }),
                BRAID_INVALID_ARGUMENT, "node 4 'copy': it declares to read 'a', and line 9");
    finish(&s);
}

// The node declares what it does to one range, and not to the other that it is given.
static void each_range_counts_by_itself(void **state)
{
    (void)state;
    struct setting s = make_setting();
    braid_resource low, high;
    braid_node first, second;
    check_ok(braid_graph_add_range(s.graph, s.a, 0, BYTES / 2, &low));
    check_ok(braid_graph_add_range(s.graph, s.a, BYTES / 2, BYTES / 2, &high));
    check_ok(braid_graph_add_fill(s.graph,
                                  &(braid_fill){ .to = a + BYTES / 2,
                                                 .num_values = BYTES / 2,
                                                 BRAID_ACCESSES({ high, BRAID_WRITE }) },
                                  &first));
    check_ok(
        braid_graph_add_kernel(s.graph,
                               &(braid_kernel_node){ .kernel = &copy,
                                                     .code_use = BRAID_CODE_DECLARES,
                                                     BRAID_ACCESSES({ low, BRAID_READ_WRITE }),
                                                     BRAID_ARGS(braid_resource_address(&low),
                                                                braid_resource_address(&high)) },
                               &second));
    explain_has(&s, first, second, "ordered by data in a");
    finish(&s);
}

static void variables_of_a_module_are_shared(void **state)
{
    (void)state;
    struct setting s = make_setting();
    const braid_node first = add(&s, &counts, a, a), second = add(&s, &counts, b, b);
    explain_has(&s, first, second, "variables of the module of counts");
    check_ok(braid_graph_add_kernel(
        s.graph,
        &(braid_kernel_node){ .kernel = &counts, BRAID_ARGS(BRAID_ARG(s.a), BRAID_ARG(s.a)) },
        NULL));
    braid_schedule *schedule;
    check_fails(
        braid_schedule_create(s.graph, &(braid_schedule_options){ .device = s.device }, &schedule),
        BRAID_INVALID_ARGUMENT, "node 2 'counts': its kernel writes variables of its module");
    finish(&s);
}

static braid_status find_counts(void *user, uint32_t node, const braid_kernel *kernel,
                                char **out_text, const char **out_entry)
{
    (void)user, (void)node, (void)kernel;
    *out_text = braid_copy_text(steps);
    *out_entry = "counts";
    return *out_text ? BRAID_OK : BRAID_NO_MEMORY;
}

// For the device on which an exec is made its source is other code.
static void variables_that_code_uses_later_are_told(void **state)
{
    (void)state;
    static const braid_kernel compiled = {
        .name = "compiled",
        .source = "extern \"C\" __global__ void compiled(const int *from, int *to) {}\n"
    };
    const struct text_finder finder = { .target = "another", .find = find_counts };
    struct setting s = make_setting();
    add(&s, &compiled, a, b);
    check_fails(braid_graph_code->check(s.graph, &finder), BRAID_INVALID_ARGUMENT,
                "node 0 'compiled': compiled for this device its kernel writes variables");
    finish(&s);
}

static void a_grid_in_memory_is_read(void **state)
{
    (void)state;
    static const braid_kernel sized = KERNEL("copy");
    struct setting s = make_setting();
    const void *from = a, *to = c;
    braid_node second;
    const braid_node first = add(&s, &copy, a, b);
    check_ok(
        braid_graph_add_kernel(s.graph,
                               &(braid_kernel_node){ .kernel = &sized,
                                                     .code_use = BRAID_CODE_DECLARES,
                                                     .grid = { 4, 1, 1 },
                                                     .grid_from = b,
                                                     BRAID_ARGS(BRAID_ARG(from), BRAID_ARG(to)) },
                               &second));
    explain_has(&s, first, second, "ordered by data in b");
    finish(&s);
}

static void what_code_does_not_tell_is_refused(void **state)
{
    (void)state;
    static const char machine[] = "\177ELF";
    static const braid_kernel cut = { .name = "k", .cpu = do_nothing, .cuda.data = ".version 8.0" },
                              gone = KERNEL("gone"), bare = { .name = "bare", .cpu = do_nothing },
                              coded = { .name = "coded", .cuda.data = machine },
                              own = { .name = "own", .cuda.function = a };
    const struct {
        const braid_kernel *kernel;
        const void *to;
        braid_status status;
        const char *message;
    } cases[] = {
        { &follows, b, BRAID_INVALID_ARGUMENT,
          "node 'follows': the accesses of kernel 'follows' are not proven: line 32 of its PTX: an "
          "address is loaded from memory. Declare the node's accesses" },
        { &copy, elsewhere, BRAID_INVALID_ARGUMENT,
          "node 'copy': argument 1 has an address in no declared buffer, and line 9 of its "
          "kernel's "
          "PTX uses it" },
        { &scales, b, BRAID_INVALID_ARGUMENT, "its argument 1 has 8 bytes, and 4 in the PTX" },
        { &cut, b, BRAID_INVALID_ARGUMENT, "line 1 of its PTX" },
        { &gone, b, BRAID_INVALID_ARGUMENT, "it has no kernel of the name" },
        { &bare, b, BRAID_UNSUPPORTED, "it has no code for CUDA. Declare the node's accesses" },
        { &coded, b, BRAID_UNSUPPORTED, "its code is machine code" },
        { &own, b, BRAID_UNSUPPORTED, "it is the program's own function" },
    };
    struct setting s = make_setting();
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        check_fails(try_add(&s, cases[i].kernel, a, cases[i].to, NULL), cases[i].status,
                    cases[i].message);
        assert_int_equal(braid_graph_get_num_nodes(s.graph), 0);
    }
    check_fails(
        braid_graph_add_kernel(
            s.graph, &(braid_kernel_node){ .kernel = &copy, .code_use = (braid_code_use)4 }, NULL),
        BRAID_INVALID_ARGUMENT, ".code_use is 4, which is unknown");
    finish(&s);
}

static void addresses_that_the_code_uses_stay(void **state)
{
    (void)state;
    struct setting s = make_setting();
    const void *from = a, *to = b, *other = c;
    float by = 2.0f;
    braid_node node;
    braid_parameter parameter;
    braid_exec *exec;
    check_ok(
        braid_graph_add_kernel(s.graph,
                               &(braid_kernel_node){ .kernel = &scales,
                                                     .code_use = BRAID_CODE_DECLARES,
                                                     BRAID_ARGS(BRAID_ARG(to), BRAID_ARG(by)) },
                               &node));
    check_ok(braid_graph_add_parameter(s.graph, "place", sizeof(void *), &parameter));
    braid_parameter_use use = { .node = node, .target = BRAID_TARGET_ARGUMENT };
    check_fails(braid_graph_use_parameter(s.graph, parameter, &use), BRAID_INVALID_ARGUMENT,
                "parameter 'place': the code of node 0 'scales' uses argument 0 as an address");
    const braid_node second = add(&s, &idle, from, to);
    use.node = second;
    check_ok(braid_graph_use_parameter(s.graph, parameter, &use)); // nobody uses it
    check_ok(braid_exec_create(s.device, s.graph, NULL, &exec));
    check_ok(braid_exec_set_arg(exec, node, 1, BRAID_ARG(by)));
    check_ok(braid_exec_set_arg(exec, node, 0, BRAID_ARG(to)));
    check_ok(braid_exec_set_arg(exec, second, 1, BRAID_ARG(other)));
    check_fails(braid_exec_set_arg(exec, node, 0, BRAID_ARG(other)), BRAID_INVALID_ARGUMENT,
                "braid_exec_set_arg: node 0 'scales': its code uses argument 0 as an address");
    check_fails(
        braid_exec_set_args(exec, node, (const braid_arg[]){ BRAID_ARG(other), BRAID_ARG(by) }, 2),
        BRAID_INVALID_ARGUMENT, "uses argument 0 as an address");
    braid_exec_destroy(exec);
    finish(&s);
}

static braid_node declare(struct setting *s, braid_access_mode from_mode, braid_access_mode to_mode,
                          braid_code_use code_use)
{
    const void *from = a, *to = b;
    const braid_access accesses[] = { { s->a, from_mode }, { s->b, to_mode } };
    braid_node node;
    check_ok(braid_graph_add_kernel(
        s->graph,
        &(braid_kernel_node){ .node = { .name = "blur", .accesses = accesses, .num_accesses = 2 },
                              .kernel = &copy,
                              .code_use = code_use,
                              BRAID_ARGS(BRAID_ARG(from), BRAID_ARG(to)) },
        &node));
    return node;
}

static void declared_accesses_are_compared(void **state)
{
    (void)state;
    struct setting s = make_setting();
    braid_schedule *schedule;
    braid_exec *exec;
    declare(&s, BRAID_READ, BRAID_READ, BRAID_CODE_UNREAD);
    braid_schedule_destroy(plan(&s));
    declare(&s, BRAID_READ, BRAID_READ, BRAID_CODE_CHECKS);
    check_fails(
        braid_schedule_create(s.graph, &(braid_schedule_options){ .device = s.device }, &schedule),
        BRAID_INVALID_ARGUMENT,
        "node 1 'blur': it declares to read 'b', and line 9 of the PTX of its kernel writes "
        "it, through argument 1");
    check_fails(braid_exec_create(s.device, s.graph, NULL, &exec), BRAID_INVALID_ARGUMENT,
                "line 9 of the PTX");
    finish(&s);
    s = make_setting();
    declare(&s, BRAID_READ, BRAID_READ, BRAID_CODE_DECLARES); // does not hide it
    check_fails(braid_exec_create(s.device, s.graph, NULL, &exec), BRAID_INVALID_ARGUMENT,
                "node 0 'blur': it declares to read 'b', and line 9 of the PTX");
    finish(&s);
}

static void what_code_never_does_is_remarked(void **state)
{
    (void)state;
    struct setting s = make_setting();
    const braid_node none = { 0 }, plain = declare(&s, BRAID_READ_WRITE, BRAID_WRITE, 0);
    const void *from = a, *to = b;
    braid_node unproven;
    explain_has(&s, plain, none, "; its code never writes 'a', as it declares");
    const braid_access accesses[] = { { s.a, BRAID_READ_WRITE }, { s.b, BRAID_READ } };
    check_ok(braid_graph_add_kernel(
        s.graph,
        &(braid_kernel_node){ .kernel = &follows,
                              .node = { .accesses = accesses, .num_accesses = 2 },
                              BRAID_ARGS(BRAID_ARG(from), BRAID_ARG(to)) },
        &unproven));
    explain_has(&s, unproven, none,
                "; its accesses were not compared with its code: an address is");
    explain_has(&s, plain, none, "; its code never writes 'a', as it declares");
    const braid_node fits = declare(&s, BRAID_READ, BRAID_WRITE, BRAID_CODE_DECLARES);
    if (strstr(explain(&s, fits, none), "its code"))
        fail_msg("%s", s.found);
    braid_node unchecked;
    check_ok(braid_graph_add_kernel(
        s.graph,
        &(braid_kernel_node){ .kernel = &copy,
                              .node = { .accesses = accesses, .num_accesses = 2 },
                              BRAID_ARGS({ &from, sizeof(from), BRAID_ARG_UNCHECKED_POINTER },
                                         { &to, sizeof(to), BRAID_ARG_UNCHECKED_POINTER }) },
        &unchecked));
    if (strstr(explain(&s, unchecked, none), "its code")) // nobody knows what it touches
        fail_msg("%s", s.found);
    finish(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        owning_test(code_orders_nodes),
        owning_test(a_pointer_that_the_code_leaves_alone_orders_nothing),
        owning_test(pointers_in_structs_count),
        owning_test(resources_have_the_accesses_of_their_arguments),
        owning_test(code_completes_accesses_to_arguments),
        owning_test(each_range_counts_by_itself),
        owning_test(variables_of_a_module_are_shared),
        owning_test(variables_that_code_uses_later_are_told),
        owning_test(a_grid_in_memory_is_read),
        owning_test(what_code_does_not_tell_is_refused),
        owning_test(addresses_that_the_code_uses_stay),
        owning_test(declared_accesses_are_compared),
        owning_test(what_code_never_does_is_remarked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
