// SPDX-License-Identifier: Apache-2.0
// An exec of an import with loops takes a later capture that has the same words.
#include "import/conditionals.h"

static braid_import *import;
static braid_exec *exec;

// memory[0] turns of an add to memory[to].
static void capture_loop(CUdeviceptr word, int to)
{
    begin();
    struct conditional loop = begin_conditional(BRAID_IMPORT_WHILE, word);
    LAUNCH("up", here.memory[to]);
    LAUNCH("down", word);
    end_conditional(&loop);
}

static void capture_branch(int arms)
{
    begin();
    struct conditional branch = begin_branch(here.memory[0], arms, false);
    for (int i = 0; i < 2; i++) {
        if (!(arms >> i & 1))
            continue;
        enter_body(&branch, i);
        LAUNCH("up", here.memory[1 + i]);
        leave_body(&branch);
    }
}

static void make_exec(void)
{
    import_all(BRAID_OK, NULL);
    import = here.import; // which a later capture clears
    must(cuGraphDestroy(here.graph));
    check_ok(braid_exec_create(here.device, braid_import_get_graph(here.import), NULL, &exec));
}

static braid_status update(void)
{
    const braid_import_options options = conditional_options();
    must(cuStreamEndCapture(here.stream, &here.graph));
    const braid_status status = braid_import_update(import, here.graph, &options, exec);
    must(cuGraphDestroy(here.graph));
    return status;
}

static void finish(void)
{
    braid_exec_destroy(exec);
    braid_import_destroy(import);
}

static void play(const uint32_t *words, uint32_t *out_words)
{
    for (int i = 0; i < WORDS; i++)
        must(cuMemcpyHtoD_v2(here.memory[i], &words[i], sizeof(words[i])));
    check_ok(braid_exec_launch(exec, NULL));
    check_ok(braid_exec_wait(exec));
    for (int i = 0; i < WORDS; i++)
        must(cuMemcpyDtoH_v2(&out_words[i], here.memory[i], sizeof(out_words[i])));
}

static void nodes_of_a_body_change(void **state)
{
    (void)state;
    uint32_t found[WORDS];
    capture_loop(here.memory[0], 1);
    make_exec();
    capture_loop(here.memory[0], 2);
    check_ok(update());
    play((const uint32_t[]){ 3, 10, 20, 30 }, found);
    assert_int_equal(found[1], 10);
    assert_int_equal(found[2], 23);
    capture_loop(here.memory[3], 2);
    check_fails(update(), BRAID_INVALID_ARGUMENT,
                "node 1 of the captured graph (conditional node) has another word");
    play((const uint32_t[]){ 2, 10, 20, 30 }, found);
    assert_int_equal(found[2], 22);
    assert_int_equal(found[3], 30);
    finish();
}

static void bodies_stay(void **state)
{
    (void)state;
    capture_branch(3);
    make_exec();
    capture_branch(3);
    check_ok(update());
    finish();
    capture_branch(1);
    make_exec();
    capture_branch(2);
    check_fails(update(), BRAID_INVALID_ARGUMENT,
                "node 1 of the captured graph (conditional node) is of another kind, or has other "
                "bodies: import it anew");
    finish();
}

// It has functions of its own, by which no code is known.
static const char other_setter[] =
    ".version 8.3\n.target sm_90\n.address_size 64\n"
    ".extern .func cudaGraphSetConditional(.param .b64 h, .param .b32 v);\n"
    ".visible .entry set(.param .u64 one, .param .u64 word) {\n"
    ".reg .u64 %d; .reg .u32 %r;\nld.param.u64 %d, [word]; ld.global.u32 %r, [%d];\n"
    "ld.param.u64 %d, [one];\n{\n.param .b64 h; .param .b32 v;\n"
    "st.param.b64 [h], %d; st.param.b32 [v], %r;\ncall.uni cudaGraphSetConditional, (h, v);\n}\n"
    "ret;\n}\n";

static void capture_with(CUmodule module)
{
    CUfunction function;
    begin();
    struct conditional loop = begin_conditional(BRAID_IMPORT_WHILE, here.memory[0]);
    LAUNCH("down", here.memory[0]);
    void *params[] = { &loop.told.handle, (void *)&loop.told.condition };
    must(cuModuleGetFunction(&function, module, "set"));
    must(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, here.stream, params, NULL));
    leave_body(&loop);
    LAUNCH("move", here.memory[2], here.memory[3]);
}

static void setters_of_another_module_are_refused(void **state)
{
    (void)state;
    CUmodule module;
    must(cuModuleLoadData(&module, other_setter));
    capture_with(here.module);
    make_exec();
    capture_with(module);
    check_fails(update(), BRAID_INVALID_ARGUMENT,
                "the captured graph has other setters: import it anew");
    finish();
    must(cuModuleUnload(module));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_of_a_body_change),
        cmocka_unit_test(bodies_stay),
        cmocka_unit_test(setters_of_another_module_are_refused),
    };
    return cmocka_run_group_tests(tests, open_conditionals, close_conditionals);
}
