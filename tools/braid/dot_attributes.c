// SPDX-License-Identifier: Apache-2.0
// What the attributes of a DOT file say about its nodes and edges.
#include "dot_attributes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dot_cost.h"
#include "dot_label.h"
#include "dot_line.h"
#include "dot_unknown.h"

enum exit_status dot_attribute_refuse(const struct dot_file *file, uint32_t node, const char *name,
                                      const char *text, const char *what)
{
    const struct dot_node *refused = &file->nodes[node];
    return fail_in_file(file->text.path, dot_line_of_attribute(&file->text, refused->place, name),
                        "node '%s' has %s '%s': %s", refused->id, name, text, what);
}

static enum exit_status read_cost(struct dot_file *file, uint32_t node, const char *text)
{
    struct dot_cost *cost = &file->nodes[node].cost;
    if (!dot_cost_parse(text, cost))
        return dot_attribute_refuse(file, node, "cost", text,
                                    "a cost is a number, 0 or more, of less than 2^64");
    file->without_cost--;
    file->has_fractions = file->has_fractions || cost->billionths > 0;
    return EXIT_DONE;
}

// Other programs have kinds of their own: what is none of ours is a kernel.
static enum exit_status read_kind(struct dot_file *file, uint32_t node, const char *text)
{
    static const char *const kinds[] = { "kernel", "copy",  "fill", "host",
                                         "queue",  "empty", "loop", "branch" };
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (strcmp(text, kinds[i]) == 0)
            file->nodes[node].kind = (enum dot_kind)i;
    }
    return EXIT_DONE;
}

static enum exit_status read_blocking(struct dot_file *file, uint32_t node, const char *text)
{
    if (strcmp(text, "true") != 0 && strcmp(text, "false") != 0)
        return dot_attribute_refuse(file, node, "blocking", text, "it is true or false");
    file->nodes[node].blocking = strcmp(text, "true") == 0;
    return EXIT_DONE;
}

static enum exit_status read_hint(struct dot_file *file, uint32_t node, const char *text)
{
    struct dot_cost hint;
    if (!dot_cost_parse(text, &hint) || hint.billionths > 0 || hint.whole > UINT32_MAX)
        return dot_attribute_refuse(file, node, "lane_hint", text,
                                    "a hint is a whole number of less than 2^32");
    file->nodes[node].lane_hint = (uint32_t)hint.whole;
    return EXIT_DONE;
}

static enum exit_status read_place(struct dot_file *file, uint32_t node, const char *text)
{
    struct dot_cost place;
    if (!dot_cost_parse(text, &place) || place.billionths > 0 || place.whole >= DOT_MOST_PLACES)
        return dot_attribute_refuse(file, node, "place", text, "a device is a number from 0 to 63");
    file->nodes[node].device = BRAID_PLACE(place.whole);
    return EXIT_DONE;
}

static enum exit_status read_rank(struct dot_file *file, uint32_t node, const char *text)
{
    struct dot_cost rank;
    if (!dot_cost_parse(text, &rank) || rank.billionths > 0 || rank.whole >= DOT_MOST_RANKS)
        return dot_attribute_refuse(file, node, "rank", text,
                                    "a rank is a whole number of less than 2^20");
    file->nodes[node].rank = (uint32_t)rank.whole;
    return EXIT_DONE;
}

static enum exit_status read_bytes(struct dot_file *file, uint32_t node, const char *text)
{
    struct dot_cost bytes;
    if (!dot_cost_parse(text, &bytes) || bytes.billionths > 0 || bytes.whole >> 48)
        return dot_attribute_refuse(file, node, "bytes", text,
                                    "that is a whole number of less than 2^48");
    file->nodes[node].bytes = bytes.whole;
    return EXIT_DONE;
}

// "8,1,1x256,1,1": blocks, and threads of a block.
static enum exit_status read_launch(struct dot_file *file, uint32_t node, const char *text)
{
    uint64_t sizes[6] = { 0 };
    int end = 0;
    int num = sscanf(text,
                     "%10" SCNu64 ",%10" SCNu64 ",%10" SCNu64 "x%10" SCNu64 ",%10" SCNu64
                     ",%10" SCNu64 "%n",
                     &sizes[0], &sizes[1], &sizes[2], &sizes[3], &sizes[4], &sizes[5], &end);
    bool is_read = num == 6 && !text[end];
    for (int i = 0; i < 6; i++)
        is_read = is_read && (sizes[i] > 0 || i < 3) && sizes[i] <= UINT32_MAX;
    if (!is_read)
        return dot_attribute_refuse(file, node, "launch", text,
                                    "a launch is written as 8,1,1x256,1,1");
    file->nodes[node].grid =
        (braid_dim3){ (uint32_t)sizes[0], (uint32_t)sizes[1], (uint32_t)sizes[2] };
    file->nodes[node].block =
        (braid_dim3){ (uint32_t)sizes[3], (uint32_t)sizes[4], (uint32_t)sizes[5] };
    return EXIT_DONE;
}

static enum exit_status read_inside(struct dot_file *file, uint32_t node, const char *text)
{
    struct dot_cost num;
    if (!dot_cost_parse(text, &num) || num.billionths > 0 || num.whole > DOT_MOST_ARGS)
        return dot_attribute_refuse(file, node, "inside", text,
                                    "that is a number of arguments, up to 1024");
    file->nodes[node].may_be_inside = true;
    file->nodes[node].num_args = (uint32_t)num.whole;
    return dot_count_add(file, DOT_ARGUMENTS, num.whole);
}

static enum exit_status read_name(struct dot_file *file, uint32_t node, const char *text)
{
    struct dot_node *read = &file->nodes[node];
    free(read->label);
    read->label = dot_label_read(text, read->id);
    return read->label ? EXIT_DONE : fail(EXIT_FAILED, "out of memory for reading names");
}

static enum exit_status read_changes(struct dot_file *file, uint32_t node, const char *text)
{
    struct dot_node *read = &file->nodes[node];
    free(read->changes);
    read->changes = dot_label_read(text, read->id);
    return read->changes ? EXIT_DONE : fail(EXIT_FAILED, "out of memory for reading changes");
}

typedef enum exit_status attribute_reader(struct dot_file *file, uint32_t node, const char *text);

// A name goes before a label. Lists count as what their words are, all else as text.
static const struct {
    char name[16];
    attribute_reader *read;
    enum dot_limit kind;
} attributes[] = {
    { "cost", read_cost, DOT_TEXT },
    { "label", read_name, DOT_TEXT },
    { "name", read_name, DOT_TEXT },
    { "kind", read_kind, DOT_TEXT },
    { "blocking", read_blocking, DOT_TEXT },
    { "lane_hint", read_hint, DOT_TEXT },
    { "launch", read_launch, DOT_TEXT },
    { "accesses", dot_accesses_read, DOT_ACCESSES },
    { "inside", read_inside, DOT_TEXT },
    { "changes", read_changes, DOT_TEXT },
    { "place", read_place, DOT_TEXT },
    { "pointers", dot_pointers_read, DOT_TEXT },
    { "rank", read_rank, DOT_TEXT },
    { "bytes", read_bytes, DOT_TEXT },
    { "args", dot_args_read, DOT_ARGUMENTS },
    { "grid_from", dot_grid_from_read, DOT_TEXT },
    { "to", dot_to_read, DOT_TEXT },
    { "from", dot_from_read, DOT_TEXT },
    { "user", dot_user_read, DOT_TEXT },
    { "value_bytes", dot_value_bytes_read, DOT_TEXT },
    { "uses", dot_uses_read, DOT_ARGUMENTS },
    { "condition", dot_condition_read, DOT_TEXT },
    { "most", dot_most_read, DOT_TEXT },
    { "expected", dot_expected_read, DOT_TEXT },
    { "tests_first", dot_tests_first_read, DOT_TEXT },
};

static enum exit_status read_attribute(struct dot_file *file, Agraph_t *graph, size_t index)
{
    Agsym_t *symbol = agattr(graph, AGNODE, (char *)(uintptr_t)attributes[index].name, NULL);
    if (!symbol)
        return EXIT_DONE;
    enum exit_status status = dot_texts_count(file, graph, symbol, attributes[index].kind);
    for (Agnode_t *node = agfstnode(graph); node && status == EXIT_DONE;
         node = agnxtnode(graph, node)) {
        char *text = agxget(node, symbol);
        if (*text && !aghtmlstr(text))
            status = attributes[index].read(file, dot_node_index(node), text);
    }
    return status;
}

static enum exit_status read_role(struct dot_file *file, Agraph_t *graph, const char *name,
                                  enum dot_role role)
{
    Agsym_t *symbol = agattr(graph, AGNODE, (char *)(uintptr_t)name, NULL);
    enum exit_status status = symbol ? dot_texts_count(file, graph, symbol, DOT_TEXT) : EXIT_DONE;
    if (!symbol || status != EXIT_DONE)
        return status;
    for (Agnode_t *node = agfstnode(graph); node; node = agnxtnode(graph, node)) {
        char *text = agxget(node, symbol);
        uint32_t index = dot_node_index(node);
        if (!*text)
            continue;
        Agnode_t *main = agnode(graph, text, 0);
        if (!main || main == node)
            return dot_attribute_refuse(file, index, name, text,
                                        main ? "that is the node itself" : "there is no such node");
        if (file->nodes[index].role != DOT_MAIN)
            return dot_attribute_refuse(file, index, name, text, "it has prelude_of as well");
        file->nodes[index].role = role;
        file->nodes[index].main = dot_node_index(main);
    }
    return EXIT_DONE;
}

// Whose body a node is directly in.
static enum exit_status read_around(struct dot_file *file, Agraph_t *graph, const char *name,
                                    bool is_else)
{
    Agsym_t *symbol = agattr(graph, AGNODE, (char *)(uintptr_t)name, NULL);
    enum exit_status status = symbol ? dot_texts_count(file, graph, symbol, DOT_TEXT) : EXIT_DONE;
    if (!symbol || status != EXIT_DONE)
        return status;
    for (Agnode_t *node = agfstnode(graph); node; node = agnxtnode(graph, node)) {
        char *text = agxget(node, symbol);
        struct dot_node *inside = &file->nodes[dot_node_index(node)];
        if (!*text)
            continue;
        Agnode_t *around = agnode(graph, text, 0);
        const char *why = NULL;
        if (!around)
            why = "there is no such node";
        else if (inside->around != DOT_NONE)
            why = "it has body_of as well";
        if (why)
            return dot_attribute_refuse(file, dot_node_index(node), name, text, why);
        inside->around = dot_node_index(around);
        inside->is_else = is_else;
    }
    return EXIT_DONE;
}

static enum exit_status read_graph(struct dot_file *file, Agraph_t *graph)
{
    static char unit_name[] = "cost_unit", resources_name[] = "resources";
    static char parameters_name[] = "parameters";
    const char *unit = agget(graph, unit_name);
    const char *resources = agget(graph, resources_name);
    const char *parameters = agget(graph, parameters_name);
    if (unit && *unit && !(file->cost_unit = message_one_line(unit)))
        return fail(EXIT_FAILED, "out of memory for reading %s", file->text.path);
    enum exit_status status = EXIT_DONE;
    if (resources && *resources)
        status = dot_resources_read(file, resources);
    if (status == EXIT_DONE && parameters && *parameters)
        status = dot_parameters_read(file, parameters);
    return status;
}

static void tell_unknown(const struct dot_file *file, Agraph_t *graph)
{
    enum { NUM = sizeof(attributes) / sizeof(attributes[0]) };
    const char *names[NUM + 4] = { "prelude_of", "epilogue_of", "body_of", "else_of" };
    for (size_t i = 0; i < NUM; i++)
        names[i + 4] = attributes[i].name;
    dot_unknown_tell(file, graph, names, NUM + 4);
}

enum exit_status dot_attributes_read(struct dot_file *file, Agraph_t *graph)
{
    file->without_cost = file->num_nodes;
    enum exit_status status = read_graph(file, graph);
    for (size_t i = 0; i < sizeof(attributes) / sizeof(attributes[0]) && status == EXIT_DONE; i++)
        status = read_attribute(file, graph, i);
    if (status == EXIT_DONE)
        status = read_role(file, graph, "prelude_of", DOT_PRELUDE);
    if (status == EXIT_DONE)
        status = read_role(file, graph, "epilogue_of", DOT_EPILOGUE);
    if (status == EXIT_DONE)
        status = read_around(file, graph, "body_of", false);
    if (status == EXIT_DONE)
        status = read_around(file, graph, "else_of", true);
    if (status == EXIT_DONE) {
        dot_cost_choose_unit(file);
        tell_unknown(file, graph);
    }
    return status;
}
