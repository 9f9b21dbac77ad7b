// SPDX-License-Identifier: Apache-2.0
// A frame of all ranks, event by event: workers run nodes, and messages go through each rank's one
// way out and one way in (LogGP).
#include "base/store.h"
#include "ranks_plan.h"

enum event_kind { NODE_ENDS, MESSAGE_ARRIVES };

struct event {
    double at;
    uint32_t what; // node, or message
    uint32_t kind;
};

// Workers that some ranks share, and what is ready to run on them, in the order of the plans.
struct pool {
    uint32_t num_idle;
    uint32_t first; // node, from 1
};

struct run {
    const struct ranks_plan *plan;
    const struct ranks_machine *machine;
    struct event *heap;
    size_t num_events;
    uint32_t *missing;        // by node: what it waits for
    uint32_t *left, *right;   // by node, in its pool
    double *ready;            // by receive: when it was reached; below 0: not yet
    double *arrived;          // by message; below 0: not yet
    double *out, *in;         // by rank: when its way is free
    struct pool *pools;       // by rank or host
    uint32_t *first, *behind; // by node: who waits for it
    size_t num_ended;
    double now, work_ns;
    struct store store; // holds the arrays
};

static bool is_before(const struct event *a, const struct event *b)
{
    if (a->at != b->at)
        return a->at < b->at;
    return a->kind != b->kind ? a->kind < b->kind : a->what < b->what;
}

static void push(struct run *run, struct event event)
{
    size_t place = run->num_events++;
    for (; place > 0 && is_before(&event, &run->heap[(place - 1) / 2]); place = (place - 1) / 2)
        run->heap[place] = run->heap[(place - 1) / 2];
    run->heap[place] = event;
}

static struct event pop(struct run *run)
{
    struct event first = run->heap[0], last = run->heap[--run->num_events];
    size_t place = 0;
    for (size_t child = 1; child < run->num_events; child = 2 * place + 1) {
        if (child + 1 < run->num_events && is_before(&run->heap[child + 1], &run->heap[child]))
            child++;
        if (!is_before(&run->heap[child], &last))
            break;
        run->heap[place] = run->heap[child];
        place = child;
    }
    run->heap[place] = last;
    return first;
}

static struct pool *pool_of(struct run *run, uint32_t node)
{
    uint32_t rank = run->plan->nodes[node].rank, together = run->machine->ranks_a_host;
    return &run->pools[together ? rank / together : rank];
}

static void start(struct run *run, struct pool *pool, uint32_t node)
{
    const struct ranks_node *given = &run->plan->nodes[node];
    double cost =
        given->kind == RANKS_COMPUTE ? (double)given->cost_ns : run->machine->network.overhead_ns;
    pool->num_idle--;
    run->work_ns += given->kind == RANKS_COMPUTE ? cost : 0;
    push(run, (struct event){ run->now + cost, node, NODE_ENDS });
}

static bool is_planned_before(const struct run *run, uint32_t a, uint32_t b)
{
    const struct ranks_node *nodes = run->plan->nodes;
    uint64_t at = nodes[a].planned_ns, other = nodes[b].planned_ns;
    return at != other ? at < other : a < b;
}

// A skew heap (Sleator and Tarjan, 1986), of nodes from 1.
static uint32_t merge(struct run *run, uint32_t a, uint32_t b)
{
    uint32_t top = 0, *link = &top;
    while (a && b) {
        if (is_planned_before(run, b - 1, a - 1)) {
            uint32_t other = a;
            a = b;
            b = other;
        }
        uint32_t rest = run->right[a - 1];
        run->right[a - 1] = run->left[a - 1];
        *link = a;
        link = &run->left[a - 1];
        a = rest;
    }
    *link = a ? a : b;
    return top;
}

static void queue(struct run *run, uint32_t node)
{
    struct pool *pool = pool_of(run, node);
    if (pool->num_idle) {
        start(run, pool, node);
        return;
    }
    run->left[node] = run->right[node] = 0;
    pool->first = merge(run, pool->first, node + 1);
}

// All that a node waits for has ended; a receive takes a worker only when its message is there.
static void reach(struct run *run, uint32_t node)
{
    const struct ranks_node *given = &run->plan->nodes[node];
    if (given->kind == RANKS_RECEIVE && run->arrived[given->message] < 0)
        run->ready[given->message] = run->now;
    else
        queue(run, node);
}

static void send(struct run *run, uint32_t number)
{
    const struct ranks_network *network = &run->machine->network;
    const struct ranks_message *message = &run->plan->messages[number];
    double bytes_ns = (double)message->bytes * network->ns_per_byte;
    double *out = &run->out[run->plan->nodes[message->send].rank];
    double from = run->now > *out ? run->now : *out;
    *out = from + (bytes_ns > network->gap_ns ? bytes_ns : network->gap_ns);
    push(run, (struct event){ from + network->latency_ns + bytes_ns, number, MESSAGE_ARRIVES });
}

// Messages that arrive at once come in one after another.
static void arrive(struct run *run, uint32_t number)
{
    const struct ranks_network *network = &run->machine->network;
    const struct ranks_message *message = &run->plan->messages[number];
    double *in = &run->in[run->plan->nodes[message->receive].rank];
    double there = *in + (double)message->bytes * network->ns_per_byte;
    if (there > run->now) {
        push(run, (struct event){ there, number, MESSAGE_ARRIVES });
        return;
    }
    *in = run->now;
    run->arrived[number] = run->now;
    if (run->ready[number] >= 0)
        queue(run, message->receive);
}

static void end_node(struct run *run, uint32_t node)
{
    const struct ranks_node *given = &run->plan->nodes[node];
    struct pool *pool = pool_of(run, node);
    run->num_ended++;
    pool->num_idle++;
    if (pool->first) {
        uint32_t next = pool->first - 1;
        pool->first = merge(run, run->left[next], run->right[next]);
        start(run, pool, next);
    }
    if (given->kind == RANKS_SEND)
        send(run, given->message);
    for (uint32_t i = run->first[node]; i < run->first[node + 1]; i++) {
        if (--run->missing[run->behind[i]] == 0)
            reach(run, run->behind[i]);
    }
}

static void sort_behind(struct run *run)
{
    const struct ranks_plan *plan = run->plan;
    for (size_t i = 0; i < plan->num_edges; i++) {
        run->first[plan->edges[i].from + 2]++;
        run->missing[plan->edges[i].to]++;
    }
    for (size_t i = 0; i < plan->num_nodes; i++)
        run->first[i + 2] += run->first[i + 1];
    for (size_t i = 0; i < plan->num_edges; i++)
        run->behind[run->first[plan->edges[i].from + 1]++] = plan->edges[i].to;
}

static bool allocate(struct run *run)
{
    const struct ranks_plan *plan = run->plan;
    size_t nodes = plan->num_nodes + 2, messages = plan->num_messages + 1;
    size_t ranks = (size_t)plan->num_ranks + 1;
    struct store *store = &run->store;
    run->heap = braid_store_take(store, nodes + messages, sizeof(*run->heap));
    run->missing = braid_store_take(store, nodes, sizeof(uint32_t));
    run->left = braid_store_take(store, nodes, sizeof(uint32_t));
    run->right = braid_store_take(store, nodes, sizeof(uint32_t));
    run->ready = braid_store_take(store, messages, sizeof(double));
    run->arrived = braid_store_take(store, messages, sizeof(double));
    run->out = braid_store_take(store, ranks, sizeof(double));
    run->in = braid_store_take(store, ranks, sizeof(double));
    run->pools = braid_store_take(store, ranks, sizeof(*run->pools));
    run->first = braid_store_take(store, nodes, sizeof(uint32_t));
    run->behind = braid_store_take(store, plan->num_edges, sizeof(uint32_t));
    return !store->failed;
}

static void play(struct run *run)
{
    const struct ranks_machine *machine = run->machine;
    sort_behind(run);
    for (size_t i = 0; i < run->plan->num_messages; i++)
        run->ready[i] = run->arrived[i] = -1;
    for (uint32_t i = 0; i < run->plan->num_ranks; i++)
        run->pools[i].num_idle = machine->ranks_a_host ? machine->num_cores : machine->num_workers;
    for (uint32_t i = 0; i < run->plan->num_nodes; i++) {
        if (!run->missing[i])
            reach(run, i);
    }
    while (run->num_events) {
        struct event event = pop(run);
        run->now = event.at;
        if (event.kind == NODE_ENDS)
            end_node(run, event.what);
        else
            arrive(run, event.what);
    }
}

enum exit_status ranks_run(const struct ranks_plan *plan, const struct ranks_machine *machine,
                           struct ranks_frame *out_frame)
{
    struct run run = { .plan = plan, .machine = machine };
    bool allocated = allocate(&run);
    if (allocated)
        play(&run);
    *out_frame = (struct ranks_frame){ .makespan_ns = run.now,
                                       .work_ns = run.work_ns,
                                       .num_messages = plan->num_messages,
                                       .is_stuck = run.num_ended != plan->num_nodes };
    for (size_t i = 0; i < plan->num_messages; i++)
        out_frame->bytes += plan->messages[i].bytes;
    braid_store_finish(&run.store);
    return allocated ? EXIT_DONE : fail(EXIT_FAILED, "out of memory for simulating ranks");
}
