// SPDX-License-Identifier: Apache-2.0
// The words of loops and branches of a recorded frame. The code of the kernels that hand them to
// conditional nodes tells where they are.
//
// Such a kernel has the handle of the program's graph, so that no other graph can run it. A loop of
// Braid reads the word itself.
#include "import/conditions.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/host_memory.h"
#include "import/cells.h"
#include "import/setters.h"
#include "ptx/ptx_words.h"

enum { WORD = 8, WORD_BYTES = 4, WHY_BYTES = 240 };

struct reader {
    struct import_memory *memory;
    struct captured_graph *captured;
    struct import_code *code; // by function
    struct setter *setters;   // by function
    bool *is_setter;          // by function: its code is understood
    const char **why;         // by function: it sets a condition in another way; NULL
    braid_import_conditional *told;
    uint32_t num_told;
};

static braid_status no_memory(void)
{
    return braid_error_no_memory("the conditions of a recorded frame");
}

static struct captured_node *node_at(const struct captured_graph *captured, uint32_t index)
{
    return (struct captured_node *)captured->nodes.items + index;
}

// The nodes of a launch stand one behind another.
struct launch {
    uint32_t first, end;
};

static struct launch launch_of(const struct captured_graph *captured,
                               const struct captured_node *of)
{
    const uint32_t num = (uint32_t)captured->nodes.num;
    struct launch launch = { (uint32_t)(of - captured_nodes(captured)), 0 };
    launch.end = launch.first + 1;
    while (launch.first > 0 && node_at(captured, launch.first - 1)->operation == of->operation)
        launch.first--;
    while (launch.end < num && node_at(captured, launch.end)->operation == of->operation)
        launch.end++;
    return launch;
}

__attribute__((format(printf, 2, 3))) static const char *tell(struct captured_graph *captured,
                                                              const char *format, ...)
{
    char *text = braid_store_take(&captured->store, WHY_BYTES, 1);
    va_list args;
    va_start(args, format);
    if (text)
        vsnprintf(text, WHY_BYTES, format, args);
    va_end(args);
    return text;
}

// ---- code ----

// A name may begin another one.
static bool has_entry(const char *text, const char *name)
{
    static const char mark[] = ".entry";
    bool has = false;
    while (!has && (text = strstr(text, mark))) {
        text += sizeof(mark) - 1;
        has = braid_ptx_word_is(braid_ptx_next_word(&text), name);
    }
    return has;
}

static const char *text_of(const struct reader *reader, const struct captured_function *function)
{
    const braid_import_options *options = reader->memory->options;
    const char *text = function->text;
    for (size_t i = 0; i < options->num_texts && !text; i++)
        text = has_entry(options->texts[i], function->name) ? options->texts[i] : NULL;
    return text ? text : braid_import_known_setter(function->name);
}

static bool has_bytes(const struct captured_param *params, const struct setter *setter)
{
    return params[setter->handle].bytes == WORD &&
           params[setter->word].bytes >= (uint64_t)setter->offset + WORD;
}

// The accesses of such a kernel are those of its loads. Its text ends in a call that no text has.
static braid_status put_addresses(const struct setter *setter, struct import_code *code)
{
    struct code_address address = { .parameter = setter->word,
                                    .offset = setter->offset,
                                    .bytes = WORD,
                                    .step = WORD,
                                    .reads = true,
                                    .is_above = true };
    braid_array_finish(&code->addresses);
    code->why[0] = '\0';
    code->loads_line = setter->num_loads ? 1 : 0;
    code->num_texts += code->num_texts == 0;
    for (uint32_t i = 0; i <= setter->num_loads; i++) {
        const bool is_last = i == setter->num_loads;
        address.from = is_last ? setter->at : setter->loads[i];
        address.touched = is_last ? WORD_BYTES : WORD;
        if (!braid_array_put(&code->addresses, &address, sizeof(address)))
            return no_memory();
        address.parameter = 0;
        address.through = i + 1;
        address.offset = is_last ? 0 : setter->loads[i];
    }
    return BRAID_OK;
}

static braid_status read_function(struct reader *reader, uint32_t index)
{
    const struct captured_function *function =
        (const struct captured_function *)reader->captured->functions.items + index;
    const char *text = text_of(reader, function);
    struct setter *setter = &reader->setters[index];
    char why[160];
    bool calls;
    if (!text || function->why || !strstr(text, "SetConditional"))
        return BRAID_OK;
    bool is_read = braid_import_read_setter(text, function->name, setter, &calls, why, sizeof(why));
    if (!is_read && !why[0])
        return no_memory();
    if (is_read &&
        (function->num_params <= setter->handle || function->num_params <= setter->word ||
         !has_bytes(captured_params_of(reader->captured, function), setter))) {
        is_read = false;
        snprintf(why, sizeof(why), "its parameters are not those of its text");
    }
    reader->is_setter[index] = is_read;
    if (is_read)
        return put_addresses(setter, &reader->code[index]);
    if (calls)
        reader->why[index] = tell(reader->captured, "kernel '%.60s' sets a condition, and %.120s",
                                  function->name, why);
    return calls && !reader->why[index] ? no_memory() : BRAID_OK;
}

static void mark_setters(const struct reader *reader)
{
    for (uint32_t i = 0; i < reader->captured->nodes.num; i++) {
        struct captured_node *node = node_at(reader->captured, i);
        if (node->type != GPU_NODE_KERNEL || !reader->is_setter[node->kernel.function])
            continue;
        node->is_setter = node->is_understood = true;
        memcpy(&node->set_handle,
               braid_captured_argument(reader->captured, node,
                                       reader->setters[node->kernel.function].handle),
               sizeof(node->set_handle));
    }
}

// ---- words ----

// *out_why: nobody knows the word. A constant pointer has one value.
static braid_status read_word(const struct reader *reader, uint32_t index, const char **out_why)
{
    struct captured_node *node = node_at(reader->captured, index);
    const struct array *addresses = &reader->code[node->kernel.function].addresses;
    struct import_pointers pointers;
    if (addresses->num > 1 && !reader->memory->options->follows_pointers) {
        *out_why = "the kernel that sets it finds its word by a pointer in memory, and "
                   ".follows_pointers is not set";
        return BRAID_OK;
    }
    braid_status status = braid_import_read_cells(reader->memory, index, addresses,
                                                  (uint32_t)addresses->num - 1, &pointers);
    if (status)
        return status;
    *out_why = pointers.why ? pointers.why
               : pointers.is_closed || pointers.values.num != 1
                   ? "the kernel that sets it finds its word by pointers that nobody knows"
                   : NULL;
    if (!*out_why)
        node->set_word =
            *(const uint64_t *)pointers.values.items + reader->setters[node->kernel.function].at;
    if (!*out_why && node->set_word % WORD_BYTES)
        *out_why = "its word is at no multiple of 4 bytes";
    braid_import_pointers_finish(&pointers);
    return status;
}

static bool sets(const struct captured_node *setter, const struct captured_node *node)
{
    return setter->is_understood && setter->operation == node->operation &&
           setter->set_handle == node->recorded->condition_handle;
}

// A kernel of the launch that sets a condition in a way which is not understood.
static const char *find_odd(const struct reader *reader, const struct captured_node *node)
{
    const struct launch launch = launch_of(reader->captured, node);
    const char *why = NULL;
    for (uint32_t i = launch.first; i < launch.end && !why; i++) {
        const struct captured_node *other = node_at(reader->captured, i);
        if (other->type == GPU_NODE_KERNEL)
            why = reader->why[other->kernel.function];
    }
    return why;
}

// Whether a loop may run the node several times in a launch.
static bool is_in_loop(const struct captured_graph *captured, const struct captured_node *node)
{
    const struct import_region *regions = captured_regions(captured);
    bool is_inside = false;
    for (uint32_t owner = regions[node->region].owner; owner != IMPORT_NONE && !is_inside;
         owner = regions[node_at(captured, owner)->region].owner)
        is_inside = node_at(captured, owner)->conditional.is_loop;
    return is_inside;
}

static const char *judge(const struct reader *reader, const struct captured_node *node,
                         bool has_first, uint32_t setter)
{
    const braid_record_work *work = node->recorded;
    const char *odd = find_odd(reader, node);
    if (odd)
        return odd;
    if (work->condition == BRAID_RECORD_SWITCH)
        return "Braid has no switch";
    if (work->num_bodies != 1)
        return "it has no body, or several";
    if (setter == IMPORT_NONE)
        return "no kernel whose code is known sets its handle";
    if (!has_first && !work->has_first_value)
        return "no kernel sets its handle before it, and the record does not have the value that a "
               "launch gives it";
    if (!has_first && (!work->first_value || work->condition != BRAID_RECORD_WHILE))
        return "no kernel sets its handle before it, and each launch gives it the same value";
    if (!has_first && is_in_loop(reader->captured, node))
        return "no kernel sets its handle before it, and it stands in a loop, of which a launch "
               "gives the first iteration alone a value";
    return NULL;
}

static braid_status read_conditional(struct reader *reader, uint32_t index)
{
    struct captured_node *node = node_at(reader->captured, index);
    struct captured_conditional *conditional = &node->conditional;
    const struct launch launch = launch_of(reader->captured, node);
    bool has_first = false;
    braid_status status = BRAID_OK;
    conditional->setter = IMPORT_NONE;
    for (uint32_t i = launch.first; i < launch.end && !status; i++) {
        const struct captured_node *setter = node_at(reader->captured, i);
        if (!sets(setter, node))
            continue;
        has_first = has_first || setter->region == node->region;
        if (conditional->setter == IMPORT_NONE)
            conditional->setter = i;
        if (!conditional->why)
            status = read_word(reader, i, &conditional->why);
    }
    if (status || conditional->why)
        return status;
    conditional->why = judge(reader, node, has_first, conditional->setter);
    if (conditional->why)
        return BRAID_OK;
    conditional->runs_first = !has_first;
    conditional->word = node_at(reader->captured, conditional->setter)->set_word;
    reader->told[reader->num_told] = (braid_import_conditional){
        .node = node,
        .kind = conditional->is_loop ? BRAID_IMPORT_WHILE : BRAID_IMPORT_IF,
        .handle = node->recorded->condition_handle,
        .condition = (const void *)(uintptr_t)conditional->word, // NOLINT
    };
    conditional->told = &reader->told[reader->num_told++];
    return BRAID_OK;
}

static uint32_t count_conditionals(const struct captured_graph *captured)
{
    uint32_t num = 0;
    for (uint32_t i = 0; i < captured->nodes.num; i++)
        num += node_at(captured, i)->type == GPU_NODE_CONDITIONAL;
    return num;
}

braid_status braid_import_read_conditions(struct import_memory *memory,
                                          struct captured_graph *captured, struct import_code *code)
{
    struct reader reader = { .memory = memory, .captured = captured, .code = code };
    struct store store = { 0 };
    const uint32_t num = count_conditionals(captured);
    const size_t num_functions = captured->functions.num;
    if (!num)
        return BRAID_OK;
    reader.setters = braid_store_take(&store, num_functions, sizeof(*reader.setters));
    reader.is_setter = braid_store_take(&store, num_functions, sizeof(*reader.is_setter));
    reader.why = braid_store_take(&store, num_functions, sizeof(*reader.why));
    reader.told = braid_store_take(&captured->store, num, sizeof(*reader.told));
    braid_status status = store.failed || !reader.told ? no_memory() : BRAID_OK;
    for (uint32_t i = 0; i < num_functions && !status; i++)
        status = read_function(&reader, i);
    if (!status)
        mark_setters(&reader);
    for (uint32_t i = 0; i < captured->nodes.num && !status; i++) {
        if (node_at(captured, i)->type == GPU_NODE_CONDITIONAL)
            status = read_conditional(&reader, i);
    }
    braid_store_finish(&store);
    return status;
}

// ---- accesses ----

static const struct import_reason *find_reason(const struct import_uses *uses, uint32_t node)
{
    const struct import_reason *all = uses->reasons.items;
    for (size_t i = 0; i < uses->reasons.num; i++) {
        if (all[i].node == node)
            return &all[i];
    }
    return NULL;
}

static bool is_used(const struct captured_graph *captured, const struct captured_node *setter)
{
    const struct launch launch = launch_of(captured, setter);
    bool is_used = false;
    for (uint32_t i = launch.first; i < launch.end && !is_used; i++) {
        const struct captured_node *node = node_at(captured, i);
        is_used = node->type == GPU_NODE_CONDITIONAL && sets(setter, node);
    }
    return is_used;
}

// The first loop or branch with a reason tells it for all.
static const char *find_why(struct captured_graph *captured, const struct import_uses *uses)
{
    const char *why = NULL;
    for (uint32_t i = 0; i < captured->nodes.num && !why && !captured->store.failed; i++) {
        const struct captured_node *node = node_at(captured, i);
        const struct import_reason *reason = node->is_understood ? find_reason(uses, i) : NULL;
        if (node->type == GPU_NODE_CONDITIONAL)
            why = node->conditional.why;
        else if (reason)
            why = tell(captured, "node %s, which sets a condition, is not proven: %.160s",
                       node->place, reason->text);
        else if (node->is_understood && !is_used(captured, node))
            why = tell(captured, "node %s sets the condition of another launch", node->place);
    }
    return why;
}

static void refuse_all(struct captured_graph *captured, const char *why)
{
    for (uint32_t i = 0; i < captured->nodes.num; i++) {
        struct captured_node *node = node_at(captured, i);
        if (node->type == GPU_NODE_CONDITIONAL && !node->conditional.why)
            node->conditional.why = why;
    }
}

static bool has_word(const struct import_memory *memory, const struct import_access *access,
                     uint64_t word)
{
    if (access->buffer < USE_FIRST_BUFFER)
        return false;
    const struct import_buffer *of = &import_buffers(memory)[access->buffer - USE_FIRST_BUFFER];
    return of->is_part && word - of->begin < of->bytes &&
           WORD_BYTES <= of->bytes - (word - of->begin);
}

// The word is the first access of the node. *out_has_word: it is there.
static bool put_word(const struct import_memory *memory, const struct import_uses *uses,
                     const struct captured_node *node, uint32_t index, struct array *accesses,
                     bool *out_has_word)
{
    const struct import_access *all = uses->accesses.items;
    const uint32_t setter = node->conditional.setter;
    const size_t first = braid_array_find(&uses->accesses, setter, sizeof(*all));
    bool is_done = true;
    *out_has_word = false;
    for (int turn = 0; turn < 2; turn++) {
        for (size_t i = first; i < uses->accesses.num && all[i].node == setter && is_done; i++) {
            struct import_access access = all[i];
            const bool is_word = has_word(memory, &access, node->conditional.word);
            if (access.buffer == USE_CONDITIONS || is_word != (turn == 0))
                continue;
            access.node = index;
            *out_has_word = *out_has_word || is_word;
            is_done = braid_array_put(accesses, &access, sizeof(access));
        }
    }
    return is_done;
}

// Gives each conditional node the accesses of a setter, before its own.
static braid_status put_words(const struct import_memory *memory, struct captured_graph *captured,
                              struct import_uses *uses, const char **out_why)
{
    const struct import_access *all = uses->accesses.items;
    struct array accesses = { 0 };
    size_t next = 0;
    bool is_done = true, has_word = true;
    for (uint32_t i = 0; i < captured->nodes.num && is_done; i++) {
        const struct captured_node *node = node_at(captured, i);
        if (node->type == GPU_NODE_CONDITIONAL)
            is_done = put_word(memory, uses, node, i, &accesses, &has_word);
        if (!has_word && !*out_why)
            *out_why = tell(captured, "nodes touch single bytes of its word, or it is in no memory "
                                      "of the record");
        for (; next < uses->accesses.num && all[next].node == i && is_done; next++)
            is_done = braid_array_put(&accesses, &all[next], sizeof(*all));
    }
    braid_array_finish(is_done && !*out_why ? &uses->accesses : &accesses);
    if (is_done && !*out_why)
        uses->accesses = accesses;
    return is_done ? BRAID_OK : no_memory();
}

// Takes the rows of setters out of a list whose rows begin with a node.
static void drop_rows(const struct captured_graph *captured, struct array *list, size_t bytes,
                      size_t node_at_byte)
{
    unsigned char *rows = list->items;
    size_t num = 0;
    for (size_t i = 0; i < list->num; i++) {
        uint32_t node;
        memcpy(&node, rows + i * bytes + node_at_byte, sizeof(node));
        if (!node_at(captured, node)->is_understood)
            memmove(rows + num++ * bytes, rows + i * bytes, bytes);
    }
    list->num = num;
}

static void drop_setters(const struct captured_graph *captured, struct import_uses *uses)
{
    for (uint32_t i = 0; i < captured->nodes.num; i++)
        uses->is_work[i] = uses->is_work[i] && !node_at(captured, i)->is_understood;
    drop_rows(captured, &uses->accesses, sizeof(struct import_access),
              offsetof(struct import_access, node));
    drop_rows(captured, &uses->cells, sizeof(struct import_access),
              offsetof(struct import_access, node));
    drop_rows(captured, &uses->words, sizeof(struct code_word), offsetof(struct code_word, node));
}

static braid_status check(struct captured_graph *captured, const struct import_uses *uses,
                          const struct import_code *code, const char **out_why)
{
    struct error_attempt attempt;
    braid_import_options options = { .num_conditionals = count_conditionals(captured) };
    for (uint32_t i = 0; i < captured->nodes.num && !options.conditionals; i++)
        options.conditionals = node_at(captured, i)->type == GPU_NODE_CONDITIONAL
                                   ? node_at(captured, i)->conditional.told
                                   : NULL;
    braid_error_begin_attempt(&attempt);
    const braid_status status = braid_import_check_conditions(captured, uses, code, &options);
    const bool is_refused = status == BRAID_UNSUPPORTED;
    if (is_refused)
        *out_why = tell(captured, "%s", braid_error_get_message());
    braid_error_end_attempt(&attempt, is_refused ? BRAID_OK : status);
    return is_refused ? BRAID_OK : status;
}

braid_status braid_import_take_conditions(const struct import_memory *memory,
                                          struct captured_graph *captured, struct import_uses *uses,
                                          const struct import_code *code)
{
    if (!count_conditionals(captured))
        return BRAID_OK;
    const char *why = find_why(captured, uses);
    braid_status status = why ? BRAID_OK : put_words(memory, captured, uses, &why);
    if (!status && !why)
        status = check(captured, uses, code, &why);
    if (status || captured->store.failed)
        return status ? status : no_memory();
    if (why)
        refuse_all(captured, why);
    else
        drop_setters(captured, uses);
    return BRAID_OK;
}
