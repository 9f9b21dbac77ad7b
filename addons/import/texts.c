// SPDX-License-Identifier: Apache-2.0
// The facts of captured functions. A function may have several texts: its accesses are
// those of all that have an entry of its name, with parameters of the same sizes.
#include "import/texts.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/host_memory.h"

// A record's modules keep their texts.
struct module_text {
    const char *ptx;
    struct code_text *text;
};

struct texts {
    const struct captured_graph *captured;
    const braid_import_options *options;
    struct array opened;     // struct code_text *: of the program's texts and files
    struct array files;      // char *: their contents
    struct array of_modules; // struct module_text: of a record
};

static braid_status no_memory(void)
{
    return braid_error_no_memory("texts of kernels");
}

// ---- opening ----

static braid_status open_text(struct texts *texts, const char *ptx)
{
    struct code_text *text;
    if (!ptx)
        return braid_error_invalid("braid_import_create: a text is NULL");
    if (!braid_array_reserve(&texts->opened, 1, sizeof(struct code_text *)))
        return no_memory();
    braid_status status = braid_graph_code->open_text(ptx, &text);
    return status || braid_array_put(&texts->opened, &text, sizeof(text)) ? status : no_memory();
}

static braid_status read_bytes(FILE *file, const char *path, struct array *bytes)
{
    enum { PIECE = 1 << 16 };
    size_t num;
    do {
        if (!braid_array_reserve(bytes, PIECE, 1))
            return no_memory();
        num = fread((char *)bytes->items + bytes->num, 1, PIECE, file);
        bytes->num += num;
    } while (num > 0);
    if (ferror(file))
        return braid_error(BRAID_IO_ERROR, "cannot read '%s': %s", path, strerror(errno));
    return braid_array_put(bytes, "", 1) ? BRAID_OK : no_memory();
}

static braid_status open_file(struct texts *texts, const char *path)
{
    struct array bytes = { 0 };
    if (!path)
        return braid_error_invalid("braid_import_create: a file is NULL");
    FILE *file = fopen(path, "re");
    if (!file)
        return braid_error(BRAID_IO_ERROR, "cannot open '%s': %s", path, strerror(errno));
    braid_status status = read_bytes(file, path, &bytes);
    (void)fclose(file);
    if (!status && !braid_array_put(&texts->files, &bytes.items, sizeof(char *)))
        status = no_memory();
    if (status)
        braid_array_finish(&bytes);
    return status ? status : open_text(texts, bytes.items);
}

static void close_all(struct texts *texts)
{
    for (size_t i = 0; i < texts->opened.num; i++)
        braid_graph_code->close_text(((struct code_text **)texts->opened.items)[i]);
    for (size_t i = 0; i < texts->files.num; i++)
        braid_free(((char **)texts->files.items)[i]);
    for (size_t i = 0; i < texts->of_modules.num; i++)
        braid_graph_code->close_text(((struct module_text *)texts->of_modules.items)[i].text);
    braid_array_finish(&texts->of_modules);
    braid_array_finish(&texts->opened);
    braid_array_finish(&texts->files);
}

// ---- joining ----

static void refuse(struct import_code *code, const char *why, uint32_t line)
{
    if (code->why[0])
        return;
    snprintf(code->why, sizeof(code->why), "%s", why);
    code->line = line;
}

static bool fits(const struct texts *texts, const struct captured_function *function,
                 const struct code_facts *facts)
{
    const struct captured_param *params = captured_params_of(texts->captured, function);
    if (facts->parameters.num != function->num_params)
        return false;
    for (uint32_t i = 0; i < function->num_params; i++) {
        if (((const uint32_t *)facts->parameters.items)[i] != params[i].bytes)
            return false;
    }
    return true;
}

static braid_status join(const struct code_facts *facts, struct import_code *code)
{
    if (facts->why[0] && (!code->why[0] || code->is_lost))
        code->is_lost = facts->is_lost;
    if (facts->why[0])
        refuse(code, facts->why, facts->line);
    else if (!code->loads_line)
        code->loads_line = facts->line;
    code->calls_out |= facts->calls_out;
    code->reads_variables |= facts->reads_variables;
    code->writes_variables |= facts->writes_variables;
    const uint32_t num_before = (uint32_t)code->addresses.num;
    const size_t num = facts->addresses.num, num_names = facts->variables.num;
    struct code_address *to = num ? braid_array_append(&code->addresses, num, sizeof(*to)) : NULL;
    char *names = num_names ? braid_array_append(&code->variables, num_names, 1) : NULL;
    if ((num && !to) || (num_names && !names))
        return no_memory();
    if (num)
        memcpy(to, facts->addresses.items, num * sizeof(*to));
    for (size_t i = 0; i < num; i++)
        to[i].through += to[i].through ? num_before : 0;
    if (num_names)
        memcpy(names, facts->variables.items, num_names);
    return BRAID_OK;
}

static braid_status take_text(const struct texts *texts, const struct captured_function *function,
                              struct code_text *text, struct import_code *code)
{
    struct code_facts facts = { 0 };
    braid_status status = braid_graph_code->read_entry(text, function->name, &facts);
    const bool is_unknown = facts.why[0] && !facts.parameters.num; // nobody knows its parameters
    if (!status && facts.has_entry && (is_unknown || fits(texts, function, &facts))) {
        code->num_texts++;
        status = join(&facts, code);
    }
    braid_code_facts_finish(&facts);
    return status;
}

static braid_status ask_program(const struct texts *texts, const struct captured_function *function,
                                struct import_code *code)
{
    braid_status status = BRAID_OK;
    const char *ptx;
    for (size_t i = 0; !status && texts->options->find_text &&
                       (ptx = texts->options->find_text(function->name, i, texts->options->user));
         i++) {
        struct code_text *text;
        status = braid_graph_code->open_text(ptx, &text);
        if (status)
            break;
        status = take_text(texts, function, text, code);
        braid_graph_code->close_text(text);
    }
    return status;
}

// Opens each text once.
static braid_status find_module(struct texts *texts, const char *ptx, struct code_text **out_text)
{
    const struct module_text *known = texts->of_modules.items;
    struct module_text added = { .ptx = ptx };
    for (size_t i = 0; i < texts->of_modules.num; i++) {
        *out_text = known[i].text;
        if (known[i].ptx == ptx)
            return BRAID_OK;
    }
    if (!braid_array_reserve(&texts->of_modules, 1, sizeof(added)))
        return no_memory();
    const braid_status status = braid_graph_code->open_text(ptx, &added.text);
    *out_text = added.text;
    if (!status)
        (void)braid_array_put(&texts->of_modules, &added, sizeof(added));
    return status;
}

// The text of its own module tells all.
static braid_status ask_module(struct texts *texts, const struct captured_function *function,
                               struct import_code *code)
{
    struct code_text *text = NULL;
    const braid_status status = find_module(texts, function->text, &text);
    return status ? status : take_text(texts, function, text, code);
}

static braid_status read_function(struct texts *texts, const struct captured_function *function,
                                  struct import_code *code)
{
    const size_t num = texts->opened.num, first = num - texts->options->num_reloaded;
    braid_status status = BRAID_OK;
    if (function->why)
        refuse(code, function->why, 0);
    else if (function->text)
        status = ask_module(texts, function, code);
    if (status || function->why || code->num_texts)
        return status;
    for (size_t i = 0; i < num && !status; i++) {
        const size_t before = code->num_texts;
        status = take_text(texts, function, ((struct code_text **)texts->opened.items)[i], code);
        if (i >= first && code->num_texts > before)
            code->reloaded = i - first + 1;
    }
    if (!status)
        status = ask_program(texts, function, code);
    if (!code->num_texts)
        refuse(code, "no text has it, with parameters of these sizes", 0);
    return status;
}

static braid_status open_all(struct texts *texts)
{
    const braid_import_options *options = texts->options;
    braid_status status = BRAID_OK;
    for (size_t i = 0; i < options->num_texts && !status; i++)
        status = open_text(texts, options->texts[i]);
    for (size_t i = 0; i < options->num_files && !status; i++)
        status = open_file(texts, options->files[i]);
    for (size_t i = 0; i < options->num_reloaded && !status; i++)
        status = open_text(texts, options->reloaded[i]);
    return status;
}

static braid_status read_functions(const struct captured_graph *captured,
                                   const braid_import_options *options, struct import_code *code)
{
    struct texts texts = { .captured = captured, .options = options };
    braid_status status = open_all(&texts);
    const struct captured_function *functions = captured->functions.items;
    for (size_t i = 0; i < captured->functions.num && !status; i++)
        status = read_function(&texts, &functions[i], &code[i]);
    close_all(&texts);
    return status;
}

braid_status braid_import_read_code(const struct captured_graph *captured,
                                    const braid_import_options *options,
                                    struct import_code **out_code)
{
    const size_t num = captured->functions.num;
    struct import_code *code = braid_allocate_zeroed(num, sizeof(*code));
    if (!code)
        return no_memory();
    braid_status status = BRAID_OK;
    if (braid_graph_code)
        status = read_functions(captured, options, code);
    for (size_t i = 0; i < num && !braid_graph_code; i++)
        refuse(&code[i], "this Braid was built without the add-on 'accesses'", 0);
    if (status)
        braid_import_code_finish(code, num);
    else
        *out_code = code;
    return status;
}

void braid_import_code_finish(struct import_code *code, size_t num)
{
    for (size_t i = 0; i < num && code; i++) {
        braid_array_finish(&code[i].addresses);
        braid_array_finish(&code[i].variables);
    }
    braid_free(code);
}
