// SPDX-License-Identifier: Apache-2.0
// Whether a text may be loaded in place of the program's function. The new module has variables of
// its own, so nothing may depend on them.
#include "import/reload.h"

#include <string.h>

#include "base/error.h"
#include "base/host_memory.h"

struct reload_text {
    char *made;      // to load; NULL: it is not looked at yet, or cannot be loaded
    const char *why; // it cannot
};

struct chooser {
    const struct captured_graph *captured;
    const struct import_code *code;
    const braid_import_options *options;
    int newest;
    struct import_reloads *reloads;
};

static braid_status no_memory(void)
{
    return braid_error_no_memory("texts of an imported graph");
}

// ---- texts ----

// Compilers give these names to strings, and to tables of their mathematics. No program can write
// them, since it has no symbol for them.
static bool is_constant(const struct ptx_declaration *declaration)
{
    static const char *const names[] = { "$str", "__unnamed_", "__cudart_i2opi_",
                                         "__cudart_sin_cos_coeffs" };
    const char *at = declaration->begin;
    bool is_named = false, has_content = false;
    for (struct ptx_word word = braid_ptx_next_word(&at); word.length && word.at < declaration->end;
         word = braid_ptx_next_word(&at)) {
        for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
            is_named |= !has_content && braid_ptx_word_begins(word, names[i]);
        has_content |= *word.at == '=';
    }
    return is_named && has_content && !declaration->is_extern;
}

static bool is_within(struct ptx_word word, const char *end)
{
    return word.length && word.at < end;
}

// Names of variables that hold more than constants, and other words of their declarations. Shared
// memory is each block's own.
static bool list_variables(const struct ptx *ptx, struct array *names)
{
    for (size_t i = 0; i < ptx->declarations.num; i++) {
        const struct ptx_declaration *declaration = &ptx_declarations(ptx)[i];
        const char *at = declaration->begin;
        if (braid_ptx_word_is(declaration->space, ".shared") || is_constant(declaration))
            continue;
        for (struct ptx_word word = braid_ptx_next_word(&at); is_within(word, declaration->end);
             word = braid_ptx_next_word(&at)) {
            if (braid_ptx_is_name(word) && !braid_array_put(names, &word, sizeof(word)))
                return false;
        }
    }
    return true;
}

static bool has_any(const char *at, const char *end, const struct array *names)
{
    const struct ptx_word *all = names->items;
    for (struct ptx_word word = braid_ptx_next_word(&at); is_within(word, end);
         word = braid_ptx_next_word(&at)) {
        for (size_t i = 0; i < names->num && *word.at != '%' && *word.at != '.'; i++) {
            if (ptx_same_word(word, all[i]))
                return true;
        }
    }
    return false;
}

// A function reaches a variable by its name, or by that of another one whose content has its
// address. Headers bring many that no code uses.
static const char *find_variable(const struct ptx *ptx, const struct array *names)
{
    const struct ptx_function *functions = ptx_functions(ptx);
    const struct ptx_statement *statements = ptx->statements.items;
    bool is_found = false;
    for (size_t i = 0; i < ptx->functions.num && names->num && !is_found; i++)
        is_found = has_any(functions[i].begin, functions[i].end, names);
    for (size_t i = 0; i < ptx->statements.num && !is_found; i++)
        is_found = statements[i].kind == PTX_DIRECTIVE &&
                   (braid_ptx_word_is(statements[i].word, ".global") ||
                    braid_ptx_word_is(statements[i].word, ".const"));
    if (is_found)
        return "its text uses variables of its module";
    return ptx->facts & PTX_TEXTURE ? "its module uses textures or surfaces" : NULL;
}

// Errors: BRAID_NO_MEMORY.
static braid_status make_text(const struct chooser *chooser, const char *given,
                              const struct ptx *ptx, struct reload_text *text)
{
    struct array names = { 0 };
    const bool is_listed = list_variables(ptx, &names);
    if (is_listed)
        text->why = find_variable(ptx, &names);
    if (is_listed && !text->why)
        text->made = braid_import_lower(given, ptx, chooser->newest, &text->why);
    braid_array_finish(&names);
    return text->made || text->why ? BRAID_OK : no_memory();
}

static braid_status look_at(const struct chooser *chooser, size_t index)
{
    struct reload_text *text = &chooser->reloads->texts[index];
    const char *given = chooser->options->reloaded[index];
    struct ptx_reason reason;
    struct ptx ptx;
    if (text->made || text->why)
        return BRAID_OK;
    if (!braid_ptx_read(given, &ptx, &reason)) {
        text->why = *reason.text ? "Braid does not understand its text" : NULL;
        return text->why ? BRAID_OK : no_memory();
    }
    braid_status status = make_text(chooser, given, &ptx, text);
    braid_ptx_finish(&ptx);
    return status;
}

// ---- functions ----

// Braid does not change a kernel whose blocks rely on each other.
static const char *find_launch(const struct captured_graph *captured, uint32_t function)
{
    const struct captured_node *nodes = captured_nodes(captured);
    for (size_t i = 0; i < captured->nodes.num; i++) {
        if (nodes[i].type != GPU_NODE_KERNEL || nodes[i].kernel.function != function)
            continue;
        if (nodes[i].kernel.cluster[0])
            return "it is launched in clusters";
        if (nodes[i].kernel.cooperative)
            return "it is launched cooperatively";
    }
    return NULL;
}

// Two of one text would be one function when loaded, with the attributes of either.
static bool is_alone(const struct chooser *chooser, size_t index)
{
    const struct captured_function *functions = chooser->captured->functions.items;
    for (size_t i = 0; i < chooser->captured->functions.num; i++) {
        if (i != index && chooser->code[i].reloaded == chooser->code[index].reloaded &&
            strcmp(functions[i].name, functions[index].name) == 0)
            return false;
    }
    return true;
}

static braid_status choose(const struct chooser *chooser, uint32_t index)
{
    const struct import_code *code = &chooser->code[index];
    struct import_reload *reload = &chooser->reloads->functions[index];
    braid_status status = BRAID_OK;
    if (!code->reloaded)
        reload->why = "no text that may be loaded has it, with parameters of these sizes";
    else if (code->num_texts > 1)
        reload->why = "several texts have it";
    else if (!is_alone(chooser, index))
        reload->why = "the program has loaded its text more than once";
    else
        reload->why = find_launch(chooser->captured, index);
    if (!reload->why)
        status = look_at(chooser, code->reloaded - 1);
    if (status || reload->why)
        return status;
    reload->text = chooser->reloads->texts[code->reloaded - 1].made;
    reload->why = chooser->reloads->texts[code->reloaded - 1].why;
    return BRAID_OK;
}

braid_status braid_import_choose_reloads(const struct captured_graph *captured,
                                         const braid_import_options *options,
                                         const struct import_code *code, int newest,
                                         struct import_reloads *out_reloads)
{
    const struct chooser chooser = { captured, code, options, newest, out_reloads };
    const size_t num = captured->functions.num;
    braid_status status = BRAID_OK;
    if (!options->num_reloaded)
        return BRAID_OK;
    out_reloads->num_texts = options->num_reloaded;
    out_reloads->texts = braid_allocate_zeroed(options->num_reloaded, sizeof(*out_reloads->texts));
    out_reloads->functions = braid_allocate_zeroed(num, sizeof(*out_reloads->functions));
    if (!out_reloads->texts || !out_reloads->functions)
        return no_memory();
    for (uint32_t i = 0; i < num && !status; i++)
        status = choose(&chooser, i);
    return status;
}

void braid_import_reloads_finish(struct import_reloads *reloads)
{
    for (size_t i = 0; i < reloads->num_texts && reloads->texts; i++)
        braid_free(reloads->texts[i].made);
    braid_free(reloads->texts);
    braid_free(reloads->functions);
}
