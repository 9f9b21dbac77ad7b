// SPDX-License-Identifier: Apache-2.0
// A report as one page of HTML that needs nothing but itself.
#include "report_page.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/text.h"
#include "dot_cost.h"
#include "output.h"
#include "report_memory.h"
#include "task_graph.h"

// report.css, embedded when the tool is built.
extern const char braid_report_style[];

struct page {
    const struct report *report;
    struct report_facts facts;
    braid_timeline_options timeline;
    FILE *file;
};

// As the timelines have it: in ns, us, ms and s where the unit is a time, else in the file's unit.
static void write_time(const struct page *page, uint64_t time_ns)
{
    static const char *const units[] = { "ns", "us", "ms", "s" };
    const struct dot_file *file = page->report->file;
    if (page->timeline.unit) {
        fputs(dot_cost_time(file, time_ns).text, page->file);
        fputs(*page->timeline.unit ? "&nbsp;" : "", page->file);
        braid_text_write_xml(page->file, page->timeline.unit);
        return;
    }
    double time = (double)time_ns;
    size_t unit = 0;
    for (; time >= 999.95 && unit < 3; unit++)
        time /= 1000;
    fprintf(page->file, "%.*f&nbsp;%s", unit == 0 ? 0 : time < 9.995 ? 2 : 1, time, units[unit]);
}

static void write_name(const struct page *page, uint32_t node)
{
    braid_text_write_xml(page->file, task_graph_name(&page->report->file->nodes[node]));
}

static double percent(uint64_t part, uint64_t whole)
{
    return whole ? (double)part * 100 / (double)whole : 0;
}

static void write_cell(const struct page *page, uint64_t time_ns)
{
    fputs("<td>", page->file);
    write_time(page, time_ns);
    fputs("</td>", page->file);
}

// How much shorter a frame would be.
static void write_saving(const struct page *page, uint64_t makespan_ns)
{
    uint64_t now = page->facts.now_ns;
    write_cell(page, makespan_ns);
    if (makespan_ns < now)
        fprintf(page->file, "<td>%.1f&nbsp;%% shorter</td>", percent(now - makespan_ns, now));
    else
        fputs(makespan_ns == now ? "<td>nothing</td>" : "<td>nothing: longer</td>", page->file);
}

static void write_figures(const struct page *page)
{
    const braid_schedule_info *info = &page->facts.info;
    const struct report *report = page->report;
    FILE *file = page->file;
    fputs("<dl>", file);
    if (report->measured) {
        fputs("<div><dt>measured</dt><dd>", file);
        write_time(page, report->measured_ns);
        fputs("</dd></div>", file);
    }
    const struct {
        const char *name;
        uint64_t time_ns;
    } times[] = { { "planned", info->makespan_ns },
                  { "no plan is shorter than", info->bound_ns },
                  { "on one lane", info->one_lane_ns } };
    for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
        fprintf(file, "<div><dt>%s</dt><dd>", times[i].name);
        write_time(page, times[i].time_ns);
        fputs("</dd></div>", file);
    }
    fprintf(file,
            "<div><dt>nodes</dt><dd>%" PRIu32 "</dd></div><div><dt>lanes</dt><dd>%" PRIu32
            "</dd></div><div><dt>waits</dt><dd>%" PRIu64 "</dd></div></dl>\n",
            info->num_nodes, info->num_lanes, info->num_waits);
}

// A frame that was measured much longer than planned is first of all not the planned one.
static void write_difference(const struct page *page)
{
    const struct report *report = page->report;
    const braid_schedule_info *info = &page->facts.info;
    uint64_t busy_ns = 0;
    if (!report->measured || report->measured_ns <= info->makespan_ns + info->makespan_ns / 5)
        return;
    for (uint32_t i = 0; i < info->num_nodes; i++)
        busy_ns += report->measured[i].end_ns - report->measured[i].start_ns;
    fprintf(
        page->file,
        "<b>It is not the frame that was planned</b>: it took %.2f times as long, and its nodes "
        "%.2f times their costs; the rest is idle time beyond the plan. What follows is of the "
        "plan. ",
        percent(report->measured_ns, info->makespan_ns) / 100,
        percent(busy_ns, info->work_ns) / 100);
}

static void write_limit_name(const struct page *page, braid_limit limit)
{
    FILE *file = page->file;
    switch (limit) {
    case BRAID_LIMITED_BY_NOTHING:
        break;
    case BRAID_LIMITED_BY_CRITICAL_PATH:
        fputs("<b>The critical path</b>: its nodes run one after another almost without a gap, so "
              "more lanes change nothing; only shorter nodes on it, or fewer edges between them, "
              "do. ",
              file);
        break;
    case BRAID_LIMITED_BY_LANES:
        fputs("<b>The number of lanes</b>: all of them are busy nearly all the time. ", file);
        break;
    case BRAID_LIMITED_BY_LAUNCH_COST:
        fputs("<b>Launch cost</b>: starting the nodes and waits one after another takes ", file);
        write_time(page, page->facts.info.issue_ns);
        fputs(
            ", longer than running them. Fewer nodes, or the device's own graph, would help; more "
            "lanes would not. ",
            file);
        break;
    case BRAID_LIMITED_BY_RESOURCES:
        fputs("<b>The resource ", file);
        braid_text_write_xml(file, page->facts.resource);
        fputs("</b>: more pairs of nodes wait for each other because of what they access than for "
              "lack of lanes. ",
              file);
        break;
    case BRAID_LIMITED_BY_WAIT_COST:
        fputs("<b>What waits cost</b>: more nodes queue behind others of their lane, since waiting "
              "on an idle one would take as long, than for lack of lanes. ",
              file);
        break;
    case BRAID_LIMITED_BY_PATH_AND_LANES:
        fputs("<b>Lanes and critical path together</b>: neither alone is the whole of the frame. ",
              file);
        break;
    }
}

// What is red in the timeline of measured times.
static void write_measured_path(const struct page *page)
{
    const struct report_path *path = &page->facts.path;
    if (path->num_nodes == 0 || !page->report->measured)
        return;
    fputs(" <span id=\"measured-path\">As measured, the frame ended by ", page->file);
    fprintf(page->file, "%" PRIu32 " node%s that each began behind the one before and took ",
            path->num_nodes, output_plural(path->num_nodes));
    write_time(page, path->ns);
    fprintf(page->file, " (%.1f&nbsp;%% of the frame drawn); the rest is starting them.</span>",
            percent(path->ns, page->facts.frame_ns));
}

// How long the device waited for the host, as far as their clocks tell.
static void write_launch(const struct page *page)
{
    const struct report *report = page->report;
    uint64_t first_ns = UINT64_MAX;
    for (uint32_t i = 0; i < report->file->num_nodes && report->launch; i++)
        if (report->measured[i].start_ns && report->measured[i].start_ns < first_ns)
            first_ns = report->measured[i].start_ns;
    if (first_ns == UINT64_MAX)
        return;
    uint64_t begun_ns = report->launch->start_ns;
    fputs(" <span id=\"launched\">Its first node began ", page->file);
    write_time(page, first_ns > begun_ns ? first_ns - begun_ns : 0);
    fputs(" after the host began to launch it, and the host was back after ", page->file);
    write_time(page, report->launch->end_ns - begun_ns);
    fputs(" (the clocks of both agree to within ", page->file);
    write_time(page, report->error_ns);
    fputs(").</span>", page->file);
}

// As braid_schedule_explain tells it of a plan, and what was measured beside.
static void write_limit(const struct page *page)
{
    const struct report_facts *facts = &page->facts;
    const braid_schedule_info *info = &facts->info;
    FILE *file = page->file;
    uint64_t share_ns = info->num_lanes ? info->work_ns / info->num_lanes : 0;
    fputs("<h2>What limits the frame</h2>\n<p id=\"limit\">", file);
    write_difference(page);
    if (page->report->launch_ns > info->makespan_ns)
        fputs("<b>Launching</b>: the host takes longer to launch a frame than its nodes take. ",
              file);
    write_limit_name(page, info->limit);
    fputs("The critical path takes ", file);
    write_time(page, info->critical_path_ns);
    fprintf(file, " (%.1f&nbsp;%% of the planned frame), all work shared out evenly ",
            percent(info->critical_path_ns, info->makespan_ns));
    write_time(page, share_ns);
    fprintf(file, " (%.1f&nbsp;%%).", percent(share_ns, info->makespan_ns));
    write_measured_path(page);
    write_launch(page);
    if (facts->num_by_resource > 0) {
        fprintf(file,
                " Resources keep %" PRIu32 " pair%s of nodes apart between which no data "
                "flows, most often <i>",
                facts->num_by_resource, output_plural(facts->num_by_resource));
        braid_text_write_xml(file, facts->resource);
        fputs("</i>.", file);
    }
    struct dot_missing missing = dot_cost_missing(page->report->file);
    uint32_t num_guessed = missing.nodes + missing.host_calls; // nothing in an empty one takes time
    if (num_guessed > 0)
        fprintf(file, " %" PRIu32 " node%s no cost: what is planned for them is a guess.",
                num_guessed, num_guessed == 1 ? " has" : "s have");
    fputs("</p>\n", file);
}

static void write_changes(const struct page *page)
{
    const struct report_facts *facts = &page->facts;
    FILE *file = page->file;
    fputs("<h2>What would change it</h2>\n", file);
    if (page->report->measured) {
        fputs("<p id=\"advice\">Planned again with the times that its nodes were measured to take, "
              "the "
              "frame takes ",
              file);
        write_time(page, facts->now_ns);
        fputs(".</p>\n", file);
    }
    fputs("<table id=\"changes\"><tr><th>if</th><th>the frame would take</th><th>gain</th></tr>\n",
          file);
    fputs("<tr><td>there were one more lane</td>", file);
    write_saving(page, facts->more_lane_ns);
    fputs("</tr>\n", file);
    for (uint32_t i = 0; i < facts->num_nodes && i < 5; i++) {
        fputs("<tr><td><i>", file);
        write_name(page, facts->nodes[i].node);
        fputs("</i> took half</td>", file);
        write_saving(page, facts->nodes[i].half_ns);
        fputs("</tr>\n", file);
    }
    fputs("</table>\n", file);
}

static void write_nodes(const struct page *page)
{
    const struct report *report = page->report;
    FILE *file = page->file;
    fprintf(
        file,
        "<h2>The nodes that matter</h2>\n<p>In one chain of nodes, each began when the one before "
        "had ended, and the last ended the frame, as %s. The table has the longest nodes of that "
        "chain. A node in a loop counts with all its iterations.</p>\n",
        report->measured ? "measured" : "planned");
    fputs("<table id=\"nodes\"><tr><th>node</th><th>planned</th><th>of the frame</th>", file);
    fputs(report->measured ? "<th>measured</th>" : "", file);
    fputs("<th>frame if it took half</th><th>gain</th></tr>\n", file);
    for (uint32_t i = 0; i < page->facts.num_nodes; i++) {
        const struct report_node *node = &page->facts.nodes[i];
        braid_placement placement = { 0 };
        if (braid_schedule_get_placement(report->schedule,
                                         braid_graph_get_node(report->graph, node->node),
                                         &placement) != BRAID_OK)
            continue;
        braid_interval interval = report_interval(report, node->node);
        fputs("<tr><td>", file);
        write_name(page, node->node);
        fputs("</td>", file);
        write_cell(page, placement.end_ns - placement.start_ns);
        fprintf(file, "<td>%.1f&nbsp;%%</td>", percent(node->total_ns, page->facts.frame_ns));
        if (report->measured && report_has_interval(report, node->node))
            write_cell(page, interval.end_ns - interval.start_ns);
        else if (report->measured)
            fputs("<td>-</td>", file);
        write_saving(page, node->half_ns);
        fputs("</tr>\n", file);
    }
    fputs("</table>\n", file);
}

static void write_waits(const struct page *page)
{
    const struct report_facts *facts = &page->facts;
    FILE *file = page->file;
    fprintf(file,
            "<h2>What waits cost</h2>\n<p>%" PRIu64 " of %" PRIu64 " wait%s kept a lane idle, ",
            facts->num_idle_waits, facts->info.num_waits, output_plural(facts->info.num_waits));
    write_time(page, facts->idle_ns);
    fprintf(file, " in all lanes together%s%s.</p>\n",
            page->report->measured ? ", as measured in one frame" : ", as planned",
            facts->num_idle_waits > REPORT_WAITS ? "; these the longest" : "");
    if (facts->num_waits == 0)
        return;
    fputs(
        "<table id=\"waits\"><tr><th>node</th><th>waited for</th><th>its lane was idle</th></tr>\n",
        file);
    for (uint32_t i = 0; i < facts->num_waits; i++) {
        fputs("<tr><td>", file);
        write_name(page, facts->waits[i].to);
        fputs("</td><td class=\"name\">", file);
        write_name(page, facts->waits[i].from);
        fputs("</td>", file);
        write_cell(page, facts->waits[i].idle_ns);
        fputs("</tr>\n", file);
    }
    fputs("</table>\n", file);
}

static braid_status write_timelines(const struct page *page)
{
    const struct report *report = page->report;
    braid_timeline_options options = page->timeline;
    braid_status status = BRAID_OK;
    if (report->measured) {
        options.title = "As measured";
        options.intervals = report->measured;
        options.launches = report->launch;
        options.error_ns = report->error_ns;
        fputs("<div class=\"timeline\">", page->file);
        status = braid_schedule_write(report->schedule, BRAID_DRAWING_SVG, &options, page->file);
        fputs("</div>\n", page->file);
    }
    options.title = "As planned";
    options.intervals = NULL;
    options.launches = NULL;
    fputs("<div class=\"timeline\">", page->file);
    if (status == BRAID_OK)
        status = braid_schedule_write(report->schedule, BRAID_DRAWING_SVG, &options, page->file);
    fputs("</div>\n", page->file);
    return status;
}

static braid_status write_page(const struct page *page)
{
    FILE *file = page->file;
    fputs("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width\">\n"
          "<meta name=\"color-scheme\" content=\"light dark\">\n<title>",
          file);
    braid_text_write_xml(file, page->timeline.title);
    fputs("</title>\n<style>\n", file);
    fputs(braid_report_style, file);
    fputs("</style></head>\n<body>\n<h1>", file);
    braid_text_write_xml(file, page->timeline.title);
    fputs("</h1>\n", file);
    write_figures(page);
    braid_status status = write_timelines(page);
    fputs("<main>\n<section>", file);
    write_limit(page);
    write_changes(page);
    fputs("</section>\n<section>", file);
    write_nodes(page);
    fputs("</section>\n<section>", file);
    write_waits(page);
    fputs("</section>\n", file);
    if (status == BRAID_OK && report_memory_write(page->report, file) != EXIT_DONE)
        status = BRAID_NO_MEMORY;
    fputs("</main>\n</body></html>\n", file);
    return status;
}

static braid_status write_to(FILE *file, const void *user)
{
    struct page page = *(const struct page *)user;
    page.file = file;
    return write_page(&page);
}

enum exit_status report_page_write(const char *path, const struct report *report)
{
    struct page page = { .report = report, .timeline = dot_cost_timeline(report->file) };
    if (report->measured) {
        page.timeline.unit = NULL;
        page.timeline.unit_ns = 0;
    }
    enum exit_status status = report_find_facts(report, &page.facts);
    return status == EXIT_DONE ? output_write(path, write_to, &page) : status;
}
