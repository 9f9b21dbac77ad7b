// SPDX-License-Identifier: Apache-2.0
// The report of an import, as text and as JSON.
#include <inttypes.h>

#include "base/error.h"
#include "base/text.h"
#include "import/findings.h"

// In the line of levels.
enum { MOST_LEVELS = 24 };

static const char *plural(uint32_t num)
{
    return num == 1 ? "" : "s";
}

// ---- text ----

static void write_numbers(const braid_import *import, FILE *file)
{
    const braid_import_info *info = &import->info;
    fprintf(file, "%s: %u node%s: %u kernel%s, %u cop%s, %u fill%s, %u host call%s\n",
            import->recorded.record ? "recorded frame" : "captured graph", info->num_nodes,
            plural(info->num_nodes), info->num_kernels, plural(info->num_kernels), info->num_copies,
            info->num_copies == 1 ? "y" : "ies", info->num_fills, plural(info->num_fills),
            info->num_host_calls, plural(info->num_host_calls));
    if (info->num_conditionals)
        fprintf(file, "loops and branches: %u, whose bodies count once\n", info->num_conditionals);
    fprintf(file, "orders: %" PRIu64 " captured, %" PRIu64 " kept\n", info->num_captured,
            info->num_kept);
    fprintf(file, "longest path: %u node%s captured, %u kept\n", info->longest_captured,
            plural(info->longest_captured), info->longest_kept);
    if (info->num_allocations)
        fprintf(file,
                "allocations: %u, as transient buffers. %u word%s of arguments that look like "
                "addresses in them point there. An address of one elsewhere, such as in memory, "
                "is lost\n",
                info->num_allocations, info->num_rewritten, plural(info->num_rewritten));
}

// As many as there is room for in a line.
static void write_levels(const struct import_findings *findings, FILE *file)
{
    const uint32_t num = findings->num_levels;
    if (num == 0)
        return;
    fprintf(file, "nodes that may run at once, by level:");
    for (uint32_t i = 0; i < num && i < MOST_LEVELS; i++)
        fprintf(file, " %u", findings->levels[i]);
    if (num > MOST_LEVELS)
        fprintf(file, " ... of %u levels", num);
    fprintf(file, " (most %u, mean %s)\n", findings->widest,
            braid_text_decimal((double)findings->num_work / num, 1).text);
}

static void write_places(const struct finding_node *nodes, uint32_t num, FILE *file)
{
    for (uint32_t i = 0; i < num && i < FINDING_PLACES; i++)
        fprintf(file, "%s%s", i ? ", " : " (", nodes[i].place);
    if (num > FINDING_PLACES)
        fprintf(file, " and %u more", num - FINDING_PLACES);
    fprintf(file, ")\n");
}

static void write_function(const struct import_findings *findings,
                           const struct finding_function *function, FILE *file)
{
    const struct finding_node *nodes = findings->nodes + function->first;
    for (uint32_t i = 0; i < function->num; i += nodes[i].of_reason) {
        fprintf(file, "  %u node%s of '", nodes[i].of_reason, plural(nodes[i].of_reason));
        braid_text_write_json(file, nodes[i].name);
        fprintf(file, "': ");
        if (nodes[i].reason->line)
            fprintf(file, "line %u of its PTX: ", nodes[i].reason->line);
        fprintf(file, "%s", nodes[i].reason->text);
        write_places(nodes + i, nodes[i].of_reason, file);
    }
    if (function->longest)
        fprintf(file,
                "    if %s proven and shared no memory, the longest path could have %u node%s, "
                "now %u\n",
                function->num == 1 ? "it were" : "they were", function->longest,
                plural(function->longest), findings->import->info.longest_kept);
}

static void write_unproven(const struct import_findings *findings, FILE *file)
{
    const braid_import_info *info = &findings->import->info;
    const size_t num = findings->functions.num;
    fprintf(file, "%u node%s all captured orders%s\n", info->num_unproven,
            info->num_unproven == 1 ? " keeps" : "s keep", info->num_unproven ? ":" : "");
    for (size_t i = 0; i < num; i++)
        write_function(findings, &findings_functions(&findings->functions)[i], file);
    if (findings->is_cut)
        fprintf(file, "  the graph is too large to tell how short the longest path could be\n");
    else if (num > FINDING_COSTS)
        fprintf(file, "  only the %d functions with the most nodes tell of the longest path\n",
                FINDING_COSTS);
    if (num > 1 && findings->longest_of_all)
        fprintf(
            file,
            "  if all were proven and shared no memory, the longest path could have %u node%s\n",
            findings->longest_of_all, plural(findings->longest_of_all));
}

static void write_race(const braid_import *import, const struct import_edge *race, FILE *file)
{
    const struct finding_node from = braid_import_find_node(import, race->from);
    const struct finding_node to = braid_import_find_node(import, race->to);
    fprintf(file, "  %s '", from.place);
    braid_text_write_json(file, from.name);
    fprintf(file, "' and %s '", to.place);
    braid_text_write_json(file, to.name);
    fprintf(file, "'\n");
}

static void write_races(const braid_import *import, FILE *file)
{
    const struct import_edge *races = import->orders.races.items;
    if (import->orders.races.num)
        fprintf(file, "possible races of the program, which get no order: %zu\n",
                import->orders.races.num);
    for (size_t i = 0; i < import->orders.races.num; i++)
        write_race(import, &races[i], file);
}

static void write_reloads(const braid_import *import, FILE *file)
{
    const struct captured_function *functions = import->captured.functions.items;
    const struct import_reload *reloads = import->reloads.functions;
    const size_t num = reloads ? import->captured.functions.num : 0;
    if (num)
        fprintf(file, "functions that may be loaded from their text: %u of %zu\n",
                import->info.num_reloadable, num);
    for (size_t i = 0; i < num; i++) {
        if (reloads[i].text)
            continue;
        fprintf(file, "    ");
        braid_text_write_json(file, functions[i].name);
        fprintf(file, ": %s\n", reloads[i].why);
    }
}

static void write_recorded(const braid_import *import, FILE *file)
{
    const braid_import_info *info = &import->info;
    const uint64_t gaps = info->frame_ns - info->wait_ns - info->call_ns;
    if (!import->recorded.record)
        return;
    fprintf(file,
            "host: %s us, of which %s us in calls, %s us in %u wait%s, and %s us between them\n",
            braid_text_decimal((double)info->frame_ns / 1e3, 1).text,
            braid_text_decimal((double)info->call_ns / 1e3, 1).text,
            braid_text_decimal((double)info->wait_ns / 1e3, 1).text, info->num_waits,
            plural(info->num_waits),
            braid_text_decimal(gaps > info->frame_ns ? 0 : (double)gaps / 1e3, 1).text);
    if (info->device_ns)
        fprintf(file, "device: %s us, of which no work ran in %s us; kernels took %s us in all\n",
                braid_text_decimal((double)info->device_ns / 1e3, 1).text,
                braid_text_decimal((double)info->idle_ns / 1e3, 1).text,
                braid_text_decimal((double)info->kernel_ns / 1e3, 1).text);
    if (info->num_repeats)
        fprintf(file, "copies that send the same bytes again: %u, with %" PRIu64 " bytes\n",
                info->num_repeats, info->repeated_bytes);
    if (info->num_constants)
        fprintf(file, "kernels that read nothing which the frame changes: %u\n",
                info->num_constants);
    if (info->num_left_out)
        fprintf(file, "of these left out, since their results stay: %u\n", info->num_left_out);
}

static void write_text(const struct import_findings *findings, FILE *file)
{
    const uint32_t num_stated = findings->import->info.num_stated;
    const uint32_t num_pointers = findings->import->info.num_pointers;
    write_numbers(findings->import, file);
    write_recorded(findings->import, file);
    write_levels(findings, file);
    if (num_stated)
        fprintf(file, "%u kernel%s the memory that the program states\n", num_stated,
                num_stated == 1 ? " touches" : "s touch");
    if (num_pointers)
        fprintf(file, "words of memory that were read as pointers: %u\n", num_pointers);
    write_unproven(findings, file);
    write_reloads(findings->import, file);
    write_races(findings->import, file);
}

// ---- JSON ----

static void write_node(const braid_import *import, uint32_t node, FILE *file)
{
    const struct finding_node shown = braid_import_find_node(import, node);
    fprintf(file, "{\"node\": \"%s\", \"name\": \"", shown.place);
    braid_text_write_json(file, shown.name);
    fprintf(file, "\"");
}

static void write_members(const braid_import_info *info, FILE *file)
{
    fprintf(file,
            "  \"nodes\": %u,\n  \"kernels\": %u,\n  \"copies\": %u,\n  \"fills\": %u,\n"
            "  \"host_calls\": %u,\n  \"conditionals\": %u,\n  \"allocations\": %u,\n"
            "  \"rewritten_words\": %u,\n",
            info->num_nodes, info->num_kernels, info->num_copies, info->num_fills,
            info->num_host_calls, info->num_conditionals, info->num_allocations,
            info->num_rewritten);
    fprintf(file,
            "  \"captured_orders\": %" PRIu64 ",\n  \"kept_orders\": %" PRIu64 ",\n"
            "  \"longest_captured\": %u,\n  \"longest_kept\": %u,\n",
            info->num_captured, info->num_kept, info->longest_captured, info->longest_kept);
}

static void write_names(const struct import_findings *findings, FILE *file)
{
    const struct finding_function *names = findings_functions(&findings->names);
    fprintf(file, "  \"nodes_by_kernel\": [");
    for (size_t i = 0; i < findings->names.num; i++) {
        fprintf(file, "%s\n    {\"name\": \"", i ? "," : "");
        braid_text_write_json(file, findings->kernels[names[i].first].name);
        fprintf(file, "\", \"nodes\": %u}", names[i].num);
    }
    fprintf(file, "],\n  \"nodes_by_level\": [");
    for (uint32_t i = 0; i < findings->num_levels; i++)
        fprintf(file, "%s%u", i ? ", " : "", findings->levels[i]);
    fprintf(file, "],\n");
}

// 0: it is unknown.
static void write_longest(const char *name, uint32_t longest, FILE *file)
{
    if (longest)
        fprintf(file, "\"%s\": %u", name, longest);
    else
        fprintf(file, "\"%s\": null", name);
}

static void write_reason(const struct import_reason *reason, FILE *file)
{
    fprintf(file, "\"line\": %u, \"reason\": \"", reason->line);
    braid_text_write_json(file, reason->text);
    fprintf(file, "\"");
}

static void write_functions(const struct import_findings *findings, FILE *file)
{
    const struct finding_function *functions = findings_functions(&findings->functions);
    fprintf(file, "  \"unproven_functions\": [");
    for (size_t i = 0; i < findings->functions.num; i++) {
        const struct finding_node *nodes = findings->nodes + functions[i].first;
        fprintf(file, "%s\n    {\"kind\": \"%s\", \"name\": \"", i ? "," : "",
                braid_captured_kind(nodes->type));
        braid_text_write_json(file, nodes->name);
        fprintf(file, "\", \"nodes\": %u, ", functions[i].num);
        write_longest("longest_if_proven", functions[i].longest, file);
        fprintf(file, ", \"reasons\": [");
        for (uint32_t k = 0; k < functions[i].num; k += nodes[k].of_reason) {
            fprintf(file, "%s{\"nodes\": %u, ", k ? ", " : "", nodes[k].of_reason);
            write_reason(nodes[k].reason, file);
            fprintf(file, "}");
        }
        fprintf(file, "]}");
    }
    fprintf(file, "],\n  ");
    write_longest("longest_if_all_proven", findings->longest_of_all, file);
    fprintf(file, ",\n  \"longest_is_left_out\": %s,\n", findings->is_cut ? "true" : "false");
}

static void write_json_reloads(const braid_import *import, FILE *file)
{
    const struct captured_function *functions = import->captured.functions.items;
    const struct import_reload *reloads = import->reloads.functions;
    const char *comma = "";
    fprintf(file,
            "],\n  \"stated\": %u,\n  \"pointers\": %u,\n  \"reloadable\": %u,\n  "
            "\"not_reloadable\": [",
            import->info.num_stated, import->info.num_pointers, import->info.num_reloadable);
    for (size_t i = 0; i < import->captured.functions.num && reloads; i++) {
        if (reloads[i].text)
            continue;
        fprintf(file, "%s\n    {\"name\": \"", comma);
        braid_text_write_json(file, functions[i].name);
        fprintf(file, "\", \"reason\": \"%s\"}", reloads[i].why);
        comma = ",";
    }
    fprintf(file, "]\n}\n");
}

static void write_json_recorded(const braid_import *import, FILE *file)
{
    const braid_import_info *info = &import->info;
    if (!import->recorded.record)
        return;
    fprintf(file,
            "  \"frame_ns\": %" PRIu64 ",\n  \"call_ns\": %" PRIu64 ",\n  \"waits\": %u,\n"
            "  \"wait_ns\": %" PRIu64 ",\n  \"repeated_copies\": %u,\n"
            "  \"repeated_bytes\": %" PRIu64 ",\n  \"constant_kernels\": %u,\n"
            "  \"left_out_kernels\": %u,\n"
            "  \"device_ns\": %" PRIu64 ",\n  \"kernel_ns\": %" PRIu64 ",\n"
            "  \"idle_ns\": %" PRIu64 ",\n",
            info->frame_ns, info->call_ns, info->num_waits, info->wait_ns, info->num_repeats,
            info->repeated_bytes, info->num_constants, info->num_left_out, info->device_ns,
            info->kernel_ns, info->idle_ns);
}

static void write_json(const struct import_findings *findings, FILE *file)
{
    const braid_import *import = findings->import;
    const struct import_reason *reasons = import->uses.reasons.items;
    const struct import_edge *races = import->orders.races.items;
    fprintf(file, "{\n");
    write_members(&import->info, file);
    write_json_recorded(import, file);
    write_names(findings, file);
    write_functions(findings, file);
    fprintf(file, "  \"unproven\": [");
    for (size_t i = 0; i < import->uses.reasons.num; i++) {
        fprintf(file, "%s\n    ", i ? "," : "");
        write_node(import, reasons[i].node, file);
        fprintf(file, ", ");
        write_reason(&reasons[i], file);
        fprintf(file, "}");
    }
    fprintf(file, "],\n  \"races\": [");
    for (size_t i = 0; i < import->orders.races.num; i++) {
        fprintf(file, "%s\n    [", i ? "," : "");
        write_node(import, races[i].from, file);
        fprintf(file, "}, ");
        write_node(import, races[i].to, file);
        fprintf(file, "}]");
    }
    write_json_reloads(import, file);
}

// Memory may run out only before the first byte.
static braid_status write_form(const braid_import *import, braid_import_report form, FILE *file)
{
    static void (*const writers[])(const struct import_findings *, FILE *) = {
        [BRAID_IMPORT_TEXT] = write_text,
        [BRAID_IMPORT_JSON] = write_json,
        [BRAID_IMPORT_PAGE] = braid_import_write_page,
    };
    struct import_findings findings;
    const bool is_found = braid_import_find(import, &findings);
    if (is_found)
        writers[form](&findings, file);
    braid_import_findings_finish(&findings);
    if (!is_found)
        return braid_error_no_memory("the report of an import");
    return fflush(file) || ferror(file)
               ? braid_error(BRAID_IO_ERROR, "braid_import_write: cannot write")
               : BRAID_OK;
}

braid_status braid_import_write(const braid_import *import, braid_import_report form, FILE *file)
{
    if (!import || !file)
        return braid_error_null("braid_import_write", import ? "file" : "import");
    if (form != BRAID_IMPORT_TEXT && form != BRAID_IMPORT_JSON && form != BRAID_IMPORT_PAGE)
        return braid_error_invalid("braid_import_write: form %d is unknown", (int)form);
    return write_form(import, form, file);
}
