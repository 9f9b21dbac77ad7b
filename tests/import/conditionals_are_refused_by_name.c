// SPDX-License-Identifier: Apache-2.0
// A conditional node is refused by its place if its word may change where Braid does not look, or
// if nobody told all of it.
#include "import/conditionals.h"

static void refuse(const char *message)
{
    import_all(BRAID_UNSUPPORTED, message);
    end();
}

static struct conditional add_loop(void)
{
    LAUNCH("up", here.memory[0]);
    return begin_conditional(BRAID_IMPORT_WHILE, here.memory[0]);
}

static void a_node_that_no_list_names_is_refused(void **state)
{
    (void)state;
    begin();
    struct conditional loop = add_loop();
    LAUNCH("down", here.memory[0]);
    end_conditional(&loop);
    there.num_told = 0;
    refuse("node 2 of the captured graph, a conditional node, is not in the list of the options");
}

static void a_word_that_changes_behind_its_setter_is_refused(void **state)
{
    (void)state;
    for (int proven = 0; proven < 2; proven++) {
        const char *writer = proven ? "up" : "hidden";
        begin();
        struct conditional loop = add_loop();
        LAUNCH("set", loop.told.handle, here.memory[0]);
        LAUNCH(writer, here.memory[0]);
        leave_body(&loop);
        refuse("node 2 of the captured graph, a conditional node: node 2.1 may write its word "
               "behind node 2.0, which hands the word to it");
        begin();
        const uint64_t handle = make_handle();
        LAUNCH("set", handle, here.memory[0]);
        LAUNCH(writer, here.memory[0]);
        add_conditional(BRAID_IMPORT_IF, here.memory[0], handle);
        refuse("node 2 of the captured graph, a conditional node: node 1 may write its word "
               "behind node 0");
        // A branch inside may write it.
        begin();
        loop = add_loop();
        LAUNCH("set", loop.told.handle, here.memory[0]);
        struct conditional inner = begin_conditional(BRAID_IMPORT_IF, here.memory[1]);
        LAUNCH(writer, here.memory[0]);
        end_conditional(&inner);
        leave_body(&loop);
        refuse("node 2.2.0 may write its word behind node 2.0");
    }
}

static void a_handle_without_its_setters_is_refused(void **state)
{
    (void)state;
    begin();
    add_conditional(BRAID_IMPORT_IF, here.memory[0], make_handle());
    refuse("node 0 of the captured graph, a conditional node: no setter sets its handle in its "
           "own graph");
    begin();
    struct conditional loop = add_loop();
    LAUNCH("down", here.memory[0]);
    leave_body(&loop);
    refuse("no setter sets its handle in its body");
    begin();
    loop = add_loop();
    LAUNCH("set", loop.told.handle, here.memory[0]);
    end_conditional(&loop);
    refuse("nodes 2.0 and 2.1 both set its handle in its body");
    begin();
    loop = add_loop();
    struct conditional inner = begin_conditional(BRAID_IMPORT_IF, here.memory[1]);
    LAUNCH("set", loop.told.handle, here.memory[0]);
    end_conditional(&inner);
    end_conditional(&loop);
    refuse("node 2.1.0 sets its handle, in another graph");
    begin();
    loop = add_loop();
    end_conditional(&loop);
    LAUNCH("set", loop.told.handle, here.memory[0]);
    refuse("nodes 1 and 3 both set its handle in its own graph");
    begin();
    const uint64_t handle = make_handle();
    add_conditional(BRAID_IMPORT_IF, here.memory[0], handle);
    LAUNCH("set", handle, here.memory[0]);
    refuse("node 1 sets its handle, and is not ordered before it");
}

static void setters_of_other_words_are_refused(void **state)
{
    (void)state;
    begin();
    struct conditional loop = add_loop();
    LAUNCH("set", loop.told.handle, here.memory[1]);
    leave_body(&loop);
    refuse("node 2.0 of the captured graph, setter 'set', has a parameter that is neither a "
           "handle of the list nor that node's word");
    begin();
    loop = add_loop();
    end_conditional(&loop);
    LAUNCH("set", UINT64_C(12345678), here.memory[0]);
    refuse("node 3 of the captured graph, setter 'set', has a parameter");
    begin();
    loop = add_loop();
    LAUNCH("set_both", loop.told.handle, loop.told.handle, loop.told.handle);
    leave_body(&loop);
    refuse("node 2.0 sets its handle from another word");
    for (int i = 0; i < 2; i++) { // no proof is one of a call of the driver
        there.gives_all_texts = i;
        begin();
        loop = add_loop();
        LAUNCH("set_unnamed", loop.told.handle, here.memory[0]);
        end_conditional(&loop);
        refuse("node 2.0 of the captured graph, kernel 'set_unnamed', may set the condition "
               "whose handle it has: no list names it as a setter");
    }
    there.gives_all_texts = false;
}

// Its code tells whether a kernel may set a condition, however it gets the handle.
static void a_handle_in_a_struct_is_found(void **state)
{
    (void)state;
    there.gives_all_texts = true;
    begin();
    struct conditional loop = add_loop();
    LAUNCH("set_in_struct", here.memory[0], 0, loop.told.handle);
    end_conditional(&loop);
    refuse("node 2.0 of the captured graph, kernel 'set_in_struct', may set the condition whose "
           "handle it has");
    there.gives_all_texts = false;
}

// The host has a part in them, and the device plays bodies without it.
static void rows_in_a_body_are_refused(void **state)
{
    (void)state;
    const CUDA_MEMCPY2D rows = { .srcMemoryType = CU_MEMORYTYPE_DEVICE,
                                 .srcDevice = here.memory[1],
                                 .srcPitch = 16,
                                 .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                                 .dstDevice = here.memory[2],
                                 .dstPitch = 16,
                                 .WidthInBytes = 4,
                                 .Height = 2 };
    for (int fills = 0; fills < 2; fills++) {
        begin();
        struct conditional branch = begin_conditional(BRAID_IMPORT_IF, here.memory[0]);
        if (fills)
            must(cuMemsetD2D8Async(here.memory[1], 16, 1, 4, 2, here.stream));
        else
            must(cuMemcpy2DAsync_v2(&rows, here.stream));
        end_conditional(&branch);
        refuse(fills ? "node 1.0 of the captured graph, a fill, has several rows in a body"
                     : "node 1.0 of the captured graph, a copy, has several rows in a body");
    }
}

static void second_nodes_stand_right_behind_the_first(void **state)
{
    (void)state;
    CUgraph empty;
    must(cuGraphCreate(&empty, 0));
    for (int which = 0; which < 2; which++) {
        begin();
        const uint64_t handles[] = { make_handle(), make_handle() };
        LAUNCH("set_both", handles[0], handles[1], here.memory[0]);
        add_conditional(BRAID_IMPORT_IF, here.memory[0], handles[0]);
        LAUNCH("up", here.memory[1]);
        struct conditional other = add_conditional(BRAID_IMPORT_IF, here.memory[0], handles[1]);
        there.told[0].otherwise = which ? (const void *)&there : other.told.node;
        there.told[0].otherwise_handle = handles[1];
        there.told[0].bodies[1] = which ? (void *)empty : other.told.bodies[0];
        there.num_told = which ? 2 : 1;
        refuse(which ? "node 1 of the captured graph, a conditional node: its second node does not "
                       "stand right behind it"
                     : "node 1 of the captured graph, a conditional node: node 2 stands between it "
                       "and its second node");
    }
    must(cuGraphDestroy(empty));
}

static void words_stand_in_memory_of_the_device(void **state)
{
    (void)state;
    begin();
    uint64_t handle = make_handle();
    LAUNCH("set", handle, UINT64_C(64));
    add_conditional(BRAID_IMPORT_IF, 64, handle);
    refuse("node 1 of the captured graph, a conditional node, has its word at 0x40, in no known "
           "memory");
    begin();
    CUdeviceptr own;
    must(cuMemAllocAsync(&own, 64, here.stream));
    must(cuMemFreeAsync(own, here.stream));
    handle = make_handle();
    LAUNCH("set", handle, own);
    add_conditional(BRAID_IMPORT_IF, own, handle);
    import_all(BRAID_INVALID_ARGUMENT, "a conditional node, uses memory of node 0, an allocation");
    end();
}

static void lists_without_sense_are_refused(void **state)
{
    (void)state;
    static const char *const none[] = { NULL };
    void *body = (void *)&there;
    const braid_import_conditional wrong[] = {
        { .kind = BRAID_IMPORT_WHILE, .node = NULL, .bodies = { body } },
        { .kind = BRAID_IMPORT_WHILE, .node = body },
        { .kind = BRAID_IMPORT_WHILE, .node = body, .bodies = { body, body } },
        { .kind = BRAID_IMPORT_WHILE, .node = body, .bodies = { body }, .otherwise = body },
        { .kind = BRAID_IMPORT_IF, .node = body },
        { .kind = BRAID_IMPORT_IF, .node = body, .bodies = { body }, .otherwise = body },
        { .kind = BRAID_IMPORT_IF, .node = body, .bodies = { body }, .condition = (void *)2 },
        { .kind = (braid_import_conditional_kind)7, .node = body, .bodies = { body } },
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        begin();
        there.told[0] = wrong[i];
        there.num_told = 1;
        import_all(BRAID_INVALID_ARGUMENT, "braid_import_create: conditional 0 ");
        end();
    }
    const braid_import_options lists[] = {
        { .num_conditionals = 1 },
        { .num_setters = 1 },
        { .num_setters = 1, .setters = none },
    };
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
        assert_int_equal(braid_import_create(here.device, body, &lists[i], &here.import),
                         BRAID_INVALID_ARGUMENT);
}

// Its work would run twice.
static void a_node_or_body_in_the_list_twice_is_refused(void **state)
{
    (void)state;
    for (int which = 0; which < 4; which++) {
        begin();
        struct conditional branch = begin_branch(here.memory[0], 3, true);
        struct conditional other = begin_conditional(BRAID_IMPORT_IF, here.memory[1]);
        end_conditional(&other);
        if (which == 0)
            there.told[1].node = branch.told.otherwise;
        else if (which == 1)
            there.told[0].bodies[1] = branch.told.bodies[0];
        else if (which == 2)
            there.told[1].bodies[0] = branch.told.bodies[1];
        else
            there.told[1] = there.told[0];
        import_all(BRAID_INVALID_ARGUMENT, "the list of conditional nodes has the node or body ");
        end();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_node_that_no_list_names_is_refused),
        cmocka_unit_test(a_word_that_changes_behind_its_setter_is_refused),
        cmocka_unit_test(a_handle_without_its_setters_is_refused),
        cmocka_unit_test(setters_of_other_words_are_refused),
        cmocka_unit_test(a_handle_in_a_struct_is_found),
        cmocka_unit_test(rows_in_a_body_are_refused),
        cmocka_unit_test(second_nodes_stand_right_behind_the_first),
        cmocka_unit_test(words_stand_in_memory_of_the_device),
        cmocka_unit_test(a_node_or_body_in_the_list_twice_is_refused),
        cmocka_unit_test(lists_without_sense_are_refused),
    };
    return cmocka_run_group_tests(tests, open_conditionals, close_conditionals);
}
