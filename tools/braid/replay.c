// SPDX-License-Identifier: Apache-2.0
// braid replay: runs a captured frame node by node, and finds the first node whose output differs.
#include <dlfcn.h>
#include <inttypes.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <braid/braid.h>

#include "arguments.h"
#include "commands.h"
#include "output.h"
#include "plan_json.h"
#include "printable.h"
#include "replay_compare.h"
#include "run_arguments.h"

static const char help[] =
    "usage: braid replay FILE [options]\n"
    "\n"
    "Runs the frame that braid_exec_save_capture wrote to FILE ('-': standard input), one node "
    "after\n"
    "another, compares the written buffers, and names the first node and iteration that differ.\n"
    "\n"
    "  --device NAME     cpu, cuda or hip, or NAME:ORDINAL (default: as captured)\n"
    "  --against WHAT    serial (default): the frame as planned, with the nodes one by one;\n"
    "                    or another device, as for --device: after each node\n"
    "  --audit           instead find accesses that nodes do not declare, or never make\n"
    "  --kernels LIB     a plug-in (.so): functions for the CPU with the names of kernels, and\n"
    "                    host calls with the names of their nodes\n"
    "  --lanes K         plan at most K lanes (default: as many as the captured plan has)\n"
    "  --iterations N    refuse loops with more than N iterations in all (default: 1000000)\n"
    "  --tolerance X     numbers may differ by X, or by X times the larger one if that is over 1\n"
    "                    (default: no byte may differ)\n"
    "  --type TYPE       the numbers: float32 (default) or float64\n"
    "  --json OUT        write what was found as JSON\n"
    "  --help            print this text\n";

struct replaying {
    struct run_arguments device, against; // `against` without a backend: a serial run
    const char *kernels, *json;
    uint64_t num_lanes; // 0: as captured
    bool is_audit;
    void *plug_in;
    struct capture_file file;
    struct replay_comparison comparison;
};

static enum exit_status read_against(char *text, void *into)
{
    struct run_arguments *against = into;
    against->backend = NULL;
    return strcmp(text, "serial") == 0 ? EXIT_DONE : run_arguments_read_device(text, against);
}

static enum exit_status read_type(char *text, void *into)
{
    struct replay_tolerance *tolerance = into;
    tolerance->value_bytes = strcmp(text, "float64") == 0 ? 8 : 4;
    if (tolerance->value_bytes == 8 || strcmp(text, "float32") == 0)
        return EXIT_DONE;
    return fail(EXIT_BAD_FILE, "--type takes float32 or float64, not '%s'", text);
}

static const struct argument known_options[] = {
    ARGUMENT_READ("device", struct replaying, device, run_arguments_read_device),
    ARGUMENT_READ("against", struct replaying, against, read_against),
    ARGUMENT_FLAG("audit", struct replaying, is_audit),
    ARGUMENT_TEXT("kernels", struct replaying, kernels),
    ARGUMENT_NUMBER("lanes", struct replaying, num_lanes, 1, 1024),
    ARGUMENT_NUMBER("iterations", struct replaying, comparison.most_iterations, 1, UINT64_MAX),
    ARGUMENT_FACTOR("tolerance", struct replaying, comparison.tolerance.most),
    ARGUMENT_READ("type", struct replaying, comparison.tolerance, read_type),
    ARGUMENT_TEXT("json", struct replaying, json),
    { .name = NULL },
};

static bool prints(const struct replaying *replaying)
{
    return !replaying->json || !output_is_stdout(replaying->json);
}

// A name without a slash is a file, too, and not one of the system's libraries.
static void *open_plug_in(const char *path)
{
    char here[4096];
    snprintf(here, sizeof(here), "%s%s", strchr(path, '/') ? "" : "./", path);
    return dlopen(here, RTLD_NOW | RTLD_LOCAL);
}

// In the plug-in itself, as dlsym also looks in the libraries that it needs. ISO C has no cast from
// an object's address to that of a function.
static void find_function(void *plug_in, const char *name, void *out_function)
{
    const struct link_map *map = NULL;
    Dl_info info = { 0 };
    void *symbol = dlsym(plug_in, name);
    if (!symbol || dlinfo(plug_in, RTLD_DI_LINKMAP, (void *)&map) || !dladdr(symbol, &info) ||
        strcmp(info.dli_fname, map->l_name) != 0)
        symbol = NULL;
    memcpy(out_function, &symbol, sizeof(symbol));
}

static bool writes(const struct capture_file *file, const struct capture_node *node)
{
    const struct capture_access *accesses = file->accesses.items;
    for (uint32_t i = 0; i < node->num_accesses; i++) {
        if (accesses[node->first_access + i].mode != BRAID_READ)
            return true;
    }
    return false;
}

// A host call that is not there is left out where no other node can need it.
static enum exit_status find_functions(struct replaying *replaying)
{
    struct capture_file *file = &replaying->file;
    braid_host_function **calls = calloc((size_t)file->num_nodes + 1, sizeof(*calls));
    if (!calls)
        return fail(EXIT_FAILED, "out of memory for the nodes of %s", file->path);
    replaying->comparison.graph = (struct replay_graph){ .file = file, .host_calls = calls };
    if (replaying->kernels && !(replaying->plug_in = open_plug_in(replaying->kernels)))
        return fail(EXIT_BAD_FILE, "%s", dlerror());
    for (uint32_t i = 0; i < file->num_kernels && replaying->plug_in; i++)
        find_function(replaying->plug_in, file->kernels[i].name, &file->kernels[i].cpu);
    for (uint32_t i = 0; i < file->num_nodes; i++) {
        const struct capture_node *node = &file->nodes[i];
        if (node->kind != CAPTURE_HOST || !node->is_enabled)
            continue;
        if (replaying->plug_in)
            find_function(replaying->plug_in, node->name, &calls[i]);
        if (!calls[i] && writes(file, node))
            return fail(EXIT_FAILED,
                        "node %" PRIu32 " '%s' is a host call that writes: --kernels needs a "
                        "function of this name",
                        i, printable_name(node->name).text);
        if (!calls[i] && prints(replaying))
            printf("node %" PRIu32 " '%s', a host call, is left out\n", i,
                   printable_name(node->name).text);
    }
    return EXIT_DONE;
}

static void print_file(const struct capture_file *file)
{
    printf("%zu bytes: frame %" PRIu64 " of %s, %" PRIu32 " node%s, %" PRIu32 " kernel%s, %" PRIu32
           " resource%s\n",
           file->num_bytes, file->frame, file->backend, file->num_nodes,
           output_plural(file->num_nodes), file->num_kernels, output_plural(file->num_kernels),
           file->num_resources, output_plural(file->num_resources));
}

static enum exit_status open_device(const struct replaying *replaying,
                                    const struct run_arguments *device,
                                    struct replay_device *out_device)
{
    const braid_device_options options = { .backend = device->backend, .ordinal = device->ordinal };
    return replay_device_open(&replaying->comparison.graph, &options, out_device);
}

static enum exit_status compare(struct replaying *replaying)
{
    struct replay_comparison *comparison = &replaying->comparison;
    const struct capture_file *file = &replaying->file;
    if (!replaying->against.backend)
        return replay_compare_runs(comparison, replaying->num_lanes ? (uint32_t)replaying->num_lanes
                                                                    : file->num_lanes);
    enum exit_status status = open_device(replaying, &replaying->against, &comparison->right);
    return status == EXIT_DONE ? replay_compare_devices(comparison) : status;
}

// ---- JSON ----

static json_t *node_to_json(const struct capture_file *file, uint32_t node)
{
    if (node == CAPTURE_NONE)
        return json_null();
    return json_pack("{s:I, s:o}", "node", (json_int_t)node, "name",
                     plan_json_text(file->nodes[node].name));
}

static json_t *left_out_to_json(const struct replaying *replaying)
{
    const struct capture_file *file = &replaying->file;
    json_t *left_out = json_array();
    for (uint32_t i = 0; i < file->num_nodes; i++) {
        if (file->nodes[i].kind == CAPTURE_HOST && file->nodes[i].is_enabled &&
            !replaying->comparison.graph.host_calls[i])
            json_array_append_new(left_out, node_to_json(file, i));
    }
    return left_out;
}

static json_t *iterations_to_json(const struct replay_comparison *comparison, uint32_t node)
{
    const struct capture_node *nodes = comparison->graph.file->nodes;
    json_t *iterations = json_array();
    uint32_t at = node == CAPTURE_NONE ? CAPTURE_NONE : nodes[node].around;
    for (; at != CAPTURE_NONE; at = nodes[at].around) {
        if (comparison->iterations[at])
            json_array_append_new(iterations,
                                  json_pack("{s:o, s:I}", "loop",
                                            node_to_json(comparison->graph.file, at), "iteration",
                                            (json_int_t)comparison->iterations[at]));
    }
    return iterations;
}

static json_t *difference_to_json(const struct replay_comparison *comparison)
{
    const struct capture_file *file = comparison->graph.file;
    const struct replay_difference *found = &comparison->found;
    if (!found->is_found)
        return json_null();
    return json_pack("{s:o, s:o, s:I, s:o, s:o, s:I, s:s, s:s}", "first",
                     node_to_json(file, found->node), "last", node_to_json(file, found->last),
                     "writers", (json_int_t)found->num_writers, "iterations",
                     iterations_to_json(comparison, found->node), "buffer",
                     plan_json_text(file->resources[found->buffer].name), "byte",
                     (json_int_t)found->at, "left", found->left.text, "right", found->right.text);
}

static enum exit_status write_json(const struct replaying *replaying)
{
    const struct capture_file *file = &replaying->file;
    json_t *json = output_start_json("replay");
    json_t *own = json_pack(
        "{s:o, s:I, s:s, s:I, s:o, s:s, s:s, s:o}", "file", plan_json_text(file->path), "frame",
        (json_int_t)file->frame, "backend", file->backend, "nodes", (json_int_t)file->num_nodes,
        "left_out", left_out_to_json(replaying), "left", replaying->comparison.left_name, "right",
        replaying->comparison.right_name, "difference", difference_to_json(&replaying->comparison));
    enum exit_status status = json && own && json_object_update(json, own) == 0
                                  ? output_write_json(replaying->json, json)
                                  : fail(EXIT_FAILED, "out of memory for JSON");
    json_decref(own);
    json_decref(json);
    return status;
}

static enum exit_status replay(struct replaying *replaying)
{
    struct replay_comparison *comparison = &replaying->comparison;
    bool is_serial = !replaying->against.backend;
    if (prints(replaying))
        print_file(&replaying->file);
    if (!replaying->device.backend)
        replaying->device.backend = replaying->file.backend;
    comparison->left_name = is_serial ? "serially" : replaying->device.backend;
    comparison->right_name = is_serial ? "as planned" : replaying->against.backend;
    enum exit_status status =
        replay_check_iterations(&replaying->file, comparison->most_iterations);
    if (status == EXIT_DONE)
        status = find_functions(replaying);
    if (status == EXIT_DONE)
        status = open_device(replaying, &replaying->device, &comparison->left);
    if (status == EXIT_DONE && replaying->is_audit)
        return replay_device_audit(&comparison->left);
    if (status == EXIT_DONE)
        status = compare(replaying);
    if (replaying->json && (status == EXIT_DONE || comparison->found.is_found)) {
        enum exit_status written = write_json(replaying);
        status = status == EXIT_DONE ? written : status;
    }
    if (status == EXIT_DONE && prints(replaying))
        printf("no output differs: %s and %s\n", comparison->left_name, comparison->right_name);
    return status;
}

static void finish(struct replaying *replaying)
{
    replay_comparison_finish(&replaying->comparison);
    free((void *)(uintptr_t)replaying->comparison.graph.host_calls);
    capture_file_finish(&replaying->file);
    if (replaying->plug_in)
        dlclose(replaying->plug_in);
}

enum exit_status command_replay(int argc, char **argv)
{
    struct replaying replaying = { .comparison = { .tolerance.value_bytes = 4,
                                                   .most_iterations = 1000000 } };
    const char *path;
    bool is_help;
    enum exit_status status =
        arguments_read("replay", help, argc, argv, known_options, &replaying, &is_help);
    if (status != EXIT_DONE || is_help)
        return status;
    if (replaying.is_audit && replaying.against.backend)
        return fail(EXIT_BAD_FILE, "--audit compares with no other device: leave --against out");
    if (replaying.is_audit && replaying.json)
        return fail(EXIT_BAD_FILE, "--audit writes no JSON: leave --json out");
    status = argument_read_file("replay", argc, argv, optind, &path);
    if (status == EXIT_DONE)
        status = capture_file_read(path, &replaying.file);
    if (status == EXIT_DONE)
        status = replay(&replaying);
    finish(&replaying);
    return status;
}
