// SPDX-License-Identifier: Apache-2.0
// The graph of the pipeline bench, its codecs and its filter.
#include "pipeline.h"

#include <time.h>

struct pipeline_codecs pipeline_codecs;

static uint64_t thread_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

// For as long as the codec takes: asleep, or in time of a core.
static void take_time(void)
{
    struct timespec time = { .tv_nsec = (long)pipeline_codecs.ns };
    if (pipeline_codecs.sleep)
        nanosleep(&time, NULL);
    for (uint64_t start = thread_ns();
         !pipeline_codecs.sleep && thread_ns() - start < pipeline_codecs.ns;)
        continue;
}

void pipeline_decode(void *user)
{
    struct picture *picture = user;
    take_time();
    picture->number = pipeline_codecs.num_decoded++;
    for (uint32_t i = 0; i < NUM; i++)
        picture->pixels[i] = i ^ picture->number;
}

void pipeline_encode(void *user)
{
    const struct picture *picture = user;
    take_time();
    pipeline_codecs.in_order =
        pipeline_codecs.in_order && picture->number == pipeline_codecs.num_encoded++;
    for (uint32_t i = 0; i < NUM; i++)
        pipeline_codecs.checksum = pipeline_codecs.checksum * 31 + picture->pixels[i];
}

void pipeline_filter_rows(struct picture *to, const struct picture *from, uint64_t begin,
                          uint64_t end)
{
    if (begin == 0)
        to->number = from->number;
    for (uint64_t i = begin * WIDTH; i < end * WIDTH; i++) {
        uint32_t pixel = from->pixels[i] + from->pixels[(i + WIDTH + 1) % NUM] * 5;
        to->pixels[i] = (pixel ^ pixel >> 15) * 0x2c1b3c6d;
    }
}

static void filter_on_cpu(const braid_blocks *blocks, void *const *args)
{
    pipeline_filter_rows(*(struct picture *const *)args[0], *(const struct picture *const *)args[1],
                         blocks->begin, blocks->end);
}

static const char filter_source[] =
    "extern \"C\" __global__ void filter(unsigned *to, const unsigned *from)\n"
    "{\n" // number, then 512 x 256 pixels
    "    if (blockIdx.x == 0 && threadIdx.x == 0)\n"
    "        to[0] = from[0];\n"
    "    for (unsigned k = threadIdx.x; k < 512; k += blockDim.x) {\n"
    "        unsigned i = blockIdx.x * 512 + k;\n"
    "        unsigned pixel = from[1 + i] + from[1 + (i + 513) % 131072] * 5;\n"
    "        to[1 + i] = (pixel ^ pixel >> 15) * 0x2c1b3c6du;\n"
    "    }\n"
    "}\n";

static const braid_kernel filter = { .name = "filter",
                                     .cpu = filter_on_cpu,
                                     .source = filter_source };

static void add_filters(braid_graph *graph, const braid_resource *pictures)
{
    for (int i = 0; i < NUM_FILTERS; i++)
        CHECK(braid_graph_add_kernel(
            graph,
            &(braid_kernel_node){
                .kernel = &filter,
                .grid.x = HEIGHT,
                .block.x = 256,
                BRAID_ARGS(braid_resource_address(&pictures[i + 1]),
                           braid_resource_address(&pictures[i])),
                BRAID_ACCESSES({ pictures[i], BRAID_READ }, { pictures[i + 1], BRAID_WRITE }) },
            NULL));
}

static void add_copy(braid_graph *graph, braid_resource to, braid_resource from)
{
    CHECK(braid_graph_add_copy(
        graph,
        &(braid_copy){ BRAID_ACCESSES({ from, BRAID_READ }, { to, BRAID_WRITE }), .to_resource = to,
                       .from_resource = from, .bytes = sizeof(struct picture) },
        NULL));
}

static void add_call(braid_graph *graph, const char *name, braid_host_function *call,
                     braid_resource pictures, braid_access_mode mode)
{
    braid_resource state;
    CHECK(braid_graph_add_resource(graph, name, &state));
    CHECK(braid_graph_add_host_call(
        graph,
        &(braid_host_call){ BRAID_ACCESSES({ state, BRAID_READ_WRITE }, { pictures, mode }),
                            .call = call, .user_resource = pictures,
                            .blocking = pipeline_codecs.sleep },
        NULL));
}

// The host has as many as frames may be in flight.
static braid_resource add_pictures(braid_graph *graph, const char *name, uint32_t frames,
                                   struct picture *pictures)
{
    const uint64_t bytes = sizeof(struct picture);
    void *const addresses[DEPTH] = { &pictures[0], &pictures[1], &pictures[2] };
    braid_resource resource;
    if (frames == 1)
        CHECK(braid_graph_add_buffer(graph, name, &pictures[0], bytes, &resource));
    else
        CHECK(braid_graph_add_versioned_buffer(graph, name, addresses, frames, bytes, &resource));
    return resource;
}

void pipeline_fill_graph(braid_graph *graph, uint32_t frames, struct picture *in,
                         struct picture *out)
{
    const uint64_t bytes = sizeof(struct picture);
    braid_resource input = add_pictures(graph, "input", frames, in);
    braid_resource output = add_pictures(graph, "output", frames, out);
    braid_resource pictures[NUM_FILTERS + 1];
    for (int i = 0; i <= NUM_FILTERS; i++)
        CHECK(braid_graph_add_transient(graph, "picture", bytes, 0, &pictures[i]));
    add_call(graph, "decode", pipeline_decode, input, BRAID_WRITE);
    add_copy(graph, pictures[0], input);
    add_filters(graph, pictures);
    add_copy(graph, output, pictures[NUM_FILTERS]);
    add_call(graph, "encode", pipeline_encode, output, BRAID_READ);
}
