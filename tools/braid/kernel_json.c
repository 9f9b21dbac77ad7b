// SPDX-License-Identifier: Apache-2.0
// What is known of kernels, as JSON.
#include "kernel_json.h"

#include <ctype.h>
#include <string.h>

#include "json_file.h"
#include "output.h"
#include "plan_json.h"

void kernel_write_instruction(const char *at, char buffer[KERNEL_INSTRUCTION_BYTES])
{
    size_t num = 0;
    for (; *at && *at != ';' && num + 4 < KERNEL_INSTRUCTION_BYTES; at++) {
        const bool is_space = isspace((unsigned char)*at);
        if (is_space && num && buffer[num - 1] == ' ')
            continue;
        buffer[num++] = is_space ? ' ' : (char)(*at > ' ' && *at <= '~' ? *at : '?');
    }
    if (*at && *at != ';') {
        memcpy(buffer + num, "...", 3);
        num += 3;
    }
    buffer[num] = '\0';
}

// A number, or null.
static json_t *line_of(const struct text_facts *facts, const char *at)
{
    return at ? json_integer(braid_ptx_line(facts->text, at)) : json_null();
}

static json_t *word_to_json(struct ptx_word word)
{
    return json_stringn(word.at, word.length);
}

static json_t *access_to_json(const struct text_facts *facts, const struct kernel_access *access)
{
    const bool is_anywhere = source_is_anywhere(access->offset);
    return json_pack(
        "{s:o, s:b, s:b, s:b, s:o, s:o}", "offset",
        is_anywhere ? json_null() : json_integer(access->offset), "reads",
        (access->acts & ACCESSES_READS) != 0, "writes", (access->acts & ACCESSES_WRITES) != 0,
        "atomic", (access->acts & ACCESSES_UPDATES) != 0, "read_line",
        line_of(facts, access->read_at), "write_line", line_of(facts, access->written_at));
}

static json_t *parameter_to_json(const struct text_facts *facts, const struct entry_facts *entry,
                                 uint32_t index)
{
    const struct code_parameter *parameters = entry->accesses.parameters.items;
    const struct kernel_access *items = entry->accesses.items.items;
    json_t *accesses = json_array();
    for (size_t i = 0; i < entry->accesses.items.num && !entry->accesses.why; i++) {
        if (items[i].parameter == index)
            json_array_append_new(accesses, access_to_json(facts, &items[i]));
    }
    return json_pack("{s:o, s:I, s:o}", "name", word_to_json(parameters[index].name), "bytes",
                     (json_int_t)parameters[index].bytes, "accesses", accesses);
}

static json_t *reason_of(const struct kernel_fact *fact)
{
    return plan_json_text(fact->holds ? "" : fact->reason.text);
}

static json_t *not_proven_to_json(const struct text_facts *facts,
                                  const struct kernel_accesses *accesses)
{
    char instruction[KERNEL_INSTRUCTION_BYTES];
    if (!accesses->why)
        return json_null();
    kernel_write_instruction(accesses->at, instruction);
    return json_pack("{s:o, s:s, s:s}", "line", line_of(facts, accesses->at), "instruction",
                     instruction, "why", accesses->why);
}

static json_t *entry_to_json(const struct text_facts *facts, const struct entry_facts *entry)
{
    const unsigned acts = entry->accesses.of_variables;
    json_t *parameters = json_array();
    for (uint32_t i = 0; i < entry->accesses.parameters.num; i++)
        json_array_append_new(parameters, parameter_to_json(facts, entry, i));
    return json_pack("{s:o, s:o, s:b, s:o, s:o, s:b, s:b, s:b, s:o}", "name",
                     word_to_json(entry->function->name), "line",
                     line_of(facts, entry->function->begin), "proven", !entry->accesses.why,
                     "not_proven", not_proven_to_json(facts, &entry->accesses), "parameters",
                     parameters, "reads_variables", (acts & ACCESSES_READS) != 0,
                     "writes_variables", (acts & ACCESSES_WRITES) != 0, "island",
                     entry->island.holds, "island_reason", reason_of(&entry->island));
}

enum exit_status kernel_json_write(const char *path, const char *file,
                                   const struct text_facts *facts)
{
    const struct ptx *ptx = &facts->code.ptx;
    json_t *json = output_start_json("kernels"), *kernels = json_array();
    for (uint32_t i = 0; i < facts->num_entries; i++)
        json_array_append_new(kernels, entry_to_json(facts, &facts->entries[i]));
    json_t *rest = json_pack(
        "{s:o, s:o, s:o, s:b, s:o, s:b, s:o, s:o}", "file", plan_json_text(json_file_name(file)),
        "version", word_to_json(ptx->version), "target", word_to_json(ptx->target), "early_start",
        facts->early.holds, "early_start_reason", reason_of(&facts->early), "prefetch",
        facts->prefetch.holds, "prefetch_reason", reason_of(&facts->prefetch), "kernels", kernels);
    enum exit_status status = EXIT_FAILED;
    if (json && rest && json_object_update(json, rest) == 0)
        status = output_write_json(path, json);
    else
        status = fail(EXIT_FAILED, "out of memory for the kernels of %s", json_file_name(file));
    json_decref(rest);
    json_decref(json);
    return status;
}
