// SPDX-License-Identifier: Apache-2.0
// Streams with conditional nodes, captured on the stand-in for CUDA as Warp captures them.
#include "import/conditionals.h"

#define HEAD ".version 8.3\n.target sm_90\n.address_size 64\n"
#define CHANGE(name, change)                                                                       \
    ".visible .entry " name "(.param .u64 at) {\n.reg .u64 %d; .reg .u32 %r;\n"                    \
    "ld.param.u64 %d, [at]; ld.global.u32 %r, [%d]; " change " st.global.u32 [%d], %r;\nret;\n}\n"
#define PASS(handle)                                                                               \
    "ld.param.u64 %d, [" handle "];\n{\n.param .b64 h; .param .b32 v;\n"                           \
    "st.param.b64 [h], %d; st.param.b32 [v], %r;\ncall.uni cudaGraphSetConditional, (h, v);\n}\n"
#define LOAD                                                                                       \
    " {\n.reg .u64 %d; .reg .u32 %r; .reg .pred %p;\n"                                             \
    "ld.param.u64 %d, [word]; ld.global.u32 %r, [%d];\n"
#define NEGATE "setp.eq.u32 %p, %r, 0;\nselp.u32 %r, 1, 0, %p;\n"
#define NUMBER                                                                                     \
    ".visible .entry number(.param .u64 to, .param .u64 value) {\n.reg .u64 %d<2>;\n"              \
    "ld.param.u64 %d0, [to]; ld.param.u64 %d1, [value]; st.global.u64 [%d0], %d1;\nret;\n}\n"
#define KERNELS                                                                                    \
    HEAD CHANGE("up", "add.u32 %r, %r, 1;") CHANGE("down", "sub.u32 %r, %r, 1;") CHANGE(           \
        "clear",                                                                                   \
        "mov.u32 %r, 0;") ".visible .entry move(.param .u64 from, .param .u64 to) "                \
                          "{\n.reg .u64 %d<2>; .reg .u32 %r;\n"                                    \
                          "ld.param.u64 %d0, [from]; ld.param.u64 %d1, [to];\n"                    \
                          "ld.global.u32 %r, [%d0]; st.global.u32 [%d1], %r;\nret;\n}\n" NUMBER

const char conditional_text[] = KERNELS;
// clang-format off
// The driver takes a call of a function only behind the function's declaration.
#define TAKES(name, params) ".visible .entry " name "(" params ", .param .u64 word)" LOAD
static const char all[] =
    KERNELS
    ".extern .func cudaGraphSetConditional(.param .b64 h, .param .b32 v);\n"
    CHANGE("hidden", "sub.u32 %r, %r, 1;")
    ".visible .entry set_in_struct(.param .u64 word, .param .align 8 .b8 one[16])"
    LOAD PASS("one+8") "ret;\n}\n"
    TAKES("set", ".param .u64 one") PASS("one") "ret;\n}\n"
    TAKES("set_unnamed", ".param .u64 one") PASS("one") "ret;\n}\n"
    TAKES("set_not", ".param .u64 one") NEGATE PASS("one") "ret;\n}\n"
    TAKES("set_both", ".param .u64 one, .param .u64 other")
    PASS("one") NEGATE PASS("other") "ret;\n}\n";
// clang-format on

static const char *const setters[3] = { "set", "set_not", "set_both" };
struct conditionals there;

int open_conditionals(void **state)
{
    (void)state;
    open_here(all, 64);
    return 0;
}

int close_conditionals(void **state)
{
    (void)state;
    close_here();
    return 0;
}

// ---- capturing ----

void begin(void)
{
    there.num_told = 0;
    here.import = NULL;
    must(cuStreamBeginCapture_v2(here.stream, CU_STREAM_CAPTURE_MODE_RELAXED));
}

static CUgraph captured_graph(const CUgraphNode **out_after, size_t *out_num)
{
    CUstreamCaptureStatus status;
    CUgraph graph;
    must(cuStreamGetCaptureInfo_v2(here.stream, &status, NULL, &graph, out_after, out_num));
    return graph;
}

uint64_t make_handle(void)
{
    const CUgraphNode *after;
    size_t num_after;
    CUgraphConditionalHandle handle;
    CUcontext context;
    must(cuCtxGetCurrent(&context));
    must(
        cuGraphConditionalHandleCreate(&handle, captured_graph(&after, &num_after), context, 0, 0));
    return handle;
}

static CUgraphNode add_node(uint64_t handle, braid_import_conditional_kind kind,
                            uint32_t num_bodies, void **out_bodies)
{
    const CUgraphNode *after;
    size_t num_after;
    CUgraph graph = captured_graph(&after, &num_after);
    CUgraphNode node;
    CUgraphNodeParams params = { .type = CU_GRAPH_NODE_TYPE_CONDITIONAL };
    params.conditional.handle = handle;
    params.conditional.type =
        kind == BRAID_IMPORT_WHILE ? CU_GRAPH_COND_TYPE_WHILE : CU_GRAPH_COND_TYPE_IF;
    params.conditional.size = num_bodies;
    must(cuCtxGetCurrent(&params.conditional.ctx));
    must(cuGraphAddNode_v2(&node, graph, after, NULL, num_after, &params));
    must(cuStreamUpdateCaptureDependencies(here.stream, &node, 1, 1)); // in place of others
    for (uint32_t i = 0; i < num_bodies; i++)
        out_bodies[i] = params.conditional.phGraph_out[i];
    return node;
}

static struct conditional tell(braid_import_conditional told)
{
    there.told[there.num_told] = told;
    return (struct conditional){ .told = told, .index = there.num_told++ };
}

struct conditional add_conditional(braid_import_conditional_kind kind, CUdeviceptr word,
                                   uint64_t handle)
{
    braid_import_conditional told = { .kind = kind,
                                      .handle = handle,
                                      .condition = (const void *)(uintptr_t)word };
    told.node = add_node(told.handle, kind, 1, told.bodies);
    return tell(told);
}

void enter_body(struct conditional *conditional, int which)
{
    must(cuStreamEndCapture(here.stream, &conditional->around));
    must(cuStreamBeginCaptureToGraph(here.stream, conditional->told.bodies[which], NULL, NULL, 0,
                                     CU_STREAM_CAPTURE_MODE_RELAXED));
}

// Work goes on behind the conditional node.
void leave_body(struct conditional *conditional)
{
    const braid_import_conditional *told = &conditional->told;
    const CUgraphNode node = (CUgraphNode)(told->otherwise ? told->otherwise : told->node);
    CUgraph body;
    must(cuStreamEndCapture(here.stream, &body));
    must(cuStreamBeginCaptureToGraph(here.stream, conditional->around, &node, NULL, 1,
                                     CU_STREAM_CAPTURE_MODE_RELAXED));
}

struct conditional begin_conditional(braid_import_conditional_kind kind, CUdeviceptr word)
{
    braid_import_conditional told = { .kind = kind,
                                      .handle = make_handle(),
                                      .condition = (const void *)(uintptr_t)word };
    LAUNCH("set", told.handle, word);
    told.node = add_node(told.handle, kind, 1, told.bodies);
    struct conditional made = tell(told);
    enter_body(&made, 0);
    return made;
}

void end_conditional(struct conditional *conditional)
{
    const braid_import_conditional *told = &conditional->told;
    if (told->kind == BRAID_IMPORT_WHILE)
        LAUNCH("set", told->handle, (uintptr_t)told->condition);
    leave_body(conditional);
}

struct conditional begin_branch(CUdeviceptr word, int arms, bool is_pair)
{
    braid_import_conditional told = { .kind = BRAID_IMPORT_IF,
                                      .handle = make_handle(),
                                      .condition = (const void *)(uintptr_t)word };
    if (is_pair) {
        told.otherwise_handle = make_handle();
        LAUNCH("set_both", told.handle, told.otherwise_handle, word);
        told.node = add_node(told.handle, told.kind, 1, &told.bodies[0]);
        told.otherwise = add_node(told.otherwise_handle, told.kind, 1, &told.bodies[1]);
    } else {
        LAUNCH(arms == 2 ? "set_not" : "set", told.handle, word);
        told.node =
            add_node(told.handle, told.kind, arms == 3 ? 2 : 1, &told.bodies[arms == 2 ? 1 : 0]);
    }
    return tell(told);
}

// ---- playing ----

braid_import_options conditional_options(void)
{
    return (braid_import_options){ .conditionals = there.told,
                                   .num_conditionals = there.num_told,
                                   .setters = setters,
                                   .num_setters = 3 };
}

void import_all(braid_status status, const char *message)
{
    const char *const texts[] = { there.gives_all_texts ? all : conditional_text };
    must(cuStreamEndCapture(here.stream, &here.graph));
    braid_import_options options = conditional_options();
    options.texts = texts;
    options.num_texts = 1;
    const braid_status found = braid_import_create(here.device, here.graph, &options, &here.import);
    if (found != status || (message && !strstr(braid_error_get_message(), message)))
        fail_msg("%d, where '%s' is expected: %s", (int)found, message ? message : "success",
                 braid_error_get_message());
    braid_import_get_info(here.import, &here.info);
}

static void set_words(const uint32_t *words)
{
    for (int i = 0; i < WORDS; i++)
        must(cuMemcpyHtoD_v2(here.memory[i], &words[i], sizeof(words[i])));
}

static void get_words(uint32_t *out_words)
{
    for (int i = 0; i < WORDS; i++)
        must(cuMemcpyDtoH_v2(&out_words[i], here.memory[i], sizeof(out_words[i])));
}

void play_captured(const uint32_t *words, uint32_t *out_words)
{
    CUgraphExec exec;
    must(cuGraphInstantiateWithFlags(&exec, here.graph, 0));
    set_words(words);
    must(cuGraphLaunch(exec, here.stream));
    must(cuStreamSynchronize(here.stream));
    get_words(out_words);
    must(cuGraphExecDestroy(exec));
}

void play_imported(const uint32_t *words, uint32_t *out_words)
{
    braid_exec *exec;
    check_ok(braid_exec_create(here.device, braid_import_get_graph(here.import), NULL, &exec));
    set_words(words);
    check_ok(braid_exec_launch(exec, NULL));
    check_ok(braid_exec_wait(exec));
    get_words(out_words);
    braid_exec_destroy(exec);
}

void end(void)
{
    braid_import_destroy(here.import);
    must(cuGraphDestroy(here.graph));
}
