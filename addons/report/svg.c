// SPDX-License-Identifier: Apache-2.0
// A timeline as a picture that can be looked at anywhere.
#include "report/svg.h"

#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "report/dot.h"

// Rules inside the picture alone, wherever that is embedded.
static const char *const style[] = {
    ".paper{fill:#ffffff}",
    "text{fill:#2a3342;pointer-events:none}",
    ".title{font-size:18px;font-weight:600}",
    ".summary{fill:#5b6778}",
    ".key{fill:#5b6778}",
    ".time{fill:#5b6778;text-anchor:middle;font-size:11px}",
    ".lane{text-anchor:end}",
    ".busy{fill:#5b6778;font-size:10px}",
    ".name{font-size:11px}",
    ".row{fill:#f2f5f9}",
    ".tick{stroke:#d9e0e9;stroke-width:1}",
    ".node{fill:#9db9dd;stroke:#5e83b5;stroke-width:.6}",
    ".bundled{fill:#dfe7f2}",
    ".block{fill:#7f9cc4}",
    ".critical{fill:#ecb0a7;stroke:#b83a2c;stroke-width:1.6}",
    ".bundled.critical{fill:#f8e2de}",
    ".node.copy{fill:#f4dc9f}",
    ".node.fill{fill:#f4dc9f}",
    ".node.host{fill:#b5dcb4}",
    ".node.queue{fill:#d5bfe8}",
    ".node.loop{fill:#cfd6de}",
    ".node.post{fill:#9ed6d8}",
    ".node.communication{fill:#9ed6d8}",
    ".node.empty{fill:#ffffff}",
    ".guess{stroke-dasharray:2 2}",
    ".bundle{fill:none;stroke:#5b6778;stroke-width:1;stroke-dasharray:4 3}",
    ".island{fill:none;stroke:#a8701a;stroke-width:1.2}",
    ".gap{fill:#c3ccd8}",
    ".launch{fill:#4f8f6b}",
    ".wait{fill:none;stroke:#6d7a8c;stroke-width:.7;marker-end:url(#braid-head)}",
    ".wait.critical{stroke:#b83a2c;stroke-width:1.2;marker-end:url(#braid-head-critical)}",
    ".head{fill:#6d7a8c;stroke:none}",
    ".head.critical{fill:#b83a2c}",
};

double braid_svg_x(const struct svg *svg, uint64_t time_ns)
{
    uint64_t span = svg->timeline->span_ns;
    return SVG_LEFT + (span ? (double)time_ns * SVG_WIDE / (double)span : 0);
}

double braid_svg_lane_y(const struct svg *svg, uint32_t lane)
{
    return SVG_TOP + lane * svg->row_pitch;
}

struct svg_number braid_svg_number(double number)
{
    uint64_t hundredths = (uint64_t)(number * 100 + 0.5);
    struct svg_number made;
    if (hundredths % 100 > 0)
        snprintf(made.text, sizeof(made.text), "%" PRIu64 ".%02" PRIu64, hundredths / 100,
                 hundredths % 100);
    else
        snprintf(made.text, sizeof(made.text), "%" PRIu64, hundredths / 100);
    return made;
}

void braid_svg_write_rectangle(const struct svg *svg, const char *class_name, double x, double y,
                               double width, double height)
{
    fprintf(svg->file, "<rect class=\"%s\" x=\"%s\" y=\"%s\" width=\"%s\" height=\"%s\"",
            class_name, braid_svg_number(x).text, braid_svg_number(y).text,
            braid_svg_number(width).text, braid_svg_number(height).text);
}

void braid_svg_write_text_at(const struct svg *svg, const char *class_name, double x, double y)
{
    fprintf(svg->file, "<text class=\"%s\" x=\"%s\" y=\"%s\">", class_name,
            braid_svg_number(x).text, braid_svg_number(y).text);
}

static void write_heading(const struct svg *svg)
{
    const struct timeline *timeline = svg->timeline;
    const braid_schedule_info *info = &timeline->schedule->info;
    FILE *file = svg->file;
    const char *title = timeline->options.title ? timeline->options.title : "Braid";
    braid_svg_write_text_at(svg, "title", 16, 28);
    braid_text_write_xml(file, title);
    fputs("</text>\n", file);
    braid_svg_write_text_at(svg, "summary", 16, 50);
    fprintf(file, "%s on %s, %s", braid_dot_count(info->num_nodes, "node").text,
            braid_dot_count(info->num_lanes, "lane").text,
            braid_dot_count(info->num_waits, "wait").text);
    if (info->num_places > 1)
        fprintf(file, ", %" PRIu32 " devices, %s in %" PRIu32 " copies between them",
                info->num_places, braid_dot_count(info->copy_bytes, "byte").text, info->num_copies);
    if (info->num_islands)
        fprintf(file, ", %s of %s", braid_dot_count(info->num_islands, "island").text,
                braid_dot_count(info->num_island_nodes, "node").text);
    if (info->num_left_out)
        fprintf(file, ", %" PRIu32 " left out", info->num_left_out);
    if (timeline->options.intervals) {
        fputs("; measured: ", file);
        braid_interval whole = braid_timeline_frame(timeline, 0);
        braid_timeline_write_time(timeline, whole.end_ns - whole.start_ns, file);
        fputs(", planned: ", file);
    } else {
        fputs("; planned: ", file);
    }
    braid_timeline_write_time(timeline, info->makespan_ns, file);
    fputs(", no plan is shorter than ", file);
    braid_timeline_write_time(timeline, info->bound_ns, file);
    if (info->num_guessed > 0 && !timeline->options.intervals)
        fprintf(file, "; %" PRIu32 " cost%s guessed", info->num_guessed,
                info->num_guessed == 1 ? " is" : "s are");
    fputs("</text>\n", file);
}

// Grey, since no lane has them.
static void write_left_out(const struct svg *svg)
{
    enum { MOST_NAMES = 12 };
    const braid_schedule *schedule = svg->timeline->schedule;
    uint32_t num = 0, most = schedule->info.num_left_out;
    if (!most)
        return;
    fputs("<text class=\"summary\" opacity=\"0.6\" x=\"16\" y=\"68\">left out: ", svg->file);
    for (uint32_t i = 0; i < svg->timeline->num_nodes && num < MOST_NAMES; i++) {
        if (!schedule_left_out(schedule, i))
            continue;
        fputs(num++ ? ", " : "", svg->file);
        braid_text_write_xml(svg->file, braid_schedule_node_name(schedule, i));
    }
    if (most > num)
        fprintf(svg->file, " and %" PRIu32 " more", most - num);
    fputs("</text>\n", svg->file);
}

// 1, 2 or 5 times a power of ten of the unit, about eight of them.
static uint64_t find_step(const struct timeline *timeline)
{
    uint64_t unit = timeline->options.unit ? timeline->options.unit_ns : 1;
    uint64_t wanted = timeline->span_ns / unit / 8, step = 1;
    while (step * 10 <= wanted && step < UINT64_MAX / 100)
        step *= 10;
    if (step * 5 <= wanted)
        step *= 5;
    else if (step * 2 <= wanted)
        step *= 2;
    return step * unit;
}

static void write_axis(const struct svg *svg)
{
    uint64_t step = find_step(svg->timeline), span = svg->timeline->span_ns;
    fputs("<g class=\"axis\">\n", svg->file);
    for (uint64_t time = 0; time <= span; time += step) {
        double x = braid_svg_x(svg, time);
        fprintf(svg->file, "<path class=\"tick\" d=\"M%s 92V%s\"/>", braid_svg_number(x).text,
                braid_svg_number(svg->bottom).text);
        braid_svg_write_text_at(svg, "time", x, 88);
        braid_timeline_write_time(svg->timeline, time, svg->file);
        fputs("</text>\n", svg->file);
        if (step == 0 || time > span - step)
            break;
    }
    fputs("</g>\n", svg->file);
}

static unsigned busy_percent(const struct timeline *timeline, uint32_t lane)
{
    const braid_schedule *schedule = timeline->schedule;
    double busy = 0;
    for (uint32_t i = schedule->lane_first[lane]; i < schedule->lane_first[lane + 1]; i++) {
        braid_interval interval;
        if (braid_timeline_interval(timeline, 0, schedule->lane_nodes[i], &interval))
            busy += (double)(interval.end_ns - interval.start_ns);
    }
    return timeline->span_ns ? (unsigned)(busy * 100 / (double)timeline->span_ns + 0.5) : 0;
}

// A thin row above the lanes.
static void write_launch(const struct svg *svg)
{
    braid_interval launch;
    if (!braid_timeline_launch(svg->timeline, 0, &launch))
        return;
    double x = braid_svg_x(svg, launch.start_ns), width = braid_svg_x(svg, launch.end_ns) - x;
    double most = SVG_LEFT + SVG_WIDE - x; // a launch may last longer than the frame
    braid_svg_write_text_at(svg, "lane", SVG_LEFT - 10, SVG_LAUNCH + SVG_LAUNCH_HIGH);
    fputs("host</text>\n", svg->file);
    braid_svg_write_rectangle(svg, "launch", x, SVG_LAUNCH, width < most ? width : most,
                              SVG_LAUNCH_HIGH);
    fputs("><title>", svg->file);
    fputs("the host launches the frame: ", svg->file);
    braid_timeline_write_time(svg->timeline, launch.start_ns, svg->file);
    fputs(" to ", svg->file);
    braid_timeline_write_time(svg->timeline, launch.end_ns, svg->file);
    fputs("; its clock and the device's agree to within ", svg->file);
    braid_timeline_write_time(svg->timeline, svg->timeline->options.error_ns, svg->file);
    fputs("</title></rect>\n", svg->file);
}

static void write_lanes(const struct svg *svg)
{
    FILE *file = svg->file;
    for (uint32_t lane = 0; lane < svg->timeline->num_lanes; lane++) {
        double y = braid_svg_lane_y(svg, lane);
        braid_svg_write_rectangle(svg, "row", SVG_LEFT, y, SVG_WIDE, svg->row_height);
        fputs("/>", file);
        braid_svg_write_text_at(svg, "lane", SVG_LEFT - 10, y + svg->row_height / 2 + 4);
        if (svg->timeline->schedule->graph->place_of)
            fprintf(file, "dev %u, ", schedule_lane_place(svg->timeline->schedule, lane));
        fprintf(file, "lane %" PRIu32 " <tspan class=\"busy\">%u %%</tspan></text>\n", lane,
                busy_percent(svg->timeline, lane));
    }
    fputs("<g class=\"rows\">\n", file);
    write_launch(svg);
    for (uint32_t lane = 0; lane < svg->timeline->num_lanes; lane++)
        braid_svg_write_lane(svg, lane);
    fputs("</g>\n<g class=\"waits\">\n", file);
    braid_svg_write_waits(svg);
    fputs("</g>\n", file);
}

static double write_key(const struct svg *svg, const char *class_name, const char *text, double x,
                        double y)
{
    enum { A_LETTER = 6, BESIDE = 44 };
    braid_svg_write_rectangle(svg, class_name, x, y, 18, 12);
    fputs("/>", svg->file);
    braid_svg_write_text_at(svg, "key", x + 24, y + 10);
    fprintf(svg->file, "%s</text>\n", text);
    return x + BESIDE + A_LETTER * (double)strlen(text);
}

// The kinds of nodes that there are, besides kernels.
static double write_kinds(const struct svg *svg, double x, double y)
{
    const struct program *program = &svg->timeline->schedule->program;
    for (uint8_t kind = 0; kind < WORK_NUM_KINDS && program->num_nodes; kind++) {
        char class_name[40];
        if (kind == WORK_KERNEL || !memchr(program->kinds, kind, program->num_nodes))
            continue;
        snprintf(class_name, sizeof(class_name), "node %s", braid_work_words[kind].kind);
        x = write_key(svg, class_name, braid_work_words[kind].name, x, y);
    }
    return x;
}

// The meaning of the colours and lines, in a row below the lanes.
static void write_legend(const struct svg *svg)
{
    static const char *const keys[][2] = { { "node", "kernel" },
                                           { "node bundled", "prelude or epilogue" },
                                           { "node critical", "critical path" },
                                           { "block", "several nodes" },
                                           { "gap", "idle" },
                                           { "island", "island: one kernel" } };
    size_t num_keys = sizeof(keys) / sizeof(keys[0]);
    num_keys -= svg->timeline->schedule->info.num_islands == 0;
    double x = SVG_LEFT, y = svg->bottom + 14;
    for (size_t i = 0; i < num_keys; i++)
        x = write_key(svg, keys[i][0], keys[i][1], x, y);
    x = write_kinds(svg, x, y);
    fprintf(svg->file, "<path class=\"wait\" d=\"M%s %sh18\"/>", braid_svg_number(x).text,
            braid_svg_number(y + 6).text);
    braid_svg_write_text_at(svg, "key", x + 24, y + 10);
    fputs("wait</text>\n", svg->file);
}

// The heads of waits, in the colours of their lines.
static void write_heads(const struct svg *svg)
{
    static const char *const heads[][2] = { { "", "" }, { "-critical", " critical" } };
    fputs("<defs>", svg->file);
    for (int i = 0; i < 2; i++)
        fprintf(svg->file,
                "<marker id=\"braid-head%s\" viewBox=\"0 0 8 8\" refX=\"7.5\" refY=\"4\" "
                "markerWidth=\"8\" markerHeight=\"8\" markerUnits=\"userSpaceOnUse\" "
                "orient=\"auto\"><path class=\"head%s\" d=\"M0 1L8 4L0 7z\"/></marker>",
                heads[i][0], heads[i][1]);
    fputs("</defs>\n", svg->file);
}

static void write_all(struct svg *svg)
{
    uint32_t num_lanes = svg->timeline->num_lanes;
    svg->row_height = num_lanes <= 16 ? 30 : num_lanes <= 48 ? 20 : 12;
    svg->row_pitch = svg->row_height + (num_lanes <= 16 ? 10 : num_lanes <= 48 ? 6 : 3);
    svg->bottom = braid_svg_lane_y(svg, num_lanes);
    double height = svg->bottom + 40;
    fprintf(svg->file,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"braid-timeline\" "
            "preserveAspectRatio=\"xMidYMin meet\" viewBox=\"0 0 %s %s\">\n<style>\n"
            ".braid-timeline{font:12px system-ui,Helvetica,Arial,sans-serif;background:#ffffff}\n"
            "@media (prefers-color-scheme:dark){"
            ".braid-timeline{filter:invert(1) hue-rotate(180deg)}}\n",
            braid_svg_number(SVG_WIDTH).text, braid_svg_number(height).text);
    for (size_t i = 0; i < sizeof(style) / sizeof(style[0]); i++)
        fprintf(svg->file, ".braid-timeline %s\n", style[i]);
    fputs("</style>\n", svg->file);
    write_heads(svg);
    braid_svg_write_rectangle(svg, "paper", 0, 0, SVG_WIDTH, height);
    fputs("/>\n", svg->file);
    write_heading(svg);
    write_left_out(svg);
    write_axis(svg);
    write_lanes(svg);
    write_legend(svg);
    fputs("</svg>\n", svg->file);
}

void braid_svg_write(const struct timeline *timeline, FILE *file)
{
    struct svg svg = { .timeline = timeline, .file = file };
    write_all(&svg);
}
