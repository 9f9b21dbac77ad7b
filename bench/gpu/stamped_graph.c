// SPDX-License-Identifier: Apache-2.0
// A spinning kernel in many variants of the code that writes its times, and graphs of them by hand.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/gpu/gpu_backend.h"
#include "backends/gpu/gpu_ptx.h"
#include "backends/gpu/gpu_ptx_stamps.h"
#include "gpu/stamped.h"

enum { MOST_STAMPS = 32, FUNCTION_CARVEOUT = 9, MOST_UNITS = 1024 };

// What a block notes.
struct ran {
    uint64_t unit, begin_ns, end_ns;
};

static char *replace(char *text, const struct text_edit *edit)
{
    size_t from = strlen(edit->from), to = strlen(edit->to), num = 0;
    for (const char *at = text; (at = strstr(at, edit->from)); at += from)
        num++;
    if (!num) {
        fprintf(stderr, "'%s' is not in: %s\n", edit->from, text);
        exit(1);
    }
    char *made = calloc(strlen(text) + num * to + 1, 1), *out = made;
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
    free(text);
    return made;
}

static char *checked(char *text, const char *reason)
{
    if (text)
        return text;
    fprintf(stderr, "the text stays as it is: %s\n", reason ? reason : "out of memory");
    exit(1);
}

// As Braid makes it: with times where they are kept, and waiting first.
static char *make_text(const struct gpu_backend *gpu, const struct variant *variant)
{
    const char *reason = NULL;
    char *text = NULL, *changed;
    must(
        braid_gpu_compile(gpu, variant->kernel ? variant->kernel : &bench_spin, true, &text, NULL));
    if (variant->is_timed) {
        changed = checked(braid_gpu_ptx_with_stamps(text, &reason), reason);
        free(text);
        text = changed;
    }
    changed = checked(braid_gpu_ptx_with_early_start(text, &reason), reason);
    free(text);
    for (const struct text_edit *edit = variant->edits; edit->from; edit++)
        changed = replace(changed, edit);
    return changed;
}

static void load_by_braid(const struct driver *driver, struct variant *variant)
{
    variant->function = driver->spin;
    if (!variant->is_timed)
        return;
    must(braid_gpu_kernel_load_stamped(gpu_from(driver->backend), gpu_kernel_from(driver->kernel),
                                       &variant->timed));
    variant->function = variant->timed ? variant->timed->function : NULL;
}

void stamped_load(const struct driver *driver, struct variant *variant)
{
    const struct gpu_backend *gpu = gpu_from(driver->backend);
    const struct gpu_api *api = driver->api;
    char *image = NULL;
    if (variant->made == MADE_BY_BRAID) {
        load_by_braid(driver, variant);
        return;
    }
    if (variant->made == MADE_BY_COMPILER)
        must(braid_gpu_compile(gpu, &bench_spin, false, &image, NULL));
    else
        image = make_text(gpu, variant);
    variant->result = api->module_load(&variant->module, image);
    free(image);
    if (variant->result)
        return;
    must_call(api->module_function(&variant->function, variant->module, bench_spin.name),
              "cuModuleGetFunction");
    if (variant->carveout)
        must_call(api->function_set(variant->function, FUNCTION_CARVEOUT, variant->carveout),
                  "cuFuncSetAttribute");
}

void stamped_unload(const struct driver *driver, struct variant *variant)
{
    if (variant->timed)
        braid_gpu_kernel_unload(driver->backend, &variant->timed->base);
    if (variant->module)
        must_call(driver->api->module_unload(variant->module), "cuModuleUnload");
}

static void add_node(const struct driver *driver, struct variant *variant, const struct load *load,
                     gpu_node *nodes, uint32_t i)
{
    struct gpu_kernel kernel = { .function = variant->function };
    char *log = (char *)variant->log + (size_t)i * load->num_blocks * sizeof(struct ran);
    char *stamps = (char *)variant->stamps +
                   (size_t)i * MOST_STAMPS * GPU_STAMPS_APART * sizeof(struct gpu_stamp);
    uint32_t cycles = load->cycles, mask = load->num_blocks > 1 ? MOST_STAMPS - 1 : 0;
    void *args[] = { &cycles, &stamps, &mask, &log };
    uint32_t before = load->num_lanes, num_after = i < before ? 0 : 1;
    gpu_node after[2] = { num_after ? nodes[i - before] : NULL };
    if (num_after && before > 1 && i % 5 == 0 && i % before != before - 1)
        after[num_after++] = nodes[i - before + 1];
    const struct backend_launch launch = {
        .kernel = &kernel.base,
        .grid = { load->num_blocks, 1, 1 },
        .block = { load->num_threads, 1, 1 },
        .args = args,
        .num_args = 1u + (variant->is_timed ? 2u : 0u) + (variant->is_logged ? 1u : 0u),
    };
    const struct gpu_place place = { variant->graph, after, num_after };
    const struct gpu_backend *gpu = gpu_from(driver->backend);
    const void *slot = NULL;
    must_call(gpu->vendor->nodes->add_kernel(gpu, &place, &launch, &nodes[i], &slot),
              "cuGraphAddKernelNode");
}

static void add_join(const struct driver *driver, const struct variant *variant,
                     const struct load *load, const gpu_node *nodes)
{
    const struct gpu_backend *gpu = gpu_from(driver->backend);
    uint32_t cycles = 0;
    void *args[] = { &cycles };
    const struct backend_launch launch = { .kernel = driver->kernel,
                                           .grid = { 1, 1, 1 },
                                           .block = { 1, 1, 1 },
                                           .args = args,
                                           .num_args = 1 };
    const struct gpu_place place = { variant->graph, nodes + STAMPED_NODES - load->num_lanes,
                                     load->num_lanes };
    gpu_node node;
    const void *slot = NULL;
    must_call(gpu->vendor->nodes->add_kernel(gpu, &place, &launch, &node, &slot),
              "cuGraphAddKernelNode");
}

void stamped_open(const struct driver *driver, struct variant *variant, const struct load *load)
{
    const struct gpu_api *api = driver->api;
    gpu_node nodes[STAMPED_NODES];
    size_t stamps = STAMPED_NODES * MOST_STAMPS * GPU_STAMPS_APART * sizeof(struct gpu_stamp);
    size_t log = (size_t)STAMPED_NODES * load->num_blocks * sizeof(struct ran);
    if (!variant->function)
        return;
    must_call(api->memory_allocate(&variant->stamps, stamps), "cuMemAlloc");
    must_call(api->memory_allocate(&variant->log, log), "cuMemAlloc");
    must_call(api->graph_create(&variant->graph, 0), "cuGraphCreate");
    must_call(api->stream_create(&variant->stream, GPU_STREAM_NON_BLOCKING, 0), "cuStreamCreate");
    must_call(api->fill8(variant->stamps, 0, stamps, variant->stream), "cuMemsetD8Async");
    must_call(api->fill8(variant->log, 0, log, variant->stream), "cuMemsetD8Async");
    for (uint32_t i = 0; i < STAMPED_NODES; i++)
        add_node(driver, variant, load, nodes, i);
    if (variant->is_joined)
        add_join(driver, variant, load, nodes);
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
    must_call(api->memory_free(variant->log), "cuMemFree");
}

double stamped_run(const struct driver *driver, struct variant *variant)
{
    double start = now_us();
    must_call(driver->api->executable_launch(variant->executable, variant->stream),
              "cuGraphLaunch");
    must_call(driver->api->stream_synchronize(variant->stream), "cuStreamSynchronize");
    return now_us() - start;
}

// A block begins or ends.
struct change {
    uint64_t ns, unit;
    int more;
};

static int compare(const void *a, const void *b)
{
    const struct change *x = a, *y = b;
    if (x->ns != y->ns)
        return x->ns < y->ns ? -1 : 1;
    return x->more - y->more; // those that end first
}

static void count_at_once(struct change *changes, size_t num, double sum_ns,
                          const struct variant *variant, const struct load *load, const double *ns)
{
    static int now[MOST_UNITS];
    int most = 0, units = 0;
    bool used[MOST_UNITS] = { false };
    memset(now, 0, sizeof(now));
    qsort(changes, num, sizeof(*changes), compare);
    for (size_t i = 0; i < num; i++) {
        uint64_t unit = changes[i].unit % MOST_UNITS;
        now[unit] += changes[i].more;
        most = now[unit] > most ? now[unit] : most;
        units += !used[unit];
        used[unit] = true;
    }
    double span = (double)(changes[num - 1].ns - changes[0].ns);
    printf("| %s | %s | %.2f | %.2f | %.2f | %.2f | %d | %d |\n", variant->name, load->name,
           ns[0] / 1e3, sum_ns / (double)num * 2 / 1e3, ns[1] / 1e3, sum_ns / span / units, most,
           units);
}

void stamped_print_log(const struct driver *driver, const struct variant *variant,
                       const struct load *load)
{
    size_t num = (size_t)STAMPED_NODES * load->num_blocks, num_changes = 0;
    struct ran *ran = calloc(num, sizeof(*ran));
    struct change *changes = calloc(2 * num, sizeof(*changes));
    double sum_ns = 0, ns[2] = { 1e18, 0 };
    if (!ran || !changes)
        abort();
    must(braid_gpu_copy_now(gpu_from(driver->backend), ran, variant->log, num * sizeof(*ran),
                            "reading what blocks noted"));
    for (size_t i = 0; i < num && ran[i].begin_ns; i++) {
        double took = (double)(ran[i].end_ns - ran[i].begin_ns);
        ns[0] = took < ns[0] ? took : ns[0];
        ns[1] = took > ns[1] ? took : ns[1];
        sum_ns += took;
        changes[num_changes++] = (struct change){ ran[i].begin_ns, ran[i].unit, 1 };
        changes[num_changes++] = (struct change){ ran[i].end_ns, ran[i].unit, -1 };
    }
    if (num_changes == 2 * num)
        count_at_once(changes, num_changes, sum_ns, variant, load, ns);
    else
        printf("| %s | %s | not all blocks noted it |\n", variant->name, load->name);
    free(ran);
    free(changes);
}
