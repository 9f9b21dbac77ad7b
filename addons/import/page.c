// SPDX-License-Identifier: Apache-2.0
// The report of an import as one page of HTML that needs nothing but itself.
#include <inttypes.h>

#include "base/text.h"
#include "import/findings.h"

enum { MOST_BARS = 200, MOST_ROWS = 100 };

static const char style[] =
    ":root{color-scheme:light dark}\n"
    "body{margin:0 auto;padding:24px 32px;max-width:1200px;"
    "font:15px/1.5 system-ui,\"Segoe UI\",Helvetica,Arial,sans-serif}\n"
    "h1{font-size:24px;margin:0 0 12px}\n"
    "h2{font-size:17px;margin:24px 0 8px}\n"
    "dl{display:flex;flex-wrap:wrap;gap:12px 36px;margin:0}\n"
    "dt{font-size:13px;opacity:.7}\n"
    "dd{margin:0;font-size:21px;font-weight:600}\n"
    "table{border-collapse:collapse;width:100%;font-size:14px}\n"
    "th,td{text-align:left;padding:4px 10px 4px 0;border-bottom:1px solid #8886;"
    "vertical-align:top;overflow-wrap:anywhere}\n"
    "svg{display:block;width:100%;height:120px}\n"
    "rect{fill:#5e83b5}\n";

static void write_figure(const char *name, uint64_t number, FILE *file)
{
    fprintf(file, "<div><dt>%s</dt><dd>%" PRIu64 "</dd></div>\n", name, number);
}

static void write_figures(const braid_import_info *info, FILE *file)
{
    fputs("<dl>\n", file);
    write_figure("nodes", info->num_nodes, file);
    write_figure("kernels", info->num_kernels, file);
    write_figure("copies", info->num_copies, file);
    write_figure("fills", info->num_fills, file);
    write_figure("host calls", info->num_host_calls, file);
    write_figure("loops and branches", info->num_conditionals, file);
    write_figure("allocations", info->num_allocations, file);
    write_figure("captured orders", info->num_captured, file);
    write_figure("kept orders", info->num_kept, file);
    write_figure("longest captured path", info->longest_captured, file);
    write_figure("longest kept path", info->longest_kept, file);
    write_figure("nodes without proof", info->num_unproven, file);
    write_figure("possible races", info->num_races, file);
    fputs("</dl>\n", file);
}

// A bar for each level, or for as many levels as have room: the widest of them counts.
static void write_levels(const struct import_findings *findings, FILE *file)
{
    const uint32_t num = findings->num_levels;
    const uint32_t bars = num < MOST_BARS ? num : MOST_BARS;
    if (num == 0)
        return;
    fprintf(file,
            "<h2>Nodes that may run at once, by level</h2>\n<p>%u level%s, most %u, mean %s</p>\n"
            "<svg viewBox=\"0 0 %u 100\" preserveAspectRatio=\"none\">\n",
            num, num == 1 ? "" : "s", findings->widest,
            braid_text_decimal((double)findings->num_work / num, 1).text, bars);
    for (uint32_t bar = 0; bar < bars; bar++) {
        const uint32_t first = (uint32_t)((uint64_t)bar * num / bars);
        const uint32_t end = (uint32_t)((uint64_t)(bar + 1) * num / bars);
        uint32_t most = 0;
        for (uint32_t i = first; i < end; i++)
            most = findings->levels[i] > most ? findings->levels[i] : most;
        const double height = (double)most * 100 / findings->widest;
        fprintf(file,
                "<rect x=\"%u\" y=\"%s\" width=\"0.9\" height=\"%s\"><title>%u</title></rect>\n",
                bar, braid_text_decimal(100 - height, 2).text, braid_text_decimal(height, 2).text,
                most);
    }
    fputs("</svg>\n", file);
}

static void write_places(const struct finding_node *nodes, uint32_t num, FILE *file)
{
    for (uint32_t i = 0; i < num && i < FINDING_PLACES; i++)
        fprintf(file, "%s%s", i ? ", " : "", nodes[i].place);
    fputs(num > FINDING_PLACES ? ", ..." : "", file);
}

static void write_function(const struct import_findings *findings,
                           const struct finding_function *function, FILE *file)
{
    const struct finding_node *nodes = findings->nodes + function->first;
    for (uint32_t i = 0; i < function->num; i += nodes[i].of_reason) {
        fputs("<tr><td>", file);
        braid_text_write_xml(file, nodes[i].name);
        fputs("</td><td>", file);
        braid_text_write_xml(file, nodes[i].reason->text);
        fputs("</td><td>", file);
        if (nodes[i].reason->line)
            fprintf(file, "%u", nodes[i].reason->line);
        fprintf(file, "</td><td>%u</td><td>", nodes[i].of_reason);
        write_places(nodes + i, nodes[i].of_reason, file);
        fputs("</td><td>", file);
        if (function->longest)
            fprintf(file, "%u", function->longest);
        fputs("</td></tr>\n", file);
    }
}

static void write_unproven(const struct import_findings *findings, FILE *file)
{
    const struct finding_function *functions = findings_functions(&findings->functions);
    if (findings->functions.num == 0)
        return;
    fprintf(
        file,
        "<h2>Functions without proof</h2>\n<p>Their nodes keep all captured orders. The longest "
        "path, now %u nodes, could be shorter if a function were proven and shared no "
        "memory.</p>\n",
        findings->import->info.longest_kept);
    if (findings->is_cut)
        fputs("<p>The graph is too large to tell how short.</p>\n", file);
    fputs("<table>\n<tr><th>function</th><th>reason</th><th>line of its PTX</th><th>nodes</th>"
          "<th>places</th><th>longest path if proven</th></tr>\n",
          file);
    for (size_t i = 0; i < findings->functions.num; i++)
        write_function(findings, &functions[i], file);
    if (findings->longest_of_all)
        fprintf(file, "<tr><td>all</td><td></td><td></td><td>%u</td><td></td><td>%u</td></tr>\n",
                findings->import->info.num_unproven, findings->longest_of_all);
    fputs("</table>\n", file);
}

static void write_reloads(const braid_import *import, FILE *file)
{
    const struct captured_function *functions = import->captured.functions.items;
    const struct import_reload *reloads = import->reloads.functions;
    if (!reloads || import->info.num_reloadable == import->captured.functions.num)
        return;
    fputs("<h2>Functions that are not loaded from their text</h2>\n<table>\n"
          "<tr><th>function</th><th>reason</th></tr>\n",
          file);
    for (size_t i = 0; i < import->captured.functions.num; i++) {
        if (reloads[i].text)
            continue;
        fputs("<tr><td>", file);
        braid_text_write_xml(file, functions[i].name);
        fprintf(file, "</td><td>%s</td></tr>\n", reloads[i].why);
    }
    fputs("</table>\n", file);
}

static void write_node(const struct import_findings *findings, uint32_t node, FILE *file)
{
    const struct finding_node shown = braid_import_find_node(findings->import, node);
    fprintf(file, "<td>%s</td><td>", shown.place);
    braid_text_write_xml(file, shown.name);
    fputs("</td>", file);
}

static void write_more(size_t num, FILE *file)
{
    fputs("</table>\n", file);
    if (num > MOST_ROWS)
        fprintf(file, "<p>and %zu more</p>\n", num - MOST_ROWS);
}

static void write_races(const struct import_findings *findings, FILE *file)
{
    const struct array *races = &findings->import->orders.races;
    const struct import_edge *race = races->items;
    if (races->num == 0)
        return;
    fputs("<h2>Possible races of the program, which get no order</h2>\n<table>\n"
          "<tr><th>node</th><th>name</th><th>node</th><th>name</th></tr>\n",
          file);
    for (size_t i = 0; i < races->num && i < MOST_ROWS; i++) {
        fputs("<tr>", file);
        write_node(findings, race[i].from, file);
        write_node(findings, race[i].to, file);
        fputs("</tr>\n", file);
    }
    write_more(races->num, file);
}

static void write_kernels(const struct import_findings *findings, FILE *file)
{
    const struct finding_function *names = findings_functions(&findings->names);
    if (findings->names.num == 0)
        return;
    fputs("<h2>Kernels</h2>\n<table>\n<tr><th>function</th><th>nodes</th></tr>\n", file);
    for (size_t i = 0; i < findings->names.num && i < MOST_ROWS; i++) {
        fputs("<tr><td>", file);
        braid_text_write_xml(file, findings->kernels[names[i].first].name);
        fprintf(file, "</td><td>%u</td></tr>\n", names[i].num);
    }
    write_more(findings->names.num, file);
}

void braid_import_write_page(const struct import_findings *findings, FILE *file)
{
    fputs("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width\">\n"
          "<title>Import of a captured graph</title>\n<style>\n",
          file);
    fputs(style, file);
    fputs("</style></head>\n<body>\n<h1>Import of a captured graph</h1>\n", file);
    write_figures(&findings->import->info, file);
    write_levels(findings, file);
    write_unproven(findings, file);
    write_reloads(findings->import, file);
    write_races(findings, file);
    write_kernels(findings, file);
    fputs("</body></html>\n", file);
}
