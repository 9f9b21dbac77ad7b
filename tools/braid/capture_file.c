// SPDX-License-Identifier: Apache-2.0
// Reads a capture: its head and sum, and all sections but the nodes.
#include "capture_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "capture_nodes.h"
#include "capture_reader.h"
#include "printable.h"

enum { HEAD_BYTES = 8 + 4 + 8, SUM_BYTES = 8 };

// Returns how many bytes the file should have.
static uint64_t read_start(struct capture_reader *reader)
{
    reader->end = reader->file->num_bytes;
    memcpy(reader->section, "HEAD", 5);
    const unsigned char *magic = capture_take(reader, 8);
    if (magic && memcmp(magic, "BRAIDCAP", 8) != 0)
        capture_refuse(reader, "this is no capture");
    uint64_t version = capture_take_number(reader, 4);
    if (reader->status == EXIT_DONE && version != CAPTURE_VERSION)
        capture_refuse(reader, "it has version %" PRIu64 ", and this tool reads %d", version,
                       CAPTURE_VERSION);
    return capture_take_number(reader, 8);
}

static void read_head(struct capture_reader *reader)
{
    struct capture_file *file = reader->file;
    uint64_t num = read_start(reader);
    if (reader->status != EXIT_DONE)
        return;
    if (num != file->num_bytes || num < HEAD_BYTES + SUM_BYTES) {
        capture_refuse(reader, "the file should have %" PRIu64 " bytes, and has %s%zu", num,
                       file->num_bytes > num ? "at least " : "", file->num_bytes);
        return;
    }
    size_t begin = reader->at;
    reader->at = file->num_bytes - SUM_BYTES;
    if (capture_take_number(reader, 8) != hash_bytes(file->bytes, file->num_bytes - SUM_BYTES)) {
        reader->at -= SUM_BYTES;
        capture_refuse(reader, "the sum is wrong: the file was damaged");
    }
    reader->at = reader->status == EXIT_DONE ? begin : reader->at;
}

static bool is_backend(const char *name)
{
    return strcmp(name, "cpu") == 0 || strcmp(name, "cuda") == 0 || strcmp(name, "hip") == 0;
}

static void read_exec(struct capture_reader *reader)
{
    capture_begin_section(reader, "EXEC");
    reader->file->backend = capture_take_text(reader, true);
    if (reader->status == EXIT_DONE && !is_backend(reader->file->backend))
        capture_refuse(reader, "there is no backend '%s'",
                       printable_name(reader->file->backend).text);
    reader->file->num_lanes = capture_take_below(reader, 4, 1 << 16, "number of lanes");
    reader->file->frame = capture_take_number(reader, 8);
    capture_end_section(reader);
}

static void check_resource(struct capture_reader *reader, uint32_t index)
{
    const struct capture_resource *resources = reader->file->resources, *it = &resources[index];
    const struct capture_resource *of = it->buffer < index ? &resources[it->buffer] : NULL;
    if (it->kind == CAPTURE_RANGE && (!of || of->kind == CAPTURE_RANGE || it->offset > of->bytes ||
                                      it->bytes > of->bytes - it->offset))
        capture_refuse(reader, "resource %" PRIu32 " is no part of a buffer before it", index);
    if (it->kind != CAPTURE_NAME && (it->bytes == 0 || it->bytes > INT64_MAX))
        capture_refuse(reader, "resource %" PRIu32 " has %" PRIu64 " bytes", index, it->bytes);
}

static void check_chains(struct capture_reader *reader)
{
    struct capture_resource *resources = reader->file->resources;
    uint32_t num = reader->file->num_resources;
    for (uint32_t i = 0; i < num; i++) {
        bool is_first = resources[i].kind == CAPTURE_BUFFER && resources[i].buffer == i;
        for (uint32_t at = is_first ? i : CAPTURE_NONE; at != CAPTURE_NONE; at = resources[at].next)
            resources[at].is_reached = true;
    }
    for (uint32_t i = 0; i < num && reader->status == EXIT_DONE; i++)
        if (resources[i].kind == CAPTURE_BUFFER && !resources[i].is_reached)
            capture_refuse(reader, "buffer '%.150s' stands behind itself, in a circle",
                           resources[i].name);
}

static void link_buffers(struct capture_reader *reader)
{
    struct capture_file *file = reader->file;
    for (uint32_t i = 0; i < file->num_resources; i++)
        file->resources[i].next = CAPTURE_NONE;
    for (uint32_t i = 0; i < file->num_resources && reader->status == EXIT_DONE; i++) {
        uint32_t before = file->resources[i].buffer;
        if (file->resources[i].kind != CAPTURE_BUFFER || before == i)
            continue;
        if (before < file->num_resources && file->resources[before].kind == CAPTURE_BUFFER &&
            file->resources[before].next == CAPTURE_NONE)
            file->resources[before].next = i;
        else
            capture_refuse(reader, "resource %" PRIu32 " is not alone behind a buffer", i);
    }
    if (reader->status == EXIT_DONE)
        check_chains(reader);
}

static void read_resources(struct capture_reader *reader)
{
    struct capture_file *file = reader->file;
    capture_begin_section(reader, "RSRC");
    file->resources =
        capture_take_items(reader, 30, sizeof(*file->resources), &file->num_resources);
    for (uint32_t i = 0; i < file->num_resources && reader->status == EXIT_DONE; i++) {
        struct capture_resource *resource = &file->resources[i];
        resource->name = capture_take_text(reader, true);
        resource->kind = capture_take_below(reader, 1, CAPTURE_RANGE + 1, "kind");
        resource->buffer = (uint32_t)capture_take_number(reader, 4);
        resource->offset = capture_take_number(reader, 8);
        resource->bytes = capture_take_number(reader, 8);
        resource->alignment = (uint32_t)capture_take_number(reader, 4);
        check_resource(reader, i);
    }
    if (reader->status == EXIT_DONE)
        link_buffers(reader);
    capture_end_section(reader);
}

static const char *const *read_texts(struct capture_reader *reader, size_t *out_num)
{
    uint32_t num = 0;
    const char **texts = capture_take_items(reader, 5, sizeof(*texts), &num);
    for (uint32_t i = 0; i < num; i++)
        texts[i] = capture_take_text(reader, true);
    *out_num = num;
    return texts;
}

static void read_headers(struct capture_reader *reader, braid_kernel *kernel)
{
    uint32_t num = 0;
    braid_header *headers = capture_take_items(reader, 10, sizeof(*headers), &num);
    for (uint32_t i = 0; i < num; i++) {
        headers[i].name = capture_take_text(reader, true);
        headers[i].text = capture_take_text(reader, true);
    }
    kernel->headers = headers;
    kernel->num_headers = num;
}

static void read_image(struct capture_reader *reader, braid_image *image)
{
    uint64_t num = 0;
    image->entry = capture_take_text(reader, false);
    const unsigned char *data = capture_take_block(reader, &num);
    image->data = num ? data : NULL;
    image->bytes = (size_t)num;
    if (data && num && memchr("./ \t\r\n", data[0], 6) && data[num - 1])
        capture_refuse(reader, "the text of a kernel does not end in a zero");
}

static void read_kernels(struct capture_reader *reader)
{
    struct capture_file *file = reader->file;
    capture_begin_section(reader, "KERN");
    file->kernels = capture_take_items(reader, 40, sizeof(*file->kernels), &file->num_kernels);
    for (uint32_t i = 0; i < file->num_kernels && reader->status == EXIT_DONE; i++) {
        braid_kernel *kernel = &file->kernels[i];
        kernel->name = capture_take_text(reader, true);
        kernel->programmatic = capture_take_below(reader, 1, 2, "truth value") != 0;
        kernel->source = capture_take_text(reader, false);
        kernel->name_expression = capture_take_text(reader, false);
        kernel->options = read_texts(reader, &kernel->num_options);
        kernel->include_folders = read_texts(reader, &kernel->num_include_folders);
        read_headers(reader, kernel);
        read_image(reader, &kernel->cuda);
        read_image(reader, &kernel->hip);
    }
    capture_end_section(reader);
}

// So many of the order, from `at` on, are the nodes from `first` on.
static void check_body(struct capture_reader *reader, uint64_t at, uint32_t first, uint32_t num)
{
    const struct capture_file *file = reader->file;
    for (uint64_t i = at; i < at + num && reader->status == EXIT_DONE; i++) {
        if (i >= file->num_nodes || file->order[i] - first >= num)
            capture_refuse(reader, "the nodes of a body do not run behind node %" PRIu32,
                           file->order[at - 1]);
    }
}

static void check_bodies(struct capture_reader *reader)
{
    const struct capture_file *file = reader->file;
    for (uint32_t i = 0; i < file->num_nodes && reader->status == EXIT_DONE; i++) {
        uint32_t first = file->order[i] + 1;
        const struct capture_node *node = &file->nodes[file->order[i]];
        check_body(reader, (uint64_t)i + 1, first, node->num_nodes);
        check_body(reader, (uint64_t)i + 1 + node->num_nodes, first + node->num_nodes,
                   node->num_else);
    }
}

// Each node once.
static void read_order(struct capture_reader *reader)
{
    struct capture_file *file = reader->file;
    bool *seen = calloc((size_t)file->num_nodes + 1, sizeof(*seen));
    file->order = calloc((size_t)file->num_nodes + 1, sizeof(*file->order));
    if (!seen || !file->order)
        reader->status = fail(EXIT_FAILED, "out of memory for %s", file->path);
    for (uint32_t i = 0; i < file->num_nodes && reader->status == EXIT_DONE; i++) {
        file->order[i] = capture_take_below(reader, 4, file->num_nodes, "node");
        if (seen[file->order[i]])
            capture_refuse(reader, "node %" PRIu32 " runs twice", file->order[i]);
        seen[file->order[i]] = true;
    }
    free(seen);
    check_bodies(reader);
}

static void read_edges(struct capture_reader *reader)
{
    struct capture_file *file = reader->file;
    capture_begin_section(reader, "EDGE");
    file->edges = capture_take_items(reader, 8, sizeof(*file->edges), &file->num_edges);
    for (uint32_t i = 0; i < file->num_edges; i++) {
        file->edges[i].from = capture_take_below(reader, 4, file->num_nodes, "node");
        file->edges[i].to = capture_take_below(reader, 4, file->num_nodes, "node");
    }
    if (reader->status == EXIT_DONE)
        read_order(reader);
    capture_end_section(reader);
}

static void read_contents(struct capture_reader *reader)
{
    struct capture_file *file = reader->file;
    capture_begin_section(reader, "DATA");
    for (uint32_t i = 0; i < file->num_resources; i++) {
        uint64_t num = 0;
        if (file->resources[i].kind != CAPTURE_BUFFER)
            continue;
        file->resources[i].contents = capture_take_block(reader, &num);
        if (reader->status == EXIT_DONE && num != file->resources[i].bytes)
            capture_refuse(reader, "resource %" PRIu32 " has %" PRIu64 " bytes of %" PRIu64, i, num,
                           file->resources[i].bytes);
    }
    capture_end_section(reader);
    if (reader->status == EXIT_DONE && reader->at != file->num_bytes - SUM_BYTES) {
        reader->end = file->num_bytes - SUM_BYTES;
        capture_refuse(reader, "the file goes on behind its last section");
    }
}

enum exit_status capture_file_read_bytes(const char *path, unsigned char *bytes, size_t num,
                                         struct capture_file *out_file)
{
    *out_file = (struct capture_file){ .path = path, .bytes = bytes, .num_bytes = num };
    struct capture_reader reader = { .file = out_file };
    read_head(&reader);
    if (reader.status == EXIT_DONE)
        read_exec(&reader);
    if (reader.status == EXIT_DONE)
        read_resources(&reader);
    if (reader.status == EXIT_DONE)
        read_kernels(&reader);
    if (reader.status == EXIT_DONE)
        capture_read_nodes(&reader);
    if (reader.status == EXIT_DONE)
        read_edges(&reader);
    if (reader.status == EXIT_DONE)
        read_contents(&reader);
    return reader.status;
}

// Reads to the end, or to the number of bytes that the head tells and one more: some files have no
// end. `head` has its first bytes.
static unsigned char *read_all(FILE *stream, const unsigned char *head, uint64_t most, size_t *num)
{
    size_t room = 1 << 16;
    unsigned char *bytes = malloc(room);
    if (bytes)
        memcpy(bytes, head, *num);
    while (bytes) {
        size_t end = most < room ? (size_t)most + 1 : room;
        *num += fread(bytes + *num, 1, end - *num, stream);
        if (*num < end || end < room)
            break;
        room *= 2;
        unsigned char *more = realloc(bytes, room);
        if (!more)
            free(bytes);
        bytes = more;
    }
    return bytes;
}

static enum exit_status read_stream(FILE *stream, const char *path, struct capture_file *out_file)
{
    unsigned char head[HEAD_BYTES];
    size_t num = fread(head, 1, HEAD_BYTES, stream);
    struct capture_file start = { .path = path, .bytes = head, .num_bytes = num };
    struct capture_reader reader = { .file = &start };
    uint64_t most = ferror(stream) ? 0 : read_start(&reader);
    if (reader.status != EXIT_DONE)
        return reader.status;
    unsigned char *bytes = read_all(stream, head, most < num ? num : most, &num);
    if (bytes && !ferror(stream))
        return capture_file_read_bytes(path, bytes, num, out_file);
    free(bytes);
    return ferror(stream) ? fail(EXIT_BAD_FILE, "%s: cannot be read", path)
                          : fail(EXIT_FAILED, "out of memory for %s", path);
}

enum exit_status capture_file_read(const char *path, struct capture_file *out_file)
{
    bool is_stdin = strcmp(path, "-") == 0;
    *out_file = (struct capture_file){ .path = path };
    FILE *stream = is_stdin ? stdin : fopen(path, "rb");
    if (!stream)
        return fail(EXIT_BAD_FILE, "%s: cannot be read: %s", path, strerror(errno));
    enum exit_status status = read_stream(stream, is_stdin ? "standard input" : path, out_file);
    if (!is_stdin)
        fclose(stream);
    return status;
}

void capture_file_finish(struct capture_file *file)
{
    for (uint32_t i = 0; i < file->num_kernels; i++) {
        free((void *)(uintptr_t)file->kernels[i].options);
        free((void *)(uintptr_t)file->kernels[i].include_folders);
        free((void *)(uintptr_t)file->kernels[i].headers);
    }
    free(file->resources);
    free(file->kernels);
    free(file->nodes);
    free(file->edges);
    free(file->order);
    braid_array_finish(&file->accesses);
    braid_array_finish(&file->arguments);
    braid_array_finish(&file->words);
    braid_array_finish(&file->values);
    free(file->bytes);
    *file = (struct capture_file){ 0 };
}

uint32_t capture_buffer_of(const struct capture_file *file, uint32_t resource, uint64_t *out_offset)
{
    const struct capture_resource *it = &file->resources[resource];
    *out_offset = it->kind == CAPTURE_RANGE ? it->offset : 0;
    return it->kind == CAPTURE_RANGE ? it->buffer : resource;
}
