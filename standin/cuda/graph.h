// SPDX-License-Identifier: Apache-2.0
// Graphs of device work: nodes, edges, and clones of both.
#ifndef BRAID_STANDIN_GRAPH_H
#define BRAID_STANDIN_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cuda_abi.h"
#include "work.h"

struct edge {
    CUgraphNode from;
    CUgraphEdgeData data; // type 1: programmatic; see graph_run.c
};

enum { EDGE_PROGRAMMATIC = 1, PORT_TRIGGERED = 1, PORT_BEGUN = 2 }; // the type; its two ports

bool edge_is_plain(CUgraphEdgeData edge);
// Whether a program can add it: plain, or from a kernel that has begun, or programmatic from a
// kernel to one. to: NULL for a node that is still to come.
bool edge_valid(CUgraphEdgeData edge, CUgraphNode from, CUgraphNode to);

// Guarded by the world's lock while a program can change it; what a launch runs is a private
// clone that nobody changes, and is read without the lock.
struct CUgraphNode_st {
    CUgraph graph;
    size_t index; // in graph->nodes
    uint64_t id;  // the same in private clones, never reused
    struct work work;
    struct edge *before;
    size_t num_before;
    bool enabled;
    union { // what a query has told of a value's or a semaphore's node
        CUstreamBatchMemOpParams operation;
        CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS signal;
        CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS wait;
    };
};

struct CUgraph_st {
    CUgraphNode *nodes;
    size_t num_nodes, capacity;
    uint64_t family; // the same in private clones: says whether a node's id means anything here
    uint64_t next_id;
    int references;
    bool public;                  // a program holds it: it and its nodes are in the set of handles
    bool is_body;                 // a conditional node has it, and it is destroyed with that
    bool is_child;                // the same of a child node
    struct condition *conditions; // made for it; see condition.h
};

// All of these expect the world's lock.
CUgraph graph_create(bool public); // NULL: no memory
// A private clone knows its nodes by the originals; a public one is a graph of its own.
CUgraph graph_clone(CUgraph graph, bool public);
CUgraph graph_hold(CUgraph graph);
void graph_drop(CUgraph graph);

// Takes the work over, also on failure. edges: NULL for plain ones.
CUresult graph_add(CUgraph graph, struct work *work, const CUgraphNode *after,
                   const CUgraphEdgeData *edges, size_t num_after, CUgraphNode *out_node);
void graph_remove(CUgraphNode node);
CUresult graph_add_edge(CUgraphNode from, CUgraphNode to, CUgraphEdgeData data);
CUresult graph_remove_edge(CUgraphNode from, CUgraphNode to);

CUgraphNode graph_find(CUgraph clone,
                       CUgraphNode node); // the clone's own node, also in a graph within, or NULL
bool graph_has_conditions(CUgraph graph);
bool graph_has_memory(CUgraph graph); // nodes that allocate or free it
bool graph_has_cycle(CUgraph graph, bool *out_no_memory);
CUgraphNodeType graph_node_type(const struct work *work);

// A growing set of nodes in order of addition, with the data of an edge from each.
struct node_list {
    CUgraphNode *nodes;
    CUgraphEdgeData *edges;
    size_t count, capacity;
};

// A node that is there already gets a plain edge if one of the two is plain. False: no memory.
bool node_list_add(struct node_list *list, CUgraphNode node, CUgraphEdgeData edge);
bool node_list_copy(struct node_list *to, const struct node_list *from);
void node_list_finish(struct node_list *list);

#endif
