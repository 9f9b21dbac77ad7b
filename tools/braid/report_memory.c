// SPDX-License-Identifier: Apache-2.0
// What a graph declares of memory, and a curve of the transient bytes that are alive over a frame.
#include "report_memory.h"

#include <inttypes.h>
#include <stdlib.h>

enum { WIDE = 1600, HIGH = 120 };

// A transient buffer is alive from the start of the first node that accesses it to the end of the
// last.
struct life {
    uint64_t start_ns, end_ns, bytes;
};

struct change {
    uint64_t time_ns;
    int64_t bytes;
};

struct memory {
    uint64_t bytes[3]; // by kind
    uint32_t num[3];
    struct life *lives; // by resource; no bytes: none
    struct change *changes;
    size_t num_changes;
    uint64_t first_ns, last_ns; // the frame's
    int64_t most;
};

enum { FIXED, VERSIONED, TRANSIENT };

static const char *const kinds[] = { "with an address of the program's",
                                     "of which frames have versions", "that live inside a frame" };

static void count_resources(const struct dot_file *file, struct memory *memory)
{
    for (uint32_t i = 0; i < file->num_resources; i++) {
        const struct dot_resource *resource = &file->resources[i];
        if (!resource->name || !resource->bytes || resource->is_scratch)
            continue;
        int kind = resource->is_transient ? TRANSIENT : resource->num_versions ? VERSIONED : FIXED;
        memory->num[kind]++;
        memory->bytes[kind] +=
            resource->bytes * (resource->num_versions ? resource->num_versions : 1);
    }
}

static void take_access(const struct dot_file *file, struct memory *memory, uint32_t resource,
                        braid_interval interval)
{
    const struct dot_resource *whole = &file->resources[resource];
    if (!whole->name) {
        resource = whole->buffer;
        whole = &file->resources[resource];
    }
    if (!whole->is_transient || whole->is_scratch)
        return;
    struct life *life = &memory->lives[resource];
    if (!life->bytes)
        *life = (struct life){ interval.start_ns, interval.end_ns, whole->bytes };
    life->start_ns = interval.start_ns < life->start_ns ? interval.start_ns : life->start_ns;
    life->end_ns = interval.end_ns > life->end_ns ? interval.end_ns : life->end_ns;
}

static void find_lives(const struct report *report, struct memory *memory)
{
    const struct dot_file *file = report->file;
    memory->first_ns = UINT64_MAX;
    for (uint32_t i = 0; i < file->num_nodes; i++) {
        if (!report_has_interval(report, i))
            continue;
        const struct dot_node *node = &file->nodes[i];
        braid_interval interval = report_interval(report, i);
        if (interval.start_ns < memory->first_ns)
            memory->first_ns = interval.start_ns;
        if (interval.end_ns > memory->last_ns)
            memory->last_ns = interval.end_ns;
        for (uint32_t a = 0; a < node->num_accesses; a++)
            take_access(file, memory, file->accesses[node->first_access + a].resource, interval);
    }
}

// What ends at a time comes before what begins then.
static int compare(const void *a, const void *b)
{
    const struct change *first = a, *second = b;
    if (first->time_ns != second->time_ns)
        return first->time_ns < second->time_ns ? -1 : 1;
    return (first->bytes > second->bytes) - (first->bytes < second->bytes);
}

static void find_changes(const struct dot_file *file, struct memory *memory)
{
    int64_t alive = 0;
    for (uint32_t i = 0; i < file->num_resources; i++) {
        const struct life *life = &memory->lives[i];
        int64_t bytes = (int64_t)life->bytes;
        if (!bytes)
            continue;
        memory->changes[memory->num_changes++] = (struct change){ life->start_ns, bytes };
        memory->changes[memory->num_changes++] = (struct change){ life->end_ns, -bytes };
    }
    qsort(memory->changes, memory->num_changes, sizeof(*memory->changes), compare);
    for (size_t i = 0; i < memory->num_changes; i++) {
        alive += memory->changes[i].bytes;
        memory->most = alive > memory->most ? alive : memory->most;
    }
}

static void write_curve(const struct memory *memory, FILE *file)
{
    double span = (double)(memory->last_ns - memory->first_ns);
    int64_t alive = 0;
    if (!memory->most || span <= 0)
        return;
    fprintf(file,
            "<div class=\"timeline\"><svg viewBox=\"0 0 %d %d\"><path class=\"memory\" d=\"M0 %d",
            WIDE, HIGH + 4, HIGH);
    for (size_t i = 0; i < memory->num_changes; i++) {
        const struct change *change = &memory->changes[i];
        alive += change->bytes;
        fprintf(file, "H%d", (int)((double)(change->time_ns - memory->first_ns) * WIDE / span));
        fprintf(file, "V%d", HIGH - (int)((double)alive * HIGH / (double)memory->most));
    }
    fprintf(file, "H%dV%d\"/></svg></div>\n", WIDE, HIGH);
}

static void write_section(const struct report *report, const struct memory *memory, FILE *file)
{
    fputs("<section>\n<h2>Memory</h2>\n<table id=\"memory\"><tr><th>buffers</th><th>how many</th>"
          "<th>bytes</th></tr>\n",
          file);
    for (int i = 0; i < 3; i++)
        if (memory->num[i])
            fprintf(file, "<tr><td>%s</td><td>%" PRIu32 "</td><td>%" PRIu64 "</td></tr>\n",
                    kinds[i], memory->num[i], memory->bytes[i]);
    if (report->exec && report->exec->transient_bytes)
        fprintf(file,
                "<tr><td>the arena that those inside a frame share</td><td></td><td>%" PRIu64
                "</td></tr>\n",
                report->exec->transient_bytes);
    if (report->exec && report->exec->memory_bytes)
        fprintf(file,
                "<tr><td>all that the exec allocated</td><td></td><td>%" PRIu64 "</td></tr>\n",
                report->exec->memory_bytes);
    fputs("</table>\n", file);
    if (memory->most) {
        fprintf(file,
                "<p>Of those that live inside a frame at most %" PRId64
                " bytes are alive at once, as %s "
                "(the curve is of the frame from left to right).</p>\n",
                memory->most, report->measured ? "measured" : "planned");
        write_curve(memory, file);
    }
    fputs("</section>\n", file);
}

enum exit_status report_memory_write(const struct report *report, FILE *file)
{
    struct memory memory = { 0 };
    const size_t num = (size_t)report->file->num_resources + 1;
    memory.lives = calloc(num, sizeof(*memory.lives));
    memory.changes = calloc(2 * num, sizeof(*memory.changes));
    bool done = memory.lives && memory.changes;
    if (done) {
        count_resources(report->file, &memory);
        find_lives(report, &memory);
        find_changes(report->file, &memory);
        if (memory.num[FIXED] || memory.num[VERSIONED] || memory.num[TRANSIENT])
            write_section(report, &memory, file);
    }
    free(memory.lives);
    free(memory.changes);
    return done ? EXIT_DONE : fail(EXIT_FAILED, "out of memory for a report");
}
