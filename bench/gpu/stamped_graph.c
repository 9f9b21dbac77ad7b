// SPDX-License-Identifier: Apache-2.0
// Kernels with less or more of the code that writes their times, and graphs of them by hand.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/gpu/gpu_backend.h"
#include "backends/gpu/gpu_ptx_early.h"
#include "backends/gpu/gpu_ptx_stamps.h"
#include "base/host_memory.h"
#include "gpu/stamped.h"

enum { MOST_STAMPS = 32 };

static char *replace(char *text, const struct text_edit *edit)
{
    size_t from = strlen(edit->from), to = strlen(edit->to), num = 0;
    for (const char *at = text; (at = strstr(at, edit->from)); at += from)
        num++;
    if (!num) {
        fprintf(stderr, "'%s' is not in: %s\n", edit->from, text);
        exit(1);
    }
    char *made = braid_allocate(strlen(text) + num * to + 1), *out = made;
    if (!made)
        abort();
    const char *at = text, *next;
    for (; (next = strstr(at, edit->from)); at = next + from) {
        memcpy(out, at, (size_t)(next - at));
        out += next - at;
        memcpy(out, edit->to, to);
        out += to;
    }
    memcpy(out, at, strlen(at) + 1);
    braid_free(text);
    return made;
}

static char *checked(char *text, const struct ptx_reason *reason)
{
    if (text)
        return text;
    fprintf(stderr, "the text stays as it is: %s\n",
            *reason->text ? reason->text : "out of memory");
    exit(1);
}

// As Braid makes it: with times where they are kept, and waiting first.
static char *make_text(const struct gpu_backend *gpu, const struct variant *variant)
{
    struct ptx_reason reason;
    char *text = NULL, *changed;
    const struct gpu_code code = { .source = variant->kernel->source };
    struct gpu_compiled compiled;
    must(braid_gpu_compile(gpu, variant->kernel->name, &code, true, &compiled));
    text = compiled.image;
    if (variant->code->is_timed) {
        changed = checked(braid_gpu_ptx_with_stamps(text, &reason), &reason);
        braid_free(text);
        text = changed;
    }
    changed = checked(braid_gpu_ptx_with_early_start(text, &reason), &reason);
    braid_free(text);
    for (const struct text_edit *edit = variant->code->edits; edit->from; edit++)
        changed = replace(changed, edit);
    return changed;
}

void stamped_load(const struct driver *driver, struct variant *variant)
{
    const struct gpu_api *api = driver->api;
    char *text = make_text(gpu_from(driver->backend), variant);
    variant->result = api->module_load(&variant->module, text);
    braid_free(text);
    if (!variant->result)
        must_call(api->module_function(&variant->function, variant->module, bench_spin.name),
                  "cuModuleGetFunction");
}

void stamped_unload(const struct driver *driver, struct variant *variant)
{
    if (variant->module)
        must_call(driver->api->module_unload(variant->module), "cuModuleUnload");
}

static void add_node(const struct driver *driver, struct variant *variant, const struct load *load,
                     gpu_node *nodes, uint32_t i)
{
    static const struct gpu_edge_data early = { .from_port = GPU_EDGE_PORT_PROGRAMMATIC,
                                                .type = GPU_EDGE_PROGRAMMATIC };
    struct gpu_kernel kernel = { .function = variant->function };
    char *stamps = (char *)variant->stamps +
                   (size_t)i * MOST_STAMPS * GPU_STAMPS_APART * sizeof(struct gpu_stamp);
    uint32_t cycles = load->cycles, mask = load->num_blocks > 1 ? MOST_STAMPS - 1 : 0;
    void *args[] = { &cycles, &stamps, &mask };
    uint32_t before = load->num_lanes, num_after = 0;
    gpu_node after[2];
    if (i >= before && before > 1 && i % 5 == 0 && i % before != before - 1)
        after[num_after++] = nodes[i - before + 1];
    if (i >= before && !load->is_early)
        after[num_after++] = nodes[i - before];
    const struct backend_launch launch = {
        .kernel = &kernel.base,
        .grid = { load->num_blocks, 1, 1 },
        .block = { load->num_threads, 1, 1 },
        .args = args,
        .num_args = variant->code->is_timed ? 3 : 1,
    };
    const struct gpu_behind behind = { variant->graph, after, num_after };
    const struct gpu_backend *gpu = gpu_from(driver->backend);
    const void *slot = NULL;
    must_call(gpu->vendor->nodes->add_kernel(gpu, &behind, &launch, &nodes[i], &slot),
              "cuGraphAddKernelNode");
    if (i >= before && load->is_early)
        must_call(
            driver->api->graph_add_edges(variant->graph, &nodes[i - before], &nodes[i], &early, 1),
            "cuGraphAddDependencies");
}

void stamped_open(const struct driver *driver, struct variant *variant, const struct load *load)
{
    const struct gpu_api *api = driver->api;
    gpu_node nodes[STAMPED_NODES];
    size_t stamps = STAMPED_NODES * MOST_STAMPS * GPU_STAMPS_APART * sizeof(struct gpu_stamp);
    if (!variant->function)
        return;
    must_call(api->memory_allocate(&variant->stamps, stamps), "cuMemAlloc");
    must_call(api->graph_create(&variant->graph, 0), "cuGraphCreate");
    must_call(api->stream_create(&variant->stream, GPU_STREAM_NON_BLOCKING, 0), "cuStreamCreate");
    must_call(api->fill8(variant->stamps, 0, stamps, variant->stream), "cuMemsetD8Async");
    for (uint32_t i = 0; i < STAMPED_NODES; i++)
        add_node(driver, variant, load, nodes, i);
    must_call(api->graph_instantiate(&variant->executable, variant->graph, 0),
              "cuGraphInstantiate");
}

void stamped_close(const struct driver *driver, struct variant *variant)
{
    const struct gpu_api *api = driver->api;
    if (!variant->function)
        return;
    must_call(api->stream_synchronize(variant->stream), "cuStreamSynchronize");
    must_call(api->executable_destroy(variant->executable), "cuGraphExecDestroy");
    must_call(api->graph_destroy(variant->graph), "cuGraphDestroy");
    must_call(api->stream_destroy(variant->stream), "cuStreamDestroy");
    must_call(api->memory_free(variant->stamps), "cuMemFree");
}

double stamped_run(const struct driver *driver, struct variant *variant)
{
    double start = now_us();
    must_call(driver->api->executable_launch(variant->executable, variant->stream),
              "cuGraphLaunch");
    must_call(driver->api->stream_synchronize(variant->stream), "cuStreamSynchronize");
    return now_us() - start;
}
