// SPDX-License-Identifier: Apache-2.0
// What the parts of the tuning bench share: graphs of real kernels on a device.
#ifndef BRAID_BENCH_TUNED_H
#define BRAID_BENCH_TUNED_H

#include <stdbool.h>

#include <braid/braid.h>

// Memory of the device, and as much of the host for what it begins with and for reading it.
struct tuned_memory {
    braid_device *device;
    bool is_gpu; // kernels have blocks of threads
    double *at, *mirror;
    size_t bytes;
};

struct tuned_memory tuned_allocate(braid_device *device, size_t bytes);
double *tuned_mirror(const struct tuned_memory *memory, const double *at);
void tuned_upload(const struct tuned_memory *memory);
void tuned_download(const struct tuned_memory *memory);

// A graph without costs, and the memory that its kernels work in.
struct tuned_graph {
    const char *name;
    braid_graph *graph;
    struct tuned_memory memory;
    uint32_t frames; // in flight; 0: one
    void *more;      // for finish
    // Whether the last frame's result is right, by arithmetic of its own. NULL: nobody looks.
    bool (*is_right)(const struct tuned_graph *graph);
    void (*finish)(struct tuned_graph *graph); // NULL: the graph and the memory are all
};

// The lower half of a matrix of 8 x 8 tiles as its Cholesky factor, from a fresh copy each frame.
struct tuned_graph tuned_cholesky(braid_device *device);
// Three blocks of four branches each, as products of matrices of unlike sizes.
struct tuned_graph tuned_inception(braid_device *device);
// sparse_mpm, the example; whether it computes the right thing its own program tells.
struct tuned_graph tuned_mpm(braid_device *device);

// Conjugate gradients until the residual is small: the loop of the example, from the start again
// each frame.
struct tuned_graph tuned_gradients(braid_device *device);
// A token of a transformer with 1.2 billion parameters: 81 products.
struct tuned_graph tuned_decode(braid_device *device);
// The pipeline of bench_pipeline, whose codecs compute for a millisecond; `frames` in flight.
struct tuned_graph tuned_pipeline(braid_device *device, uint32_t frames);

// Measures its costs, and prints what the planner then expects of each way to play it, and what
// that takes. Of a GPU.
void tuned_print_model(const struct tuned_graph *graph);

// Measures its costs, and prints the time that the planner then expects beside what is measured: as
// it comes, and on one lane.
void tuned_print_expected(const struct tuned_graph *graph);

void tuned_check(braid_status status); // ends the program with the message

// c = (is_sum ? c : 0) + scale * a * b, of m x k and k x n; b is n x k where it is transposed.
struct tuned_product {
    double *c;
    const double *a, *b;
    int m, n, k;
    double scale;
    bool is_sum, is_transposed;
};
void tuned_multiply(const struct tuned_product *product);

#endif
