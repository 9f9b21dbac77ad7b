// SPDX-License-Identifier: Apache-2.0
// Operations on a graph and on the test's model of it, valid ones and others.
#include "fuzz/graphs.h"

#include "graph/graph.h"

// A node's description as bytes give it, and whether the graph must take it.
struct description {
    braid_node_options options;
    braid_node after[3];
    braid_access accesses[order_max_accesses];
    struct order_node node;
    bool valid;
};

// ---- choosing ----

// Any node, or now and then one that this graph does not have.
static braid_node choose_node(struct subject *subject, struct random *input, uint32_t *out_node)
{
    uint32_t num = subject->model.num_nodes;
    uint32_t choice = random_byte(input);
    *out_node = num;
    if (choice == 0xff)
        return (braid_node){ 0 };
    if (choice == 0xfe || num == 0)
        return subject->foreign;
    if (choice == 0xfd)
        return (braid_node){ .index = num, .graph = subject->handles[0].graph };
    *out_node = choice % num;
    return subject->handles[*out_node];
}

static void choose_after(struct subject *subject, struct random *input, struct description *it)
{
    it->options.after = it->after;
    it->options.num_after = 1 + random_below(input, 3);
    for (size_t i = 0; i < it->options.num_after; i++) {
        uint32_t node;
        it->after[i] = choose_node(subject, input, &node);
        if (node == subject->model.num_nodes)
            it->valid = false;
        else
            it->node.after |= UINT64_C(1) << node;
    }
}

static void choose_accesses(struct subject *subject, struct random *input, struct description *it)
{
    uint32_t num_resources = subject->model.num_resources;
    it->node.num_accesses = 1 + random_below(input, order_max_accesses);
    it->options.accesses = it->accesses;
    it->options.num_accesses = it->node.num_accesses;
    for (uint32_t i = 0; i < it->node.num_accesses; i++) {
        uint32_t resource = random_byte(input), mode = random_byte(input);
        bool known = resource != 0xff && num_resources;
        resource = known ? resource % num_resources : 0;
        mode = mode == 0xff ? 99 : 1 + mode % 5;
        it->accesses[i] =
            (braid_access){ known ? subject->resources[resource] : subject->foreign_resource,
                            (braid_access_mode)mode };
        it->node.accesses[i] = (struct order_access){ resource, (braid_access_mode)mode };
        it->valid = it->valid && known && mode != 99;
    }
}

static void choose_main(struct subject *subject, struct random *input, bool prelude,
                        struct description *it)
{
    uint32_t main;
    braid_node handle = choose_node(subject, input, &main);
    if (handle.graph == 0)
        return; // no main node: this one is main itself
    if (prelude)
        it->options.prelude_of = handle;
    else
        it->options.epilogue_of = handle;
    if (main == subject->model.num_nodes || subject->model.nodes[main].role != ORDER_MAIN ||
        it->node.role != ORDER_MAIN || it->node.hint) {
        it->valid = false;
        return;
    }
    it->node.main = main;
    it->node.role = prelude ? ORDER_PRELUDE : ORDER_EPILOGUE;
}

static uint64_t choose_cost(struct random *input)
{
    uint32_t byte = random_byte(input);
    return byte < 0xf0 ? byte * 10 : UINT64_C(1) << (20 + (byte & 15) * 2);
}

static void describe_node(struct subject *subject, struct random *input, struct description *it)
{
    static const char *const names[] = { "a", "", "two words", "\"quoted\\\n" };
    uint32_t flags = random_byte(input);
    *it = (struct description){ .valid = true };
    it->node.role = ORDER_MAIN;
    it->node.main = subject->model.num_nodes;
    if (flags & 1)
        choose_after(subject, input, it);
    if (flags & 2)
        choose_accesses(subject, input, it);
    if (flags & 4)
        it->options.cost_ns = choose_cost(input);
    if ((flags & 24) == 24)
        it->options.lane_hint = it->node.hint = 1 + random_below(input, 3);
    if (flags & 32)
        it->options.name = names[random_below(input, 4)];
    it->valid = it->valid && (!it->options.name || *it->options.name);
    if (flags & 64)
        choose_main(subject, input, true, it);
    if (flags & 128)
        choose_main(subject, input, false, it);
}

// ---- adding ----

static braid_status add_kernel(struct subject *subject, struct random *input,
                               struct description *it, braid_node *out_node)
{
    struct subject_work *work = &subject->work[subject->model.num_nodes];
    work->num_blocks = 1 + random_below(input, 4);
    braid_kernel_node launch = { .node = it->options,
                                 .kernel = &subject_kernel,
                                 .grid = { work->num_blocks, 0, 0 },
                                 BRAID_ARGS(BRAID_ARG(work), BRAID_ARG(work->token)) };
    return braid_graph_add_kernel(subject->graph, &launch, out_node);
}

// The node a copy takes its frame from: any that has run before it, else the frame itself.
static const uint32_t *choose_source(struct subject *subject, struct description *it)
{
    for (uint32_t i = 0; i < subject->model.num_nodes; i++)
        if (it->node.after >> i & 1 && leaves_frame(subject->model.nodes[i].kind))
            return &subject->work[i].done;
    return &subject->frame;
}

static braid_status add_copy(struct subject *subject, struct random *input, struct description *it,
                             braid_node *out_node)
{
    struct subject_work *work = &subject->work[subject->model.num_nodes];
    braid_copy copy = { .node = it->options,
                        .to = &work->done,
                        .from = choose_source(subject, it),
                        .bytes = sizeof(work->done) };
    switch (random_below(input, 32)) {
    case 30:
        copy.to = NULL;
        it->valid = false;
        break;
    case 31:
        copy.bytes = 0;
        it->valid = false;
        break;
    default:
        break;
    }
    return braid_graph_add_copy(subject->graph, &copy, out_node);
}

// A fill cannot know the frame: it leaves a mark that every frame renews.
static braid_status add_fill(struct subject *subject, struct random *input, struct description *it,
                             braid_node *out_node)
{
    struct subject_work *work = &subject->work[subject->model.num_nodes];
    static const uint32_t sizes[] = { 0, 1, 2, 4, 3 };
    braid_fill fill = { .node = it->options,
                        .to = &work->seen,
                        .value = 0x01010101,
                        .value_bytes = sizes[random_below(input, 5)] };
    fill.num_values = sizeof(work->seen) / (fill.value_bytes ? fill.value_bytes : 1);
    it->valid = it->valid && fill.value_bytes != 3;
    return braid_graph_add_fill(subject->graph, &fill, out_node);
}

static braid_status add_call(struct subject *subject, struct description *it, braid_node *out_node)
{
    struct subject_work *work = &subject->work[subject->model.num_nodes];
    if (it->node.kind == ORDER_HOST) {
        braid_host_call call = { it->options, subject_host_call, work };
        return braid_graph_add_host_call(subject->graph, &call, out_node);
    }
    braid_queue_call queued = { it->options, subject_queue_call, work };
    return braid_graph_add_queue_call(subject->graph, &queued, out_node);
}

static braid_status add_kind(struct subject *subject, struct random *input, struct description *it,
                             braid_node *out_node)
{
    switch (it->node.kind) {
    case ORDER_KERNEL:
        return add_kernel(subject, input, it, out_node);
    case ORDER_COPY:
        return add_copy(subject, input, it, out_node);
    case ORDER_FILL:
        return add_fill(subject, input, it, out_node);
    case ORDER_HOST:
    case ORDER_QUEUE:
        return add_call(subject, it, out_node);
    case ORDER_EMPTY:
        break;
    }
    return braid_graph_add_empty(subject->graph, &(braid_empty){ it->options }, out_node);
}

static void add_node(struct subject *subject, struct random *input, enum order_kind kind)
{
    uint32_t place = subject->model.num_nodes;
    if (place == order_max_nodes)
        return;
    struct description it;
    describe_node(subject, input, &it);
    it.node.kind = kind;
    subject->work[place] = (struct subject_work){ .subject = subject, .node = place };
    braid_node handle = { 0 };
    braid_status status = add_kind(subject, input, &it, &handle);
    fuzz_expect_status(status, it.valid ? BRAID_OK : BRAID_INVALID_ARGUMENT);
    fuzz_expect(braid_graph_get_num_nodes(subject->graph) == place + it.valid);
    if (!it.valid) {
        fuzz_expect(handle.graph == 0);
        return;
    }
    fuzz_expect(handle.index == place);
    subject->handles[place] = handle;
    subject->model.nodes[place] = it.node;
    subject->model.num_nodes++;
}

// ---- everything else ----

static void add_edge(struct subject *subject, struct random *input)
{
    uint32_t from, to, num = subject->model.num_nodes;
    braid_node from_handle = choose_node(subject, input, &from);
    braid_node to_handle = choose_node(subject, input, &to);
    bool valid = from < num && to < num && from != to;
    size_t before = subject->graph->edges.num;
    fuzz_expect_status(braid_graph_add_edge(subject->graph, from_handle, to_handle),
                       valid ? BRAID_OK : BRAID_INVALID_ARGUMENT);
    fuzz_expect(subject->graph->edges.num == before + valid);
    if (valid)
        subject->model.nodes[to].after |= UINT64_C(1) << from;
}

static void keep_resource(struct subject *subject, braid_status status, bool valid,
                          braid_resource handle, struct order_resource resource)
{
    fuzz_expect_status(status, valid ? BRAID_OK : BRAID_INVALID_ARGUMENT);
    if (!valid)
        return;
    subject->resources[subject->model.num_resources] = handle;
    subject->model.resources[subject->model.num_resources++] = resource;
}

static void add_buffer(struct subject *subject, struct random *input)
{
    uint32_t bytes = random_byte(input), address = random_byte(input);
    uintptr_t at = address & 1 ? 4096 + (uintptr_t)address * 16 : 0;
    braid_resource handle;
    braid_status status =
        braid_graph_add_buffer(subject->graph, "buffer", (const void *)at, bytes, &handle);
    keep_resource(subject, status, bytes != 0, handle,
                  (struct order_resource){ .buffer = subject->model.num_resources,
                                           .is_buffer = true,
                                           .bytes = bytes,
                                           .address = at });
}

static void add_range(struct subject *subject, struct random *input)
{
    uint32_t num = subject->model.num_resources;
    uint32_t of = random_byte(input), offset = random_byte(input), bytes = random_byte(input);
    bool known = num && of != 0xff;
    of = known ? of % num : 0;
    struct order_resource whole = subject->model.resources[of];
    bool valid = known && whole.is_buffer && bytes && offset + bytes <= whole.bytes;
    braid_resource handle;
    braid_status status = braid_graph_add_range(
        subject->graph, known ? subject->resources[of] : subject->foreign_resource, offset, bytes,
        &handle);
    keep_resource(
        subject, status, valid, handle,
        (struct order_resource){ .buffer = whole.buffer, .offset = offset, .bytes = bytes });
}

static void add_named(struct subject *subject, struct random *input)
{
    bool valid = random_below(input, 16) != 15;
    braid_resource handle;
    braid_status status = braid_graph_add_resource(subject->graph, valid ? "thing" : "", &handle);
    keep_resource(subject, status, valid, handle,
                  (struct order_resource){ .buffer = subject->model.num_resources, .bytes = 1 });
}

static void set_cost(struct subject *subject, struct random *input)
{
    uint32_t node;
    braid_node handle = choose_node(subject, input, &node);
    fuzz_expect_status(braid_graph_set_cost(subject->graph, handle, choose_cost(input)),
                       node < subject->model.num_nodes ? BRAID_OK : BRAID_INVALID_ARGUMENT);
}

static void use_parameter(struct subject *subject, struct random *input)
{
    uint32_t node;
    braid_node handle = choose_node(subject, input, &node);
    subject_use_parameter(subject, node, handle);
}

void subject_change(struct subject *subject, struct random *input)
{
    uint32_t operation = random_byte(input) & 15;
    bool more_resources = subject->model.num_resources < order_max_resources;
    switch (operation) {
    case 0:
    case 1:
        add_node(subject, input, ORDER_KERNEL);
        return;
    case 2:
    case 3:
    case 4:
    case 5:
    case 6:
        add_node(subject, input, (enum order_kind)(operation - 1));
        return;
    case 7:
        if (more_resources)
            add_buffer(subject, input);
        return;
    case 8:
        if (more_resources)
            add_range(subject, input);
        return;
    case 9:
        if (more_resources)
            add_named(subject, input);
        return;
    case 10:
        set_cost(subject, input);
        return;
    case 11:
    case 12:
        use_parameter(subject, input);
        return;
    case 13:
        subject_add_memory(subject, input);
        return;
    default:
        add_edge(subject, input);
        return;
    }
}
