// SPDX-License-Identifier: Apache-2.0
// Running a graph: in a random order that its edges allow, so that a missing edge shows.
#include "graph_run.h"

#include <pthread.h>
#include <stdlib.h>

#include "module.h"
#include "report.h"
#include "settings.h"
#include "threads.h"

// One run of one graph, shared by the threads that work on it.
struct run {
    CUgraph graph;
    struct ticket *const *tickets;
    pthread_mutex_t lock; // guards what follows
    pthread_cond_t changed;
    uint64_t random;
    size_t num_left; // nodes not finished
    size_t *missing; // per node: predecessors not finished
    size_t *ready;   // nodes that may start now, in no order
    size_t num_ready;
    size_t num_waiting; // threads that sleep until a node is ready
    size_t **after;     // per node: its successors, one array per graph
    size_t *num_after;
    size_t *successors; // storage of after
};

// By its port an edge from a kernel lets the second node begin when the first has let it, or has
// begun. Behind a programmatic edge a kernel that waits itself is held: a disabled one does not,
// nor is then held what comes behind it. A capture may lead such an edge to other work, which waits
// for nothing.
static bool edge_holds(CUgraphNode to, const struct edge *edge)
{
    if (edge->data.from_port == 0)
        return true;
    bool waits = edge->data.type == EDGE_PROGRAMMATIC && to->enabled &&
                 to->work.kind == WORK_KERNEL && to->work.kernel.function->waits;
    return waits ||
           (edge->data.from_port == PORT_TRIGGERED && !edge->from->work.kernel.function->triggers);
}

static void count_edges(struct run *run)
{
    for (size_t i = 0; i < run->graph->num_nodes; i++) {
        CUgraphNode node = run->graph->nodes[i];
        for (size_t j = 0; j < node->num_before; j++) {
            if (!edge_holds(node, &node->before[j]))
                continue;
            run->missing[i]++;
            run->num_after[node->before[j].from->index]++;
        }
        if (run->missing[i] == 0)
            run->ready[run->num_ready++] = i;
    }
}

static void fill_successors(struct run *run)
{
    size_t start = 0;
    for (size_t i = 0; i < run->graph->num_nodes; i++) {
        run->after[i] = run->successors + start;
        start += run->num_after[i];
        run->num_after[i] = 0;
    }
    for (size_t i = 0; i < run->graph->num_nodes; i++)
        for (size_t j = 0; j < run->graph->nodes[i]->num_before; j++) {
            if (!edge_holds(run->graph->nodes[i], &run->graph->nodes[i]->before[j]))
                continue;
            size_t from = run->graph->nodes[i]->before[j].from->index;
            run->after[from][run->num_after[from]++] = i;
        }
}

static bool prepare(struct run *run)
{
    size_t num_nodes = run->graph->num_nodes, num_edges = 0;
    for (size_t i = 0; i < num_nodes; i++)
        num_edges += run->graph->nodes[i]->num_before;
    run->missing = calloc(num_nodes + 1, sizeof(*run->missing));
    run->ready = calloc(num_nodes + 1, sizeof(*run->ready));
    run->after = calloc(num_nodes + 1, sizeof(*run->after));
    run->num_after = calloc(num_nodes + 1, sizeof(*run->num_after));
    run->successors = calloc(num_edges + 1, sizeof(*run->successors));
    if (run->missing == NULL || run->ready == NULL || run->after == NULL ||
        run->num_after == NULL || run->successors == NULL)
        return false;
    count_edges(run);
    fill_successors(run);
    run->num_left = num_nodes;
    return true;
}

// Both expect the run's lock.
static size_t take_ready(struct run *run)
{
    size_t choice = (size_t)(random_next(&run->random) % run->num_ready);
    size_t node = run->ready[choice];
    run->ready[choice] = run->ready[--run->num_ready];
    return node;
}

static void finish_node(struct run *run, size_t node)
{
    run->num_left--;
    for (size_t i = 0; i < run->num_after[node]; i++) {
        size_t next = run->after[node][i];
        if (--run->missing[next] == 0)
            run->ready[run->num_ready++] = next;
    }
    // This thread takes one of the nodes, and others are woken for the rest.
    if (run->num_left == 0)
        pthread_cond_broadcast(&run->changed);
    for (size_t i = 1; i < run->num_ready && i <= run->num_waiting; i++)
        pthread_cond_signal(&run->changed);
}

static void run_node(const struct run *run, size_t index)
{
    CUgraphNode node = run->graph->nodes[index];
    if (node->enabled)
        work_run(&node->work, run->tickets == NULL ? NULL : run->tickets[index]);
}

static void *work_on(void *argument)
{
    struct run *run = argument;
    pthread_mutex_lock(&run->lock);
    while (run->num_left > 0) {
        if (run->num_ready == 0) {
            run->num_waiting++;
            pthread_cond_wait(&run->changed, &run->lock);
            run->num_waiting--;
            continue;
        }
        size_t node = take_ready(run);
        pthread_mutex_unlock(&run->lock);
        run_node(run, node);
        pthread_mutex_lock(&run->lock);
        finish_node(run, node);
    }
    pthread_mutex_unlock(&run->lock);
    return NULL;
}

static void run_on_threads(struct run *run, size_t num_threads)
{
    struct task helpers[MAX_GRAPH_THREADS];
    size_t num_helpers = 0, most = num_threads < run->num_left ? num_threads : run->num_left;
    while (num_helpers + 1 < most && threads_start(&helpers[num_helpers], work_on, run))
        num_helpers++;
    work_on(run);
    for (size_t i = 0; i < num_helpers; i++)
        threads_join(&helpers[i]);
}

void graph_run(CUgraph graph, struct ticket *const *tickets, uint64_t launch_number)
{
    struct run run = { .graph = graph, .tickets = tickets };
    run.random = random_start(launch_number);
    if (!prepare(&run)) {
        complain("no memory to run a graph of %zu nodes", graph->num_nodes);
        abort(); // the alternative is that whoever waits for the graph waits for ever
    }
    pthread_mutex_init(&run.lock, NULL);
    pthread_cond_init(&run.changed, NULL);
    run_on_threads(&run, (size_t)setting(SETTING_GRAPH_THREADS));
    pthread_cond_destroy(&run.changed);
    pthread_mutex_destroy(&run.lock);
    free(run.missing);
    free(run.ready);
    free(run.after);
    free(run.num_after);
    free(run.successors);
}
