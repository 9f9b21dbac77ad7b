// SPDX-License-Identifier: Apache-2.0
// Executable graphs as they are: a program may destroy the graph that it made one of.
#ifndef BRAID_RECORD_SNAPSHOT_H
#define BRAID_RECORD_SNAPSHOT_H

#include "record/recorder.h"

// A node, and handles that become numbers when the graph gets into the record.
struct known_node {
    braid_record_node node;
    word handle;             // CUgraphNode
    uint64_t address, bytes; // the memory that it allocates or frees; an event
};

// An exec: its graphs, children first, and it itself last. Indices count inside it.
struct known_exec {
    struct array nodes, graphs, befores;
    struct pointer_map node_of;
    struct store store;  // parameters
    uint32_t published;  // the row of the record that is as this is now, or NONE
    const char *strange; // the function that changed it in a way that is not understood
    bool failed;
};

// A conditional node, whose driver may tell nothing of it.
struct known_condition {
    braid_record_condition kind;
    uint64_t handle;
    uint32_t num_bodies;
    word *bodies; // CUgraphs
    bool has_first_value;
    uint32_t first_value; // that a launch gives the handle
};

// CUDA_KERNEL_NODE_PARAMS; the first version ends before `kernel`.
struct kernel_parameters {
    word function;
    uint32_t sizes[7];
    void **arguments;
    void **extra;
    word kernel, context;
};

struct fill_parameters { // CUDA_MEMSET_NODE_PARAMS
    uint64_t to;
    size_t pitch;
    uint32_t value, value_bytes;
    size_t width, height;
};

// Reads the graph. Without the lock. NULL: memory ran out, or the driver does not tell it.
struct known_exec *recorder_read_graph(word graph);
void recorder_free_exec(struct known_exec *exec);

// Fill the work of a node. The one of a kernel keeps its attributes. Without the lock.
void recorder_kernel_work(const struct kernel_parameters *parameters, bool has_kernel,
                          braid_record_work *work, struct store *store);
void recorder_fill_work(const struct fill_parameters *parameters, braid_record_work *work);
void recorder_box_work(const struct box *box, braid_record_work *work);

#endif
