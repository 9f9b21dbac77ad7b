// SPDX-License-Identifier: Apache-2.0
// What a timeline's script needs to draw any part of it anew, as JSON in the picture.
#include <inttypes.h>

#include "base/text.h"
#include "draw/svg.h"

static void write_names(const struct svg *svg)
{
    const struct timeline *timeline = svg->timeline;
    fputs("\"names\":[", svg->file);
    for (uint32_t i = 0; i < timeline->num_nodes; i++) {
        fputs(i > 0 ? ",\"" : "\"", svg->file);
        braid_text_write_json(svg->file, braid_schedule_node_name(timeline->schedule, i));
        fputc('"', svg->file);
    }
    fputs("],\n", svg->file);
}

// Start and length of each node, one behind the other; -1, 0 where they are not known.
static void write_times(const struct svg *svg)
{
    const struct timeline *timeline = svg->timeline;
    fputs("\"times\":[", svg->file);
    for (uint32_t i = 0; i < timeline->num_nodes; i++) {
        braid_interval interval;
        if (i > 0)
            fputc(',', svg->file);
        if (braid_timeline_interval(timeline, 0, i, &interval))
            fprintf(svg->file, "%" PRIu64 ",%" PRIu64, interval.start_ns,
                    interval.end_ns - interval.start_ns);
        else
            fputs("-1,0", svg->file);
    }
    fputs("],\n", svg->file);
}

static void write_guesses(const struct svg *svg)
{
    const char *comma = "";
    fputs("],\n\"guesses\":[", svg->file);
    for (uint32_t i = 0; i < svg->timeline->num_nodes; i++) {
        if (!braid_timeline_is_guess(svg->timeline, i))
            continue;
        fprintf(svg->file, "%s%" PRIu32, comma, i);
        comma = ",";
    }
}

// Of all nodes but kernels.
static void write_kinds(const struct svg *svg)
{
    const char *comma = "";
    fputs("\"kinds\":{", svg->file);
    for (uint32_t i = 0; i < svg->timeline->num_nodes; i++) {
        const char *kind = braid_timeline_kind(svg->timeline, i);
        if (!*kind)
            continue;
        fprintf(svg->file, "%s\"%" PRIu32 "\":\"%s\"", comma, i, kind);
        comma = ",";
    }
    fputs("},\n", svg->file);
}

// For each node the island that it is a call of, or -1; nothing where there are none.
static void write_islands(const struct svg *svg)
{
    uint32_t num = svg->timeline->schedule->info.num_islands ? svg->timeline->num_nodes : 0;
    fputs("\"islands\":[", svg->file);
    for (uint32_t i = 0; i < num; i++) {
        uint32_t island = braid_timeline_island(svg->timeline, i);
        fprintf(svg->file, "%s%" PRId64, i > 0 ? "," : "",
                island == PLAN_NONE ? INT64_C(-1) : (int64_t)island);
    }
    fputs("],\n", svg->file);
}

// The nodes of each lane in order, and for members of bundles their main node.
static void write_lanes(const struct svg *svg)
{
    const braid_schedule *schedule = svg->timeline->schedule;
    const struct plan_graph *graph = schedule->graph;
    fputs("\"lanes\":[", svg->file);
    for (uint32_t lane = 0; lane < svg->timeline->num_lanes; lane++) {
        fputs(lane > 0 ? ",[" : "[", svg->file);
        for (uint32_t i = schedule->lane_first[lane]; i < schedule->lane_first[lane + 1]; i++)
            fprintf(svg->file, "%s%" PRIu32, i > schedule->lane_first[lane] ? "," : "",
                    schedule->lane_nodes[i]);
        fputc(']', svg->file);
    }
    write_guesses(svg);
    fputs("],\n", svg->file);
    write_islands(svg);
    write_kinds(svg);
    fputs("\"bundled\":{", svg->file);
    const char *comma = "";
    for (uint32_t i = 0; i < svg->timeline->num_nodes; i++) {
        if (!braid_timeline_is_bundled(svg->timeline, i))
            continue;
        fprintf(svg->file, "%s\"%" PRIu32 "\":%" PRIu32, comma, i,
                plan_main_of(graph, plan_unit_of(graph, i)));
        comma = ",";
    }
    fputs("},\n", svg->file);
}

static void write_waits(const struct svg *svg)
{
    const struct timeline *timeline = svg->timeline;
    fputs("\"waits\":[", svg->file);
    for (size_t i = 0; i < timeline->num_waits; i++)
        fprintf(svg->file, "%s%" PRIu32 ",%" PRIu32, i > 0 ? "," : "", timeline->waits[i].from,
                timeline->waits[i].to);
    fputs("],\n\"critical\":[", svg->file);
    const char *comma = "";
    for (uint32_t i = 0; i < timeline->num_nodes; i++) {
        if (!timeline->is_critical[i])
            continue;
        fprintf(svg->file, "%s%" PRIu32, comma, i);
        comma = ",";
    }
    fputs("]", svg->file);
}

void braid_svg_write_data(const struct svg *svg)
{
    const braid_timeline_options *options = &svg->timeline->options;
    fputs("<metadata class=\"data\"><![CDATA[\n{", svg->file);
    fprintf(svg->file, "\"span\":%" PRIu64 ",\"left\":110,\"wide\":1470,\"top\":104,\"height\":",
            svg->timeline->span_ns);
    braid_svg_write_number(svg, svg->row_height);
    fputs(",\"pitch\":", svg->file);
    braid_svg_write_number(svg, svg->row_pitch);
    if (options->unit) {
        fputs(",\"unit\":\"", svg->file);
        braid_text_write_json(svg->file, options->unit);
        fprintf(svg->file, "\",\"unit_ns\":%" PRIu64, options->unit_ns);
    }
    braid_interval launch;
    if (braid_timeline_launch(svg->timeline, 0, &launch))
        fprintf(svg->file, ",\"launch\":[%" PRIu64 ",%" PRIu64 ",%" PRIu64 "]", launch.start_ns,
                launch.end_ns, options->error_ns);
    fputs(",\n", svg->file);
    write_names(svg);
    write_times(svg);
    write_lanes(svg);
    write_waits(svg);
    fputs("}\n]]></metadata>\n", svg->file);
}
