// SPDX-License-Identifier: Apache-2.0
// What the attributes of a DOT file say about its nodes and edges.
#include "dot_attributes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dot_cost.h"
#include "dot_unknown.h"

static void write_escape(FILE *file, char escape, const char *id)
{
    if (strchr("nlr", escape))
        fputc('\n', file);
    else if (escape == 'N')
        fputs(id, file);
    else
        fputc(escape, file);
}

// Graphviz shows what an entity stands for. Returns its length, or 0 where there is none.
static size_t write_entity(FILE *file, const char *text)
{
    static const struct {
        const char *entity;
        char c;
    } entities[] = { { "&amp;", '&' }, { "&lt;", '<' }, { "&gt;", '>' }, { "&quot;", '"' } };
    for (size_t i = 0; i < sizeof(entities) / sizeof(entities[0]); i++) {
        size_t length = strlen(entities[i].entity);
        if (strncmp(text, entities[i].entity, length) == 0) {
            fputc(entities[i].c, file);
            return length;
        }
    }
    return 0;
}

// The text that Graphviz would draw for a label of the node `id`: \n, \l and \r end a line, \N is
// the id, any other escaped character itself, &amp; an ampersand. The caller frees it; NULL when
// memory runs out.
static char *read_label_of(const char *label, const char *id)
{
    char *text = NULL;
    size_t length = 0;
    FILE *file = open_memstream(&text, &length);
    if (!file)
        return NULL;
    for (const char *next = label; *next;) {
        size_t taken = *next == '&' ? write_entity(file, next) : 0;
        if (taken == 0) {
            taken = *next == '\\' && next[1] ? 2 : 1;
            if (taken == 2)
                write_escape(file, next[1], id);
            else
                fputc(*next, file);
        }
        next += taken;
    }
    if (fclose(file) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

enum exit_status dot_attribute_refuse(const struct dot_file *file, uint32_t node, const char *name,
                                      const char *text, const char *what)
{
    const struct dot_node *refused = &file->nodes[node];
    return fail_in_file(file->text.path, dot_given_line(file, node, name),
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

static enum exit_status read_on(struct dot_file *file, uint32_t node, const char *text)
{
    struct dot_cost place;
    if (!dot_cost_parse(text, &place) || place.billionths > 0 || place.whole == 0 ||
        place.whole > DOT_MOST_PLACES)
        return dot_attribute_refuse(file, node, "on", text, "a place is a number from 1 to 64");
    file->nodes[node].on = (uint32_t)place.whole;
    return EXIT_DONE;
}

// An older file has places from 0 here, and keeps its meaning.
static enum exit_status read_place(struct dot_file *file, uint32_t node, const char *text)
{
    struct dot_cost place;
    if (!dot_cost_parse(text, &place) || place.billionths > 0 || place.whole >= DOT_MOST_PLACES)
        return dot_attribute_refuse(file, node, "place", text,
                                    "an older file has places from 0 to 63 there");
    file->nodes[node].on = (uint32_t)place.whole + 1;
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
    read->label = read_label_of(text, read->id);
    return read->label ? EXIT_DONE : fail(EXIT_FAILED, "out of memory for reading names");
}

static enum exit_status read_changes(struct dot_file *file, uint32_t node, const char *text)
{
    struct dot_node *read = &file->nodes[node];
    free(read->changes);
    read->changes = read_label_of(text, read->id);
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
    { "on", read_on, DOT_TEXT },
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

// Reads an attribute of each node that has it.
static enum exit_status read_each(struct dot_file *file, const char *name, enum dot_limit kind,
                                  bool is_html_read, attribute_reader *read)
{
    const struct dot_attribute *attribute = dot_given_find(&file->given, name);
    if (!attribute || !attribute->values)
        return EXIT_DONE;
    enum exit_status status = dot_texts_count(file, attribute, kind);
    for (uint32_t i = 0; i < file->num_nodes && status == EXIT_DONE; i++) {
        const struct dot_string *text = dot_given_read(file, dot_given_value(attribute, i));
        if (!text)
            status = EXIT_FAILED;
        else if (text->length && (is_html_read || !text->is_html))
            status = read(file, i, text->data);
    }
    return status;
}

static enum exit_status read_role(struct dot_file *file, uint32_t node, const char *text,
                                  enum dot_role role)
{
    const char *name = role == DOT_PRELUDE ? "prelude_of" : "epilogue_of";
    const uint32_t main = dot_names_find(&file->ids, text);
    if (main == DOT_NONE || main == node)
        return dot_attribute_refuse(file, node, name, text,
                                    main == node ? "that is the node itself"
                                                 : "there is no such node");
    if (file->nodes[node].role != DOT_MAIN)
        return dot_attribute_refuse(file, node, name, text, "it has prelude_of as well");
    file->nodes[node].role = role;
    file->nodes[node].main = main;
    return EXIT_DONE;
}

static enum exit_status read_prelude(struct dot_file *file, uint32_t node, const char *text)
{
    return read_role(file, node, text, DOT_PRELUDE);
}

static enum exit_status read_epilogue(struct dot_file *file, uint32_t node, const char *text)
{
    return read_role(file, node, text, DOT_EPILOGUE);
}

// Whose body a node is directly in.
static enum exit_status read_around(struct dot_file *file, uint32_t node, const char *text,
                                    bool is_else)
{
    struct dot_node *inside = &file->nodes[node];
    const char *name = is_else ? "else_of" : "body_of";
    const uint32_t around = dot_names_find(&file->ids, text);
    if (around == DOT_NONE)
        return dot_attribute_refuse(file, node, name, text, "there is no such node");
    if (inside->around != DOT_NONE)
        return dot_attribute_refuse(file, node, name, text, "it has body_of as well");
    inside->around = around;
    inside->is_else = is_else;
    return EXIT_DONE;
}

static enum exit_status read_body(struct dot_file *file, uint32_t node, const char *text)
{
    return read_around(file, node, text, false);
}

static enum exit_status read_else(struct dot_file *file, uint32_t node, const char *text)
{
    return read_around(file, node, text, true);
}

// Names of nodes, which are read after all other attributes.
static const struct {
    char name[16];
    attribute_reader *read;
} links[] = {
    { "prelude_of", read_prelude },
    { "epilogue_of", read_epilogue },
    { "body_of", read_body },
    { "else_of", read_else },
};

static enum exit_status read_unit(struct dot_file *file, const char *text)
{
    file->cost_unit = message_one_line(text);
    return file->cost_unit ? EXIT_DONE : dot_text_no_memory(&file->text);
}

// The graph's attributes, in the order in which they are read.
static const struct {
    char name[16];
    enum exit_status (*read)(struct dot_file *file, const char *text);
} of_graph[] = {
    { "cost_unit", read_unit },
    { "resources", dot_resources_read },
    { "outputs", dot_outputs_read },
    { "parameters", dot_parameters_read },
};

enum { NUM_OF_GRAPH = sizeof(of_graph) / sizeof(of_graph[0]) };

static void list_names_of_graph(const char **names)
{
    for (size_t i = 0; i < NUM_OF_GRAPH; i++)
        names[i] = of_graph[i].name;
}

static enum exit_status read_graph(struct dot_file *file)
{
    const char *names[NUM_OF_GRAPH];
    list_names_of_graph(names);
    enum exit_status status = dot_unknown_tell_of_graph(file, names, NUM_OF_GRAPH);
    for (size_t i = 0; i < NUM_OF_GRAPH && status == EXIT_DONE; i++) {
        const struct dot_attribute *attribute = dot_given_find(&file->given, of_graph[i].name);
        const struct dot_string *text = dot_given_read(file, attribute ? attribute->graph : 0);
        if (!text)
            status = EXIT_FAILED;
        else if (text->length)
            status = of_graph[i].read(file, text->data);
    }
    return status;
}

enum {
    NUM_ATTRIBUTES = sizeof(attributes) / sizeof(attributes[0]),
    NUM_LINKS = sizeof(links) / sizeof(links[0]),
    NUM_NAMES = NUM_ATTRIBUTES + NUM_LINKS
};

static void list_names(const char **names)
{
    for (size_t i = 0; i < NUM_LINKS; i++)
        names[i] = links[i].name;
    for (size_t i = 0; i < NUM_ATTRIBUTES; i++)
        names[NUM_LINKS + i] = attributes[i].name;
}

enum dot_attribute_use dot_attribute_find_use(const char *name)
{
    const char *names[NUM_NAMES], *names_of_graph[NUM_OF_GRAPH];
    list_names(names);
    list_names_of_graph(names_of_graph);
    bool is_read = strcmp(name, "implied") == 0 || strcmp(name, "key") == 0;
    for (size_t i = 0; i < NUM_OF_GRAPH; i++)
        is_read = is_read || strcmp(names_of_graph[i], name) == 0;
    for (size_t i = 0; i < NUM_NAMES; i++)
        is_read = is_read || strcmp(names[i], name) == 0;
    if (is_read)
        return DOT_ATTRIBUTE_READ;
    return dot_unknown_is_near(names, NUM_NAMES, name) ||
                   dot_unknown_is_near(names_of_graph, NUM_OF_GRAPH, name)
               ? DOT_ATTRIBUTE_NEAR
               : DOT_ATTRIBUTE_IGNORED;
}

enum exit_status dot_attributes_read(struct dot_file *file)
{
    const char *names[NUM_NAMES];
    list_names(names);
    file->without_cost = file->num_nodes;
    enum exit_status status = read_graph(file);
    for (size_t i = 0; i < NUM_ATTRIBUTES && status == EXIT_DONE; i++)
        status = read_each(file, attributes[i].name, attributes[i].kind, false, attributes[i].read);
    for (size_t i = 0; i < NUM_LINKS && status == EXIT_DONE; i++)
        status = read_each(file, links[i].name, DOT_TEXT, true, links[i].read);
    if (status != EXIT_DONE)
        return status;
    dot_cost_choose_unit(file);
    return dot_unknown_tell(file, names, NUM_NAMES);
}
