// SPDX-License-Identifier: Apache-2.0
// A video pipeline as a graph: a picture is decoded, uploaded, filtered, downloaded and encoded.
#ifndef BRAID_BENCH_PIPELINE_H
#define BRAID_BENCH_PIPELINE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <braid/braid.h>

#define CHECK(call)                                                                                \
    do {                                                                                           \
        if ((call) != BRAID_OK) {                                                                  \
            fprintf(stderr, "%s: %s\n", #call, braid_error_get_message());                         \
            exit(EXIT_FAILURE);                                                                    \
        }                                                                                          \
    } while (0)

enum { WIDTH = 512, HEIGHT = 256, NUM = WIDTH * HEIGHT, NUM_FILTERS = 5, DEPTH = 3 };

struct picture {
    uint32_t number;
    uint32_t pixels[NUM];
};

// How the codecs take time, and the pictures that went through them.
struct pipeline_codecs {
    bool sleep;
    uint64_t ns;
    uint32_t num_decoded, num_encoded, checksum;
    bool in_order;
};
extern struct pipeline_codecs pipeline_codecs;

void pipeline_decode(void *user);
void pipeline_encode(void *user);
void pipeline_filter_rows(struct picture *to, const struct picture *from, uint64_t begin,
                          uint64_t end);

// Fills a graph for up to so many frames in flight: up to DEPTH pictures of the host go in and out.
void pipeline_fill_graph(braid_graph *graph, uint32_t frames, struct picture *in,
                         struct picture *out);

#endif
