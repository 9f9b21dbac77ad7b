// SPDX-License-Identifier: Apache-2.0
// Findings of an import, as text and as JSON.
#include <inttypes.h>

#include "base/error.h"
#include "base/text.h"
#include "import/import.h"

// The name of a captured node's function, or of its kind.
static const char *name_of(const braid_import *import, uint32_t node)
{
    const struct captured_node *of = &captured_nodes(&import->captured)[node];
    return of->type == GPU_NODE_KERNEL ? captured_function_of(&import->captured, of)->name
                                       : braid_captured_kind(of->type);
}

static const char *place_of(const braid_import *import, uint32_t node)
{
    return captured_nodes(&import->captured)[node].place;
}

static const char *plural(uint32_t num)
{
    return num == 1 ? "" : "s";
}

// ---- text ----

static void write_numbers(const braid_import_info *info, FILE *file)
{
    fprintf(file, "captured graph: %u node%s: %u kernel%s, %u cop%s, %u fill%s, %u host call%s\n",
            info->num_nodes, plural(info->num_nodes), info->num_kernels, plural(info->num_kernels),
            info->num_copies, info->num_copies == 1 ? "y" : "ies", info->num_fills,
            plural(info->num_fills), info->num_host_calls, plural(info->num_host_calls));
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

static void write_reasons(const braid_import *import, FILE *file)
{
    const struct import_reason *reasons = import->uses.reasons.items;
    fprintf(file, "%u node%s all captured orders%s\n", import->info.num_unproven,
            import->info.num_unproven == 1 ? " keeps" : "s keep",
            import->info.num_unproven ? ":" : "");
    for (size_t i = 0; i < import->uses.reasons.num; i++) {
        fprintf(file, "  %s '", place_of(import, reasons[i].node));
        braid_text_write_json(file, name_of(import, reasons[i].node));
        fprintf(file, "': ");
        if (reasons[i].line)
            fprintf(file, "line %u of its PTX: ", reasons[i].line);
        fprintf(file, "%s\n", reasons[i].text);
    }
}

static void write_races(const braid_import *import, FILE *file)
{
    const struct import_edge *races = import->orders.races.items;
    if (import->orders.races.num)
        fprintf(file, "possible races of the program, which get no order: %zu\n",
                import->orders.races.num);
    for (size_t i = 0; i < import->orders.races.num; i++) {
        fprintf(file, "  %s '", place_of(import, races[i].from));
        braid_text_write_json(file, name_of(import, races[i].from));
        fprintf(file, "' and %s '", place_of(import, races[i].to));
        braid_text_write_json(file, name_of(import, races[i].to));
        fprintf(file, "'\n");
    }
}

static void write_text(const braid_import *import, FILE *file)
{
    write_numbers(&import->info, file);
    write_reasons(import, file);
    write_races(import, file);
}

// ---- JSON ----

static void write_node(const braid_import *import, uint32_t node, FILE *file)
{
    fprintf(file, "{\"node\": \"%s\", \"name\": \"", place_of(import, node));
    braid_text_write_json(file, name_of(import, node));
    fprintf(file, "\"");
}

static void write_members(const braid_import_info *info, FILE *file)
{
    fprintf(file,
            "  \"nodes\": %u,\n  \"kernels\": %u,\n  \"copies\": %u,\n  \"fills\": %u,\n"
            "  \"host_calls\": %u,\n  \"allocations\": %u,\n  \"rewritten_words\": %u,\n",
            info->num_nodes, info->num_kernels, info->num_copies, info->num_fills,
            info->num_host_calls, info->num_allocations, info->num_rewritten);
    fprintf(file,
            "  \"captured_orders\": %" PRIu64 ",\n  \"kept_orders\": %" PRIu64 ",\n"
            "  \"longest_captured\": %u,\n  \"longest_kept\": %u,\n",
            info->num_captured, info->num_kept, info->longest_captured, info->longest_kept);
}

static void write_json(const braid_import *import, FILE *file)
{
    const struct import_reason *reasons = import->uses.reasons.items;
    const struct import_edge *races = import->orders.races.items;
    fprintf(file, "{\n");
    write_members(&import->info, file);
    fprintf(file, "  \"unproven\": [");
    for (size_t i = 0; i < import->uses.reasons.num; i++) {
        fprintf(file, "%s\n    ", i ? "," : "");
        write_node(import, reasons[i].node, file);
        fprintf(file, ", \"line\": %u, \"reason\": \"", reasons[i].line);
        braid_text_write_json(file, reasons[i].text);
        fprintf(file, "\"}");
    }
    fprintf(file, "],\n  \"races\": [");
    for (size_t i = 0; i < import->orders.races.num; i++) {
        fprintf(file, "%s\n    [", i ? "," : "");
        write_node(import, races[i].from, file);
        fprintf(file, "}, ");
        write_node(import, races[i].to, file);
        fprintf(file, "}]");
    }
    fprintf(file, "]\n}\n");
}

braid_status braid_import_write(const braid_import *import, braid_import_report form, FILE *file)
{
    if (!import || !file)
        return braid_error_null("braid_import_write", import ? "file" : "import");
    if (form != BRAID_IMPORT_TEXT && form != BRAID_IMPORT_JSON)
        return braid_error_invalid("braid_import_write: form %d is unknown", (int)form);
    if (form == BRAID_IMPORT_JSON)
        write_json(import, file);
    else
        write_text(import, file);
    return ferror(file) ? braid_error(BRAID_IO_ERROR, "braid_import_write: cannot write")
                        : BRAID_OK;
}
