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
#include "printable.h"
#include "replay_device.h"
#include "replay_differences.h"
#include "run_arguments.h"

static const char help[] =
    "usage: braid replay FILE [options]\n"
    "\n"
    "Runs the frame that braid_exec_capture wrote to FILE ('-': standard input), one node after\n"
    "another, compares the written buffers, and names the first node whose output differs.\n"
    "\n"
    "  --device NAME     cpu, cuda or hip, or NAME:ORDINAL (default: as captured)\n"
    "  --against WHAT    serial (default): the frame as planned, with the nodes one by one;\n"
    "                    or another device, as for --device: after each node\n"
    "  --kernels LIB     a plug-in (.so): functions for the CPU with the names of kernels, and\n"
    "                    host calls with the names of their nodes\n"
    "  --lanes K         plan at most K lanes (default: as many as the captured plan has)\n"
    "  --tolerance X     numbers may differ by X, or by X times the larger one if that is over 1\n"
    "                    (default: no byte may differ)\n"
    "  --type TYPE       the numbers: float32 (default) or float64\n"
    "  --help            print this text\n";

enum {
    OPTION_DEVICE = 256,
    OPTION_AGAINST,
    OPTION_KERNELS,
    OPTION_LANES,
    OPTION_TOLERANCE,
    OPTION_TYPE,
};

static const struct option long_options[] = {
    { "device", required_argument, NULL, OPTION_DEVICE },
    { "against", required_argument, NULL, OPTION_AGAINST },
    { "kernels", required_argument, NULL, OPTION_KERNELS },
    { "lanes", required_argument, NULL, OPTION_LANES },
    { "tolerance", required_argument, NULL, OPTION_TOLERANCE },
    { "type", required_argument, NULL, OPTION_TYPE },
    { "help", no_argument, NULL, 'h' },
    { NULL, 0, NULL, 0 },
};

struct replaying {
    struct run_arguments device, against; // `against` without a backend: a serial run
    const char *kernels;
    uint64_t num_lanes; // 0: as captured
    struct replay_tolerance tolerance;
    bool is_help;
    void *plug_in;
    struct capture_file file;
    struct replay_graph graph;
    struct replay_device left, right;
    const char *left_name, *right_name; // for messages
    unsigned char **contents;           // by resource, of the serial run
    unsigned char *room[2];             // for the largest buffer each
};

static enum exit_status read_type(const char *text, struct replay_tolerance *tolerance)
{
    tolerance->value_bytes = strcmp(text, "float64") == 0 ? 8 : 4;
    if (tolerance->value_bytes == 8 || strcmp(text, "float32") == 0)
        return EXIT_DONE;
    return fail(EXIT_BAD_FILE, "--type takes float32 or float64, not '%s'", text);
}

static enum exit_status take_option(int option, struct replaying *replaying)
{
    switch (option) {
    case OPTION_DEVICE:
        return run_arguments_read_device(optarg, &replaying->device);
    case OPTION_AGAINST:
        replaying->against.backend = NULL;
        return strcmp(optarg, "serial") == 0
                   ? EXIT_DONE
                   : run_arguments_read_device(optarg, &replaying->against);
    case OPTION_KERNELS:
        replaying->kernels = optarg;
        return EXIT_DONE;
    case OPTION_LANES:
        return argument_read_number("--lanes", optarg, 1, 1024, &replaying->num_lanes);
    case OPTION_TOLERANCE:
        return argument_read_factor("--tolerance", optarg, &replaying->tolerance.most);
    case OPTION_TYPE:
        return read_type(optarg, &replaying->tolerance);
    case 'h':
        fputs(help, stdout);
        replaying->is_help = true;
        return EXIT_DONE;
    default:
        return EXIT_BAD_FILE;
    }
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
    replaying->graph = (struct replay_graph){ .file = file, .host_calls = calls };
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
        if (!calls[i])
            printf("node %" PRIu32 " '%s', a host call, is left out\n", i,
                   printable_name(node->name).text);
    }
    return EXIT_DONE;
}

static enum exit_status allocate_room(struct replaying *replaying)
{
    const struct capture_file *file = &replaying->file;
    uint64_t most = 1;
    for (uint32_t i = 0; i < file->num_resources; i++) {
        if (file->resources[i].kind != CAPTURE_NAME && file->resources[i].bytes > most)
            most = file->resources[i].bytes;
    }
    for (int i = 0; i < 2; i++)
        replaying->room[i] = malloc(most);
    return replaying->room[0] && replaying->room[1]
               ? EXIT_DONE
               : fail(EXIT_FAILED, "out of memory for the buffers of %s", file->path);
}

// A plan is compared once all its nodes have run: then any that writes the byte may be at fault.
struct who {
    char text[256];
};

static struct who find_who(const struct replaying *replaying, uint32_t node, uint32_t buffer,
                           uint64_t at)
{
    const struct capture_file *file = &replaying->file;
    uint32_t num_writers = 0, last = node;
    struct who who;
    for (uint32_t i = 0; replaying->contents && i < file->num_nodes; i++) {
        if (!replay_graph_writes(&replaying->graph, file->order[i], buffer, at))
            continue;
        num_writers++;
        last = file->order[i];
    }
    struct printable first_name = printable_name(file->nodes[node].name);
    if (num_writers <= 1)
        snprintf(who.text, sizeof(who.text), "node %" PRIu32 " '%s'", node, first_name.text);
    else
        snprintf(who.text, sizeof(who.text),
                 "one of %" PRIu32 " nodes from %" PRIu32 " '%s' to %" PRIu32 " '%s'", num_writers,
                 node, first_name.text, last, printable_name(file->nodes[last].name).text);
    return who;
}

// Compares bytes in `room`. `node` is NULL: no node declares that it writes them.
static enum exit_status compare(const struct replaying *replaying, const uint32_t *node,
                                uint32_t buffer, uint64_t begin, uint64_t bytes)
{
    const struct capture_file *file = &replaying->file;
    uint64_t at;
    if (!replay_find_difference(replaying->room[0], replaying->room[1], bytes,
                                &replaying->tolerance, &at))
        return EXIT_DONE;
    struct replay_value left =
        replay_show_value(replaying->room[0], at, bytes, &replaying->tolerance);
    struct replay_value right =
        replay_show_value(replaying->room[1], at, bytes, &replaying->tolerance);
    struct who who = { "no node that writes it" };
    if (node)
        who = find_who(replaying, *node, buffer, begin + at);
    return fail(EXIT_FAILED, "%s: buffer '%s' differs from byte %" PRIu64 " on: %s %s, %s %s",
                who.text, printable_name(file->resources[buffer].name).text, begin + at, left.text,
                replaying->left_name, right.text, replaying->right_name);
}

typedef enum exit_status read_bytes(const struct replaying *replaying, uint32_t buffer,
                                    uint64_t begin, uint64_t bytes);

// Reads what both sides have in the buffers that the node writes, and compares. Without `node` that
// is all buffers. A node that rests writes nothing.
static enum exit_status compare_written(const struct replaying *replaying, const uint32_t *node,
                                        read_bytes *read)
{
    const struct capture_file *file = &replaying->file;
    const struct capture_access *accesses = file->accesses.items;
    enum exit_status status = EXIT_DONE;
    bool only_kept = !node || replaying->contents; // a plan keeps no transient buffers
    uint32_t num = node ? file->nodes[*node].num_accesses : file->num_resources;
    if (node && replay_graph_rests(&replaying->graph, *node))
        return EXIT_DONE;
    for (uint32_t i = 0; i < num && status == EXIT_DONE; i++) {
        const struct capture_access *access =
            node ? &accesses[file->nodes[*node].first_access + i] : NULL;
        uint64_t begin;
        uint32_t resource = access ? access->resource : i;
        uint32_t buffer = capture_buffer_of(file, resource, &begin);
        bool is_kept = file->resources[buffer].kind == CAPTURE_BUFFER;
        bool is_written = !access || replay_access_writes(access);
        if (!replaying->left.memory[buffer] || !is_written || (only_kept && !is_kept))
            continue;
        status = read(replaying, buffer, begin, file->resources[resource].bytes);
        if (status == EXIT_DONE)
            status = compare(replaying, node, buffer, begin, file->resources[resource].bytes);
    }
    return status;
}

static enum exit_status read_devices(const struct replaying *replaying, uint32_t buffer,
                                     uint64_t begin, uint64_t bytes)
{
    enum exit_status status =
        replay_device_read(&replaying->left, buffer, begin, bytes, replaying->room[0]);
    return status == EXIT_DONE
               ? replay_device_read(&replaying->right, buffer, begin, bytes, replaying->room[1])
               : status;
}

static enum exit_status compare_devices(struct replaying *replaying)
{
    const struct capture_file *file = &replaying->file;
    const braid_device_options options = { .backend = replaying->against.backend,
                                           .ordinal = replaying->against.ordinal };
    enum exit_status status = replay_device_open(&replaying->graph, &options, &replaying->right);
    for (uint32_t i = 0; i < file->num_nodes && status == EXIT_DONE; i++) {
        status = replay_device_run(&replaying->left, file->order[i]);
        if (status == EXIT_DONE)
            status = replay_device_run(&replaying->right, file->order[i]);
        if (status == EXIT_DONE)
            status = compare_written(replaying, &file->order[i], read_devices);
    }
    return status == EXIT_DONE ? compare_written(replaying, NULL, read_devices) : status;
}

// Those of the serial run, and of the planned one.
static enum exit_status read_runs(const struct replaying *replaying, uint32_t buffer,
                                  uint64_t begin, uint64_t bytes)
{
    memcpy(replaying->room[0], replaying->contents[buffer] + begin, bytes);
    return replay_device_read(&replaying->left, buffer, begin, bytes, replaying->room[1]);
}

static enum exit_status keep_contents(struct replaying *replaying)
{
    const struct capture_file *file = &replaying->file;
    enum exit_status status = EXIT_DONE;
    replaying->contents = calloc((size_t)file->num_resources + 1, sizeof(*replaying->contents));
    for (uint32_t i = 0; i < file->num_resources && status == EXIT_DONE; i++) {
        const struct capture_resource *it = &file->resources[i];
        if (it->kind != CAPTURE_BUFFER)
            continue;
        unsigned char *kept = replaying->contents ? malloc(it->bytes) : NULL;
        if (!kept)
            return fail(EXIT_FAILED, "out of memory for the buffers of %s", file->path);
        replaying->contents[i] = kept;
        status = replay_device_read(&replaying->left, i, 0, it->bytes, kept);
    }
    return status;
}

static enum exit_status compare_runs(struct replaying *replaying)
{
    const struct capture_file *file = &replaying->file;
    uint32_t num_lanes = replaying->num_lanes ? (uint32_t)replaying->num_lanes : file->num_lanes;
    enum exit_status status = EXIT_DONE;
    for (uint32_t i = 0; i < file->num_nodes && status == EXIT_DONE; i++)
        status = replay_device_run(&replaying->left, file->order[i]);
    if (status == EXIT_DONE)
        status = keep_contents(replaying);
    if (status == EXIT_DONE)
        status = replay_device_fill(&replaying->left);
    if (status == EXIT_DONE)
        status = replay_device_run_planned(&replaying->left, num_lanes);
    for (uint32_t i = 0; i < file->num_nodes && status == EXIT_DONE; i++)
        status = compare_written(replaying, &file->order[i], read_runs);
    return status == EXIT_DONE ? compare_written(replaying, NULL, read_runs) : status;
}

static void print_file(const struct capture_file *file)
{
    printf("%zu bytes: frame %" PRIu64 " of %s, %" PRIu32 " nodes, %" PRIu32 " kernels, %" PRIu32
           " resources\n",
           file->num_bytes, file->frame, file->backend, file->num_nodes, file->num_kernels,
           file->num_resources);
}

static enum exit_status replay(struct replaying *replaying)
{
    struct capture_file *file = &replaying->file;
    print_file(file);
    if (!replaying->device.backend)
        replaying->device.backend = file->backend;
    const braid_device_options options = { .backend = replaying->device.backend,
                                           .ordinal = replaying->device.ordinal };
    replaying->left_name = replaying->against.backend ? options.backend : "serially";
    replaying->right_name = replaying->against.backend ? replaying->against.backend : "as planned";
    enum exit_status status = find_functions(replaying);
    if (status == EXIT_DONE)
        status = allocate_room(replaying);
    if (status == EXIT_DONE)
        status = replay_device_open(&replaying->graph, &options, &replaying->left);
    if (status == EXIT_DONE)
        status = replaying->against.backend ? compare_devices(replaying) : compare_runs(replaying);
    if (status == EXIT_DONE)
        printf("no output differs: %s and %s\n", replaying->left_name, replaying->right_name);
    return status;
}

static void finish(struct replaying *replaying)
{
    replay_device_close(&replaying->right);
    replay_device_close(&replaying->left);
    for (uint32_t i = 0; replaying->contents && i < replaying->file.num_resources; i++)
        free(replaying->contents[i]);
    free(replaying->contents);
    free(replaying->room[0]);
    free(replaying->room[1]);
    free((void *)(uintptr_t)replaying->graph.host_calls);
    capture_file_finish(&replaying->file);
    if (replaying->plug_in)
        dlclose(replaying->plug_in);
}

enum exit_status command_replay(int argc, char **argv)
{
    struct replaying replaying = { .tolerance.value_bytes = 4 };
    const char *path;
    for (int option; (option = argument_next_option("replay", argc, argv, long_options)) != -1;) {
        enum exit_status status = take_option(option, &replaying);
        if (status != EXIT_DONE || replaying.is_help)
            return status;
    }
    enum exit_status status = argument_read_file("replay", argc, argv, optind, &path);
    if (status == EXIT_DONE)
        status = capture_file_read(path, &replaying.file);
    if (status == EXIT_DONE)
        status = replay(&replaying);
    finish(&replaying);
    return status;
}
