// SPDX-License-Identifier: Apache-2.0
// braid kernel: what the kernels of a file of PTX read and write, and what Braid could do with
// them.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "arguments.h"
#include "commands.h"
#include "json_file.h"
#include "kernel_facts.h"
#include "kernel_file.h"
#include "kernel_json.h"
#include "output.h"

static const char help[] =
    "usage: braid kernel FILE.ptx [--json OUT]\n"
    "\n"
    "Lists the kernels of a file of PTX, of any compiler: through which of their parameters\n"
    "they read and write memory, by offsets in bytes, or the instruction that leaves it\n"
    "unproven. Then whether they may be inside of islands, start early and prefetch.\n"
    "It needs no GPU.\n"
    "\n"
    "  --json OUT        write it as JSON, too ('-': standard output, in place of the text)\n"
    "  --help            print this text\n";

struct options {
    const char *json;
};

static void print_fact(const char *what, const struct kernel_fact *fact)
{
    printf("%s%s%s\n", what, fact->holds ? "yes" : "no: ", fact->holds ? "" : fact->reason.text);
}

static const char *name_of(unsigned acts)
{
    if (acts & ACCESSES_UPDATES)
        return "read and written, atomically at least once";
    return acts == ACCESSES_READS    ? "read"
           : acts == ACCESSES_WRITES ? "written"
                                     : "read and written";
}

// The lines of the first instructions.
static void print_lines(const char *text, const struct kernel_access *access)
{
    const uint32_t read = access->read_at ? braid_ptx_line(text, access->read_at) : 0;
    const uint32_t written = access->written_at ? braid_ptx_line(text, access->written_at) : 0;
    if (read && written && read != written)
        printf(" (lines %" PRIu32 ", %" PRIu32 ")", read, written);
    else
        printf(" (line %" PRIu32 ")", read ? read : written);
}

static void print_parameter(const struct text_facts *facts, const struct entry_facts *entry,
                            uint32_t index)
{
    const struct code_parameter *parameters = entry->accesses.parameters.items;
    const struct kernel_access *items = entry->accesses.items.items;
    const char *separator = ": ";
    printf("  parameter %" PRIu32 ", %" PRIu32 " byte%s", index, parameters[index].bytes,
           output_plural(parameters[index].bytes));
    for (size_t i = 0; i < entry->accesses.items.num && !entry->accesses.why; i++) {
        if (items[i].parameter != index)
            continue;
        fputs(separator, stdout);
        if (parameters[index].bytes == sizeof(uint64_t))
            fputs(name_of(items[i].acts), stdout);
        else if (source_is_anywhere(items[i].offset))
            printf("at any offset %s", name_of(items[i].acts));
        else
            printf("at %" PRIu32 " %s", items[i].offset, name_of(items[i].acts));
        print_lines(facts->text, &items[i]);
        separator = "; ";
    }
    printf("\n");
}

static void print_entry(const char *file, const struct text_facts *facts,
                        const struct entry_facts *entry)
{
    const struct kernel_accesses *accesses = &entry->accesses;
    printf("\n%.*s\n", (int)entry->function->name.length, entry->function->name.at);
    if (accesses->why) {
        char instruction[KERNEL_INSTRUCTION_BYTES];
        kernel_write_instruction(accesses->at, instruction);
        printf("  not proven: %s:%" PRIu32 ": '%s': %s\n", file,
               braid_ptx_line(facts->text, accesses->at), instruction, accesses->why);
    }
    for (uint32_t i = 0; i < accesses->parameters.num; i++)
        print_parameter(facts, entry, i);
    if (accesses->of_variables && !accesses->why)
        printf("  variables of the module: %s\n", name_of(accesses->of_variables));
    print_fact("  inside an island: ", &entry->island);
}

static enum exit_status print_all(const char *path, const struct text_facts *facts)
{
    char *file = message_one_line(json_file_name(path));
    const struct ptx *ptx = &facts->code.ptx;
    if (!file)
        return fail(EXIT_FAILED, "out of memory for a name");
    printf("%s: PTX %.*s for %.*s, %" PRIu32 " kernel%s, %" PRIu32 " proven\n", file,
           (int)ptx->version.length, ptx->version.at, (int)ptx->target.length, ptx->target.at,
           facts->num_entries, output_plural(facts->num_entries), facts->num_proven);
    print_fact("early start: ", &facts->early);
    print_fact("prefetch: ", &facts->prefetch);
    for (uint32_t i = 0; i < facts->num_entries; i++)
        print_entry(file, facts, &facts->entries[i]);
    free(file);
    return EXIT_DONE;
}

static enum exit_status show(const struct options *options, const char *path, const char *text)
{
    struct text_facts facts;
    enum exit_status status = kernel_facts_read(json_file_name(path), text, &facts);
    if (status != EXIT_DONE)
        return status;
    if (!output_is_stdout(options->json))
        status = print_all(path, &facts);
    if (status == EXIT_DONE && options->json)
        status = kernel_json_write(options->json, path, &facts);
    kernel_facts_finish(&facts);
    return status;
}

enum exit_status command_kernel(int argc, char **argv)
{
    static const struct argument known_options[] = { ARGUMENT_TEXT("json", struct options, json),
                                                     { .name = NULL } };
    struct options options = { 0 };
    const char *path;
    char *text = NULL;
    bool is_help;
    enum exit_status status =
        arguments_read("kernel", help, argc, argv, known_options, &options, &is_help);
    if (status != EXIT_DONE || is_help)
        return status;
    if (optind == argc)
        return fail(EXIT_BAD_FILE, "which file? braid kernel FILE.ptx, or '-' for standard input");
    status = argument_read_file("kernel", argc, argv, optind, &path);
    if (status == EXIT_DONE)
        status = kernel_file_read(path, &text);
    if (status == EXIT_DONE)
        status = show(&options, path, text);
    free(text);
    return status;
}
