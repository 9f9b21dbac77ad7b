// SPDX-License-Identifier: Apache-2.0
// The accesses of a kernel node are derived from its code and the addresses among its arguments,
// and declared accesses are compared with them. Each error names node, argument and line.
#include <stdio.h>
#include <string.h>

#include "accesses/accesses.h"
#include "accesses/argument.h"
#include "support/check.h"
#include "support/owner.h"

enum { BYTES = 64, BUFFERS = 4, MOST_TEXT = 256 };

#define HEAD ".version 8.0\n.target sm_90\n.address_size 64\n.global .u32 count;\n"
#define LOAD(to, from) "ld.param.u64 %" to ", [" from "];\n"

// Reads through `from` and writes through the second pointer of `to`; line 8 reads, line 9 writes.
static const char copies[] = HEAD
    ".entry k(.param .u64 from, .param .align 8 .b8 to[16], .param .u64 n) {\n" LOAD("d0", "from")
        LOAD("d1", "to+8") "ld.global.u32 %r0, [%d0];\n"
                           "st.global.u32 [%d1], %r0;\nret;\n}\n";
// Reads through any pointer of the struct, which one or two instructions load.
#define CHOOSES(struct, load)                                                                      \
    HEAD ".entry k(.param .u64 from, .param " struct ", .param .u64 n) {\n"                        \
                                                     "mov.b64 %d0, to;\n" LOAD(                    \
                                                         "d1",                                     \
                                                         "n") "shl.b64 %d1, %d1, 3;\nadd.s64 "     \
                                                              "%d0, %d0, %d1;\n" load              \
                                                              "ld.u32 %r0, [%d2];\nret;\n}\n"
#define WHOLE "ld.param.b64 %d2, [%d0];\n"
#define HALVES "ld.param.v2.b32 {%r1, %r2}, [%d0]; mov.b64 %d2, {%r1, %r2};\n"
static const char chooses[] = CHOOSES(".align 8 .b8 to[16]", WHOLE);
static const char chooses_halves[] = CHOOSES(".align 8 .b8 to[16]", HALVES);
static const char chooses_words[] = CHOOSES(".align 4 .b8 to[16]", WHOLE);
static const char chooses_bytes[] = CHOOSES(".align 1 .b8 to[16]", WHOLE);
// Reads in front of `from`, where an array may end.
static const char goes_back[] = HEAD
    ".entry k(.param .u64 from, .param .align 8 .b8 to[16], .param .u64 n) {\n" LOAD("d0", "from")
        LOAD("d1", "to+8") "ld.global.u32 %r0, [%d0+-4];\n"
                           "st.global.u32 [%d1], %r0;\nret;\n}\n";
// Writes through `from`, and reads through the first pointer of `to`.
static const char turns[] = HEAD
    ".entry k(.param .u64 from, .param .align 8 .b8 to[16], .param .u64 n) {\n" LOAD("d0", "from")
        LOAD("d1", "to") "st.global.u32 [%d0], 1;\nld.global.u32 %r0, [%d1];\nret;\n}\n";
// Counts atomically, also in a variable of the module.
static const char counts[] =
    HEAD ".entry k(.param .u64 from, .param .align 8 .b8 to[16], .param .u64 n) {\n" LOAD(
        "d0", "from") "red.global.add.u32 [%d0], 1;\nred.global.add.u32 [count], 1;\nret;\n}\n";
// Follows a pointer in memory.
static const char follows[] =
    HEAD ".entry k(.param .u64 from, .param .align 8 .b8 to[16], .param .u64 n) {\n" LOAD(
        "d0", "from") "ld.global.u64 %d1, [%d0];\nst.u32 [%d1], 1;\nret;\n}\n";

// Two buffers side by side, and two more apart; nobody touches this memory.
static _Alignas(64) char memory[6 * BYTES];

static const char *const names[BUFFERS] = { "a", "b", "c", "d" };
static const size_t places[BUFFERS] = { 0, BYTES, 3 * BYTES, 5 * BYTES };

struct setting {
    braid_graph *graph;
    braid_resource buffers[BUFFERS], part, transient, scratch, named;
    braid_parameter parameter;
    const void *from, *to[2];
    uint64_t n;
    braid_kernel kernel;
    struct extents extents;
    struct graph_changes changes;
    struct accesses_view view;
    struct accesses_kernel code;
    char found[MOST_TEXT];
};

static struct setting make_setting(const char *text)
{
    struct setting s = { .graph = own_graph(),
                         .kernel = { .name = "k", .cuda = { .data = text } },
                         .from = memory,
                         .to = { NULL, memory + 3 * BYTES },
                         .n = 5 };
    for (int i = 0; i < BUFFERS; i++)
        check_ok(
            braid_graph_add_buffer(s.graph, names[i], memory + places[i], BYTES, &s.buffers[i]));
    check_ok(braid_graph_add_range(s.graph, s.buffers[0], 16, 16, &s.part));
    check_ok(braid_graph_add_transient(s.graph, "t", BYTES, 0, &s.transient));
    check_ok(braid_graph_add_scratch(s.graph, "s", BYTES, 0, &s.scratch));
    check_ok(braid_graph_add_resource(s.graph, "log", &s.named));
    check_ok(braid_graph_add_parameter(s.graph, "place", sizeof(void *), &s.parameter));
    check_ok(braid_accesses_read(text, "k", &s.code));
    return s;
}

static braid_node add(struct setting *s, const braid_kernel_node *launch)
{
    braid_node node;
    braid_kernel_node own = *launch;
    own.kernel = &s->kernel;
    check_ok(braid_graph_add_kernel(s->graph, &own, &node));
    return node;
}

#define ACCESSES(...)                                                                              \
    .accesses = (const braid_access[]){ __VA_ARGS__ },                                             \
    .num_accesses = sizeof((const braid_access[]){ __VA_ARGS__ }) / sizeof(braid_access)
#define ARGUMENTS(s)                                                                               \
    BRAID_ARGS(BRAID_ARG((s).from), { (s).to, sizeof((s).to), BRAID_ARG_VALUE, 0 },                \
               BRAID_ARG((s).n))

static braid_node add_plain(struct setting *s)
{
    return add(s, &(braid_kernel_node){ .node.name = "step", ARGUMENTS(*s) });
}

static void change(const struct setting *s, braid_node node, size_t argument)
{
    const braid_parameter_use use = { .node = node,
                                      .target = BRAID_TARGET_ARGUMENT,
                                      .argument = argument };
    check_ok(braid_graph_use_parameter(s->graph, s->parameter, &use));
}

static void look(struct setting *s)
{
    check_ok(braid_extents_create(s->graph, &s->extents));
    check_ok(braid_graph_find_changes(s->graph, &s->changes));
    s->view = (struct accesses_view){ s->graph, &s->extents, &s->changes };
}

static void look_away(struct setting *s)
{
    braid_graph_changes_finish(&s->changes);
    braid_extents_finish(&s->extents);
}

static void finish(struct setting *s)
{
    braid_accesses_finish(&s->code);
    destroy_now(s->graph);
}

static const char *name_of_mode(uint32_t mode)
{
    return mode == BRAID_READ ? "reads" : mode == BRAID_READ_WRITE ? "updates" : "?";
}

// "reads a by 0 at 7; updates c by 1 at 8", or the error.
static const char *derive(struct setting *s, braid_node node)
{
    struct array accesses = { 0 };
    const struct graph_kernel *kernel = graph_kernel_of(s->graph, node.index);
    struct code_argument args[8];
    const struct code_launch launch = { .name = "step",
                                        .kernel = &s->kernel,
                                        .args = args,
                                        .num_args = kernel->num_args - kernel->grid_from };
    size_t length = 0;
    look(s);
    s->found[0] = '\0';
    for (uint32_t i = 0; i < launch.num_args; i++)
        args[i] = braid_accesses_argument(s->graph, node.index, i);
    if (braid_accesses_derive(&s->view, &launch, &s->code, &accesses))
        snprintf(s->found, sizeof(s->found), "%s", braid_error_get_message());
    look_away(s);
    const struct derived_access *items = accesses.items;
    for (size_t i = 0; i < accesses.num; i++) {
        char name[64];
        length += (size_t)snprintf(
            s->found + length, sizeof(s->found) - length, "%s%s %s by %u at %u", i ? "; " : "",
            name_of_mode(items[i].mode),
            braid_graph_resource_name(s->graph, items[i].resource, name, sizeof(name)),
            items[i].argument, braid_ptx_line(s->code.text, items[i].at));
    }
    braid_array_finish(&accesses);
    return s->found;
}

static void expect(const char *found, const char *expected)
{
    const bool is_error = strncmp(found, "node ", 5) == 0; // a part of it is expected
    if (is_error ? !*expected || !strstr(found, expected) : strcmp(found, expected) != 0)
        fail_msg("'%s' instead of '%s'", found, expected);
}

// The remarks, or the error.
static const char *check(struct setting *s, braid_node node)
{
    struct accesses_checker checker = { 0 };
    size_t length = 0;
    look(s);
    s->found[0] = '\0';
    if (braid_accesses_check(&checker, &s->view, node.index, &s->code))
        snprintf(s->found, sizeof(s->found), "%s", braid_error_get_message());
    look_away(s);
    const struct access_remark *items = checker.remarks.items;
    for (size_t i = 0; i < checker.remarks.num; i++) {
        char name[64];
        length += (size_t)snprintf(
            s->found + length, sizeof(s->found) - length, "%s%s never %s%s", i ? "; " : "",
            braid_graph_resource_name(s->graph, items[i].resource, name, sizeof(name)),
            items[i].acts & ACCESSES_READS ? "read" : "",
            items[i].acts & ACCESSES_WRITES ? "written" : "");
    }
    braid_accesses_checker_finish(&checker);
    return s->found;
}

static void addresses_become_accesses(void **state)
{
    (void)state;
    struct setting s = make_setting(copies);
    expect(derive(&s, add_plain(&s)), "reads a by 0 at 8; updates c by 1 at 9");
    s.from = memory + 4;
    s.to[1] = memory + BYTES - 1;
    expect(derive(&s, add_plain(&s)), "updates a by 1 at 9");
    s.from = NULL;
    s.to[1] = (const void *)(uintptr_t)4096;
    expect(derive(&s, add_plain(&s)), "");
    s.n = (uintptr_t)(memory + 2 * BYTES); // the code uses it as a number
    expect(derive(&s, add_plain(&s)), "");
    finish(&s);
    s = make_setting(turns);
    s.to[0] = memory + 4; // and the code does not use to[1]
    expect(derive(&s, add_plain(&s)), "updates a by 0 at 8");
    finish(&s);
    s = make_setting(counts);
    expect(derive(&s, add_plain(&s)), "updates a by 0 at 7");
    finish(&s);
}

static void any_pointer_of_a_struct_may_be_used(void **state)
{
    (void)state;
    struct setting s = make_setting(chooses);
    s.to[0] = memory + BYTES;
    expect(derive(&s, add_plain(&s)), "reads b by 1 at 11; reads c by 1 at 11");
    s.to[1] = NULL;
    expect(derive(&s, add_plain(&s)), "reads b by 1 at 11");
    finish(&s);
}

static void a_pointer_may_stand_at_any_aligned_offset(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t offset;
        const char *expected;
    } examples[] = {
        { chooses, 8, "reads 'b' through argument 1" },        { chooses, 4, "" },
        { chooses_halves, 4, "reads 'b' through argument 1" }, { chooses_halves, 3, "" },
        { chooses_words, 4, "reads 'b' through argument 1" },  { chooses_words, 3, "" },
        { chooses_bytes, 3, "reads 'b' through argument 1" }
    };
    for (size_t i = 0; i < sizeof(examples) / sizeof(examples[0]); i++) {
        struct setting s = make_setting(examples[i].text);
        const void *b = memory + BYTES;
        s.to[0] = s.to[1] = NULL;
        memcpy((unsigned char *)s.to + examples[i].offset, &b, sizeof(b));
        expect(check(&s, add_plain(&s)), examples[i].expected);
        finish(&s);
    }
}

static void resources_stand_for_their_addresses(void **state)
{
    (void)state;
    struct setting s = make_setting(copies);
    braid_node node =
        add(&s, &(braid_kernel_node){ .node = { .name = "step" },
                                      BRAID_ARGS(braid_resource_address(&s.part),
                                                 { s.to, sizeof(s.to), BRAID_ARG_VALUE, 0 },
                                                 BRAID_ARG(s.n)) });
    expect(derive(&s, node), "reads a[16, 32) by 0 at 8; updates c by 1 at 9");
    node = add(&s, &(braid_kernel_node){
                       .node = { .name = "step" },
                       BRAID_ARGS(braid_resource_argument(&s.transient, BRAID_READ),
                                  { s.to, sizeof(s.to), BRAID_ARG_VALUE, 0 }, BRAID_ARG(s.n)) });
    expect(derive(&s, node), "reads t by 0 at 8; updates c by 1 at 9");
    s.from = memory;
    node = add(&s, &(braid_kernel_node){
                       .node = { .name = "step" },
                       BRAID_ARGS({ &s.from, sizeof(s.from), BRAID_ARG_UNCHECKED_POINTER, 0 },
                                  { s.to, sizeof(s.to), BRAID_ARG_VALUE, 0 }, BRAID_TRAP()) });
    expect(derive(&s, node), "updates c by 1 at 9");
    node = add(&s, &(braid_kernel_node){ .node = { .name = "step" },
                                         BRAID_ARGS(braid_resource_address(&s.scratch),
                                                    { s.to, sizeof(s.to), BRAID_ARG_VALUE, 0 },
                                                    BRAID_ARG(s.n)) });
    expect(derive(&s, node), "updates c by 1 at 9");
    finish(&s);
}

static void what_nobody_can_tell_is_an_error(void **state)
{
    (void)state;
    struct setting s = make_setting(copies);
    s.to[1] = (const void *)(uintptr_t)UINT64_C(0x7f0012345000);
    expect(derive(&s, add_plain(&s)),
           "node 'step': argument 1 has an address in no declared buffer, "
           "and line 9 of its kernel");
    finish(&s);
    s = make_setting(follows);
    expect(derive(&s, add_plain(&s)),
           "node 'step': the accesses of kernel 'k' are not proven: line 8 "
           "of its PTX: an address is loaded from memory");
    expect(check(&s, add_plain(&s)), "");
    finish(&s);
    s = make_setting(".version 8.0\n.target sm_90\n.entry other() {\nret;\n}\n");
    expect(derive(&s, add_plain(&s)), "line 1 of its PTX: it has no kernel of the name");
    finish(&s);
    s = make_setting(".version 8.0\n.target sm_90\n.entry k() {\nret\n}\n");
    expect(derive(&s, add_plain(&s)), "line 4 of its PTX: a statement of it has no semicolon");
    finish(&s);
    s = make_setting(HEAD ".entry k(.param .u64 from) {\nret;\n}\n");
    expect(derive(&s, add_plain(&s)), "it gives 3 arguments to kernel 'k', which has 1 parameters");
    finish(&s);
    s = make_setting(HEAD ".entry k(.param .u64 a, .param .u64 b, .param .u64 c) {\nret;\n}\n");
    expect(derive(&s, add_plain(&s)),
           "its argument 1 has 16 bytes, and 8 in the PTX of kernel 'k'");
    finish(&s);
}

static void an_address_that_changes_is_not_compared(void **state)
{
    (void)state;
    struct setting s = make_setting(copies);
    const braid_node node = add_plain(&s);
    change(&s, node, 2);
    change(&s, node, 1); // the first of two pointers
    expect(check(&s, node), "line 8 of the PTX of its kernel reads 'a'");
    change(&s, node, 0);
    expect(check(&s, node), "line 9 of the PTX of its kernel writes 'c'");
    finish(&s);
}

static void declared_accesses_are_compared(void **state)
{
    (void)state;
    struct setting s = make_setting(copies);
    braid_node node =
        add(&s, &(braid_kernel_node){ .node = { .name = "blur",
                                                ACCESSES({ s.buffers[0], BRAID_READ },
                                                         { s.buffers[2], BRAID_WRITE }) },
                                      ARGUMENTS(s) });
    expect(check(&s, node), "");
    node = add(&s, &(braid_kernel_node){ .node = { .name = "blur",
                                                   ACCESSES({ s.buffers[0], BRAID_READ },
                                                            { s.buffers[2], BRAID_READ }) },
                                         ARGUMENTS(s) });
    expect(check(&s, node),
           "node 1 'blur': it declares to read 'c', and line 9 of the PTX of its kernel "
           "writes it, through argument 1");
    node = add(&s, &(braid_kernel_node){
                       .node = { .name = "blur", ACCESSES({ s.buffers[2], BRAID_WRITE }) },
                       ARGUMENTS(s) });
    expect(check(&s, node),
           "node 2 'blur': line 8 of the PTX of its kernel reads 'a' through argument 0, "
           "and the node declares no access to it");
    node = add(&s, &(braid_kernel_node){
                       .node = { .name = "blur",
                                 ACCESSES({ s.part, BRAID_READ }, { s.buffers[2], BRAID_WRITE }) },
                       ARGUMENTS(s) });
    expect(check(&s, node), "");
    s.from = memory + 5 * BYTES; // nothing ends where 'd' begins
    node = add(&s, &(braid_kernel_node){
                       .node = { .name = "blur", ACCESSES({ s.buffers[2], BRAID_READ_WRITE }) },
                       ARGUMENTS(s) });
    expect(check(&s, node), "reads 'd' through argument 0, and the node declares no access to it");
    finish(&s);
}

// The code goes backwards from the end of a buffer, where another one begins.
static void the_end_of_a_buffer_is_not_the_next_one(void **state)
{
    (void)state;
    struct setting s = make_setting(copies);
    s.to[1] = memory + BYTES;
    const braid_node node =
        add(&s, &(braid_kernel_node){ .node = { .name = "blur",
                                                ACCESSES({ s.buffers[0], BRAID_READ_WRITE },
                                                         { s.buffers[1], BRAID_READ }) },
                                      ARGUMENTS(s) });
    expect(check(&s, node), "b never read");
    finish(&s);
}

static void an_end_that_begins_another_buffer_may_mean_either(void **state)
{
    (void)state;
    struct setting s = make_setting(goes_back);
    s.from = memory + BYTES;
    expect(derive(&s, add_plain(&s)), "reads b by 0 at 8; reads a by 0 at 8; updates c by 1 at 9");
    const braid_node node =
        add(&s, &(braid_kernel_node){
                    .node = { .name = "blur",
                              ACCESSES({ s.buffers[0], BRAID_READ }, { s.buffers[1], BRAID_READ },
                                       { s.buffers[2], BRAID_READ_WRITE }) },
                    ARGUMENTS(s) });
    expect(check(&s, node), "");
    finish(&s);
}

static void declared_accesses_that_never_happen_are_remarks(void **state)
{
    (void)state;
    struct setting s = make_setting(copies);
    braid_node node =
        add(&s, &(braid_kernel_node){ .node = { .name = "blur",
                                                ACCESSES({ s.buffers[0], BRAID_READ_WRITE },
                                                         { s.buffers[2], BRAID_WRITE },
                                                         { s.buffers[3], BRAID_READ }) },
                                      ARGUMENTS(s) });
    expect(check(&s, node), "a never written; d never read");
    change(&s, node, 0); // nobody knows where it leads then
    expect(check(&s, node), "");
    // A name has no memory, and Braid itself declares scratch.
    node = add(&s, &(braid_kernel_node){
                       .node = { .name = "blur",
                                 ACCESSES({ s.buffers[2], BRAID_WRITE }, { s.named, BRAID_WRITE },
                                          { s.buffers[3], BRAID_READ }) },
                       BRAID_ARGS(braid_resource_address(&s.scratch),
                                  { s.to, sizeof(s.to), BRAID_ARG_VALUE, 0 }, BRAID_ARG(s.n)) });
    expect(check(&s, node), "d never read");
    s.from = memory + BYTES; // the end of 'a', which the code may go back from
    node = add(&s, &(braid_kernel_node){ .node = { .name = "blur",
                                                   ACCESSES({ s.buffers[0], BRAID_READ },
                                                            { s.buffers[2], BRAID_WRITE }) },
                                         ARGUMENTS(s) });
    expect(check(&s, node), "");
    finish(&s);
}

static void a_grid_in_memory_is_read_by_the_launch(void **state)
{
    (void)state;
    struct setting s = make_setting(copies);
    const braid_node node =
        add(&s, &(braid_kernel_node){
                    .node = { .name = "blur",
                              ACCESSES({ s.buffers[0], BRAID_READ }, { s.buffers[2], BRAID_WRITE },
                                       { s.buffers[3], BRAID_READ }) },
                    .grid_from_resource = s.buffers[3],
                    ARGUMENTS(s) });
    expect(check(&s, node), "");
    expect(derive(&s, node), "reads a by 0 at 8; updates c by 1 at 9");
    const braid_node wrong =
        add(&s, &(braid_kernel_node){
                    .node = { .name = "blur",
                              ACCESSES({ s.buffers[0], BRAID_READ }, { s.buffers[2], BRAID_READ },
                                       { s.buffers[3], BRAID_READ }) },
                    .grid_from_resource = s.buffers[3],
                    ARGUMENTS(s) });
    expect(check(&s, wrong), "it declares to read 'c'");
    finish(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        owning_test(addresses_become_accesses),
        owning_test(any_pointer_of_a_struct_may_be_used),
        owning_test(a_pointer_may_stand_at_any_aligned_offset),
        owning_test(a_grid_in_memory_is_read_by_the_launch),
        owning_test(resources_stand_for_their_addresses),
        owning_test(what_nobody_can_tell_is_an_error),
        owning_test(an_address_that_changes_is_not_compared),
        owning_test(declared_accesses_are_compared),
        owning_test(the_end_of_a_buffer_is_not_the_next_one),
        owning_test(an_end_that_begins_another_buffer_may_mean_either),
        owning_test(declared_accesses_that_never_happen_are_remarks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
