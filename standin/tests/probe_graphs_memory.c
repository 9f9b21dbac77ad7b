// SPDX-License-Identifier: Apache-2.0
// The part of the probe of graphs that asks about addresses and about nodes of memory.
#include <string.h>

#include "probe_graphs.h"

// The value is told where it is no address, size or id.
static void say_attribute(CUpointer_attribute id, CUdeviceptr at)
{
    unsigned char value[16];
    int written = 0, first;
    memset(value, 0xEE, sizeof(value));
    CUresult result = cuPointerGetAttribute(value, id, at);
    for (int k = 0; k < 16; k++)
        written = value[k] != 0xEE ? k + 1 : written;
    memcpy(&first, value, sizeof(first));
    printf("attribute %d: %d", (int)id, (int)result);
    if (!result && (id == 2 || id == 8 || id == 9 || id == 10 || id == 13))
        printf(" value %d, %d bytes", first & (written < 4 ? 0xff : -1), written);
    putchar('\n');
}

static void probe_pointer(const char *name, CUdeviceptr at)
{
    static const int ids[] = { 1, 2, 3, 4, 7, 8, 9, 10, 11, 12, 13, 14 };
    CUdeviceptr start = 0;
    size_t bytes = 0;
    SAY("== %s", name);
    P(cuMemGetAddressRange_v2(&start, &bytes, at));
    SAY("offset %lld bytes %zu", start ? (long long)(at - start) : -1, bytes);
    for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++)
        say_attribute((CUpointer_attribute)ids[i], at);
    unsigned type = 99, managed = 99;
    int ordinal = 99;
    CUdeviceptr host = 99;
    CUpointer_attribute which[] = { 2, 8, 9, 4 };
    void *values[] = { &type, &managed, &ordinal, &host };
    P(cuPointerGetAttributes(4, which, values, at));
    SAY("type %u managed %u ordinal %d host %s", type, managed, ordinal,
        host == at ? "same"
        : host     ? "other"
                   : "none");
}

void probe_pointers(void)
{
    CUdeviceptr device, managed, pooled;
    static char own[4096];
    void *pinned;
    NEED(cuMemAlloc_v2(&device, 64));
    NEED(cuMemAllocManaged(&managed, 64, 1));
    NEED(cuMemHostAlloc(&pinned, 64, 0));
    NEED(cuMemHostRegister_v2(own, 4096, 0));
    NEED(cuMemAllocAsync(&pooled, 64, NULL));
    NEED(cuStreamSynchronize(NULL));
    probe_pointer("device", device + 5);
    probe_pointer("managed", managed + 5);
    probe_pointer("pinned", (CUdeviceptr)pinned + 5);
    probe_pointer("registered", (CUdeviceptr)own + 5);
    probe_pointer("pooled", pooled + 5);
    probe_pointer("pageable", (CUdeviceptr)&device);
    NEED(cuMemFree_v2(device));
    probe_pointer("freed", device);
}

static CUgraph one_allocation(CUdeviceptr *out_memory, CUgraphNode *out_alloc,
                              CUgraphNode *out_fill)
{
    CUgraph graph;
    CUDA_MEM_ALLOC_NODE_PARAMS params = { .poolProps = { .allocType = 1, .location = { 1, 0 } },
                                          .bytesize = 4 };
    NEED(cuGraphCreate(&graph, 0));
    NEED(cuGraphAddMemAllocNode(out_alloc, graph, NULL, 0, &params));
    const CUDA_MEMSET_NODE_PARAMS fill = { params.dptr, 0, 5, 4, 1, 1 };
    NEED(cuGraphAddMemsetNode(out_fill, graph, out_alloc, 1, &fill, context));
    *out_memory = params.dptr;
    return graph;
}

// What cannot be done with nodes of memory.
static void probe_refusals(CUgraph graph, CUdeviceptr memory, CUgraphNode alloc, CUgraphNode fill,
                           CUgraph other)
{
    CUgraph parent, child;
    CUgraphNode node;
    CUDA_MEM_ALLOC_NODE_PARAMS params = { .poolProps = { .allocType = 1, .location = { 1, 0 } } };
    NEED(cuGraphCreate(&parent, 0));
    NEED(cuGraphCreate(&child, 0));
    P(cuGraphAddMemAllocNode(&node, other, NULL, 0, &params)); // no bytes
    params.bytesize = 4;
    params.poolProps.location.id = 77;
    P(cuGraphAddMemAllocNode(&node, other, NULL, 0, &params));
    params.poolProps.location.id = 0;
    params.poolProps.handleTypes = 1;
    P(cuGraphAddMemAllocNode(&node, other, NULL, 0, &params));
    params.poolProps.handleTypes = 0;
    P(cuGraphAddChildGraphNode(&node, parent, NULL, 0, child));
    NEED(cuGraphChildGraphNodeGetGraph(node, &child));
    P(cuGraphAddMemAllocNode(&node, child, NULL, 0, &params));
    P(cuGraphDestroy(child));
    P(cuGraphClone(&child, graph));
    P(cuGraphAddChildGraphNode(&node, parent, NULL, 0, graph));
    P(cuGraphDestroyNode(fill));
    P(cuGraphRemoveDependencies(graph, &alloc, &fill, 1));
    P(cuGraphAddMemFreeNode(&node, other, NULL, 0, word));
    P(cuGraphAddMemFreeNode(&node, other, NULL, 0, 0));
    P(cuGraphAddMemFreeNode(&node, other, NULL, 0, memory + 4));
    P(cuMemFreeAsync(memory, NULL)); // no launch has allocated it
}

// The launches leave memory allocated, which others free. The other graph frees it at last.
static void probe_launches(CUgraph graph, CUdeviceptr memory, CUgraphNode alloc, CUgraphNode fill,
                           CUgraph other)
{
    CUgraphExec exec = NULL, second, freeing = NULL;
    CUgraphNode node;
    unsigned value = 0;
    P(cuGraphInstantiateWithFlags(&exec, graph, 0));
    P(cuGraphInstantiateWithFlags(&second, graph, 0));
    P(cuGraphNodeSetEnabled(exec, alloc, 0));
    P(cuGraphLaunch(exec, NULL));
    P(cuGraphLaunch(exec, NULL));
    P(cuMemcpyDtoH_v2(&value, memory, 4));
    probe_pointer("memory of a graph, allocated", memory);
    P(cuMemFreeAsync(memory, NULL));
    P(cuGraphLaunch(exec, NULL));
    P(cuMemFree_v2(memory));
    P(cuMemFree_v2(memory));
    P(cuGraphAddMemFreeNode(&node, other, NULL, 0, memory));
    P(cuGraphAddMemFreeNode(&node, other, NULL, 0, memory));  // twice elsewhere
    P(cuGraphAddMemFreeNode(&node, graph, &fill, 1, memory)); // and within
    P(cuGraphInstantiateWithFlags(&freeing, other, 0));
    P(cuGraphLaunch(freeing, NULL)); // nothing is allocated
    P(cuGraphLaunch(exec, NULL));
    P(cuGraphLaunch(freeing, NULL));
    P(cuStreamSynchronize(NULL));
    P(cuGraphExecDestroy(exec));
}

static void probe_automatic_frees(CUgraph graph, CUdeviceptr memory)
{
    CUgraphExec exec = NULL;
    unsigned value = 0;
    P(cuGraphInstantiateWithFlags(&exec, graph, CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH));
    P(cuGraphLaunch(exec, NULL));
    P(cuGraphLaunch(exec, NULL));
    P(cuGraphExecDestroy(exec));
    P(cuGraphDestroy(graph));
    P(cuMemcpyDtoH_v2(&value, memory, 4));
    SAY("value %u", value);
    P(cuMemFree_v2(memory));
}

static void probe_frees_within(void)
{
    CUdeviceptr memory, again;
    CUgraphNode alloc, fill, node;
    CUgraphExec exec = NULL;
    CUgraph graph = one_allocation(&memory, &alloc, &fill);
    CUDA_MEM_ALLOC_NODE_PARAMS params = { .poolProps = { .allocType = 1, .location = { 1, 0 } },
                                          .bytesize = 4 };
    P(cuGraphAddMemFreeNode(&node, graph, NULL, 0, memory)); // not behind the allocation
    P(cuGraphAddMemFreeNode(&node, graph, &fill, 1, memory));
    P(cuGraphInstantiateWithFlags(&exec, graph, 0));
    P(cuMemFreeAsync(memory, NULL));
    graph = one_allocation(&memory, &alloc, &fill);
    NEED(cuGraphAddMemFreeNode(&node, graph, &fill, 1, memory));
    NEED(cuGraphAddMemAllocNode(&node, graph, &node, 1, &params));
    again = params.dptr;
    SAY("address used again: %d", again == memory);
    P(cuGraphAddMemFreeNode(&node, graph, &node, 1, again));
    P(cuGraphInstantiateWithFlags(&exec, graph, 0));
    P(cuGraphLaunch(exec, NULL));
    P(cuGraphLaunch(exec, NULL));
    P(cuStreamSynchronize(NULL));
    P(cuMemFree_v2(memory));
}

void probe_memory(void)
{
    CUdeviceptr memory;
    CUgraphNode alloc, fill;
    CUgraph graph = one_allocation(&memory, &alloc, &fill), other;
    CUDA_MEM_ALLOC_NODE_PARAMS told;
    SAY("== nodes of memory");
    NEED(cuGraphMemAllocNodeGetParams(alloc, &told));
    SAY("told type %d location %d %d accesses %zu bytes %zu", told.poolProps.allocType,
        told.poolProps.location.type, told.poolProps.location.id, told.accessDescCount,
        told.bytesize);
    probe_pointer("memory of a graph, before", memory);
    NEED(cuGraphCreate(&other, 0));
    probe_refusals(graph, memory, alloc, fill, other);
    probe_launches(graph, memory, alloc, fill, other);
    probe_automatic_frees(graph, memory);
    probe_frees_within();
}

void probe_captured_memory(void)
{
    CUstream stream;
    CUdeviceptr first = 0, second = 0;
    CUgraph graph;
    CUgraphNode nodes[8];
    CUDA_MEM_ALLOC_NODE_PARAMS told;
    size_t count = 8;
    SAY("== captured memory");
    NEED(cuStreamCreate(&stream, 1));
    NEED(cuStreamBeginCapture_v2(stream, 0));
    P(cuMemAllocAsync(&first, 4, stream));
    P(cuMemFreeAsync(first, stream));
    P(cuMemFreeAsync(first, stream));
    P(cuMemAllocAsync(&second, 4, stream));
    P(cuMemFreeAsync(word, stream));
    P(cuMemAllocAsync(&first, 0, stream));
    P(cuMemFreeAsync(second, stream));
    P(cuStreamEndCapture(stream, &graph));
    SAY("address used again: %d", first == second);
    NEED(cuGraphGetNodes(graph, nodes, &count));
    NEED(cuGraphMemAllocNodeGetParams(nodes[0], &told));
    SAY("nodes %zu told type %d handles %d location %d %d accesses %zu bytes %zu", count,
        told.poolProps.allocType, told.poolProps.handleTypes, told.poolProps.location.type,
        told.poolProps.location.id, told.accessDescCount, told.bytesize);
}
