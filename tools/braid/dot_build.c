// SPDX-License-Identifier: Apache-2.0
// Makes nodes and edges of a file from the statements of its text, as Graphviz does, within limits.
#include "dot_build.h"

#include <stdlib.h>
#include <string.h>

#include "dot_attributes.h"

// What a key in `seen` is of, beside the number of a subgraph or node.
enum { SEEN_MEMBER, SEEN_SUBGRAPH, SEEN_EDGE };

static void stop_without_memory(struct dot_build *build)
{
    if (build->status == EXIT_DONE)
        build->status = dot_text_no_memory(&build->file->text);
}

// Makes room for one more item, or stops. `items` is the address of a pointer.
static bool make_room(struct dot_build *build, void *items, uint32_t num, uint32_t *room,
                      size_t item_bytes)
{
    void *moved;
    memcpy(&moved, items, sizeof(moved));
    const bool done = dot_make_room(&moved, num, room, item_bytes);
    memcpy(items, &moved, sizeof(moved));
    if (!done)
        stop_without_memory(build);
    return done;
}

#define MAKE_ROOM(build, items, num, room)                                                         \
    make_room(build, &(build)->items, (build)->num, &(build)->room, sizeof(*(build)->items))

static void add_count(struct dot_build *build, enum dot_limit kind, uint64_t more)
{
    uint64_t *count = &build->counts[kind];
    const struct dot_limits *limits = &build->file->limits;
    if (__builtin_add_overflow(*count, more, count))
        *count = UINT64_MAX;
    if (build->status == EXIT_DONE && !dot_limits_allow(limits, kind, *count)) {
        const struct dot_text *text = &build->file->text;
        build->status = dot_limits_refuse(
            limits, text->path, dot_text_line(text, build->scanner.position - 1), kind, *count);
    }
}

// Finds or adds a key made of these. Returns NULL without memory.
static const struct dot_seen_key *see(struct dot_build *build, uint64_t kind, uint32_t one,
                                      uint64_t two, uint32_t number, bool *out_is_new)
{
    const struct dot_seen_key *found =
        dot_seen_add(&build->seen, kind << 32 | one, two, number, out_is_new);
    if (!found)
        stop_without_memory(build);
    return found;
}

void dot_build_name(struct dot_build *build, struct dot_token token)
{
    if (!dot_string_take(&build->file->text, token, &build->name))
        stop_without_memory(build);
}

static uint32_t add_name(struct dot_build *build, struct dot_names *names, bool *out_is_new)
{
    const uint32_t number = dot_names_add(names, build->name.data, out_is_new);
    if (number == DOT_NONE)
        stop_without_memory(build);
    return number;
}

// A default of the subgraph that is open or of one around it: 0 if there is none.
static void take_defaults(struct dot_build *build, uint32_t node)
{
    struct dot_given *given = &build->file->given;
    uint64_t num = 0;
    // Inner and later defaults win: what is given first stays.
    for (uint32_t at = dot_build_level(build)->subgraph; at != DOT_NONE;
         at = build->subgraphs[at].parent) {
        uint32_t i = build->subgraphs[at].last_default;
        for (; i != DOT_NONE; i = build->defaults[i].before) {
            const struct dot_setting *setting = &build->defaults[i].setting;
            const struct dot_attribute *attribute = &given->attributes[setting->attribute];
            if (build->defaults[i].kind != DOT_OF_NODES)
                continue;
            num++;
            if (!dot_given_value(attribute, node) &&
                !dot_given_set(given, setting->attribute, node, setting->value))
                stop_without_memory(build);
        }
    }
    add_count(build, DOT_TEXT, num);
}

static void make_node(struct dot_build *build)
{
    struct dot_file *file = build->file;
    if (!make_room(build, &file->nodes, file->num_nodes, &build->file_node_room,
                   sizeof(*file->nodes)))
        return;
    const uint32_t node = file->num_nodes++;
    file->nodes[node] = (struct dot_node){ .id = file->ids.names[node],
                                           .cost.whole = 1,
                                           .main = node,
                                           .place = node,
                                           .grid = { 1, 1, 1 },
                                           .block = { 1, 1, 1 },
                                           .grid_from = DOT_NONE,
                                           .to = DOT_NONE,
                                           .from = DOT_NONE,
                                           .user = DOT_NONE,
                                           .around = DOT_NONE,
                                           .condition = DOT_NONE };
    add_count(build, DOT_NODES, 1);
    take_defaults(build, node);
}

// A node of a subgraph is one of all around it. Those around a subgraph that has it have it too.
static void add_member(struct dot_build *build, uint32_t node)
{
    bool is_new = true;
    for (uint32_t i = build->num_levels - 1; i > 0; i--) {
        const uint32_t number = build->levels[i].subgraph;
        if (!see(build, SEEN_MEMBER, number, node, 0, &is_new) || !is_new ||
            !MAKE_ROOM(build, members, num_members, member_room))
            return;
        struct dot_subgraph *subgraph = &build->subgraphs[number];
        build->members[build->num_members] = (struct dot_member){ node, subgraph->last_member };
        subgraph->last_member = build->num_members++;
        subgraph->num_nodes++;
        add_count(build, DOT_MEMBERS, 1);
    }
}

static void add_end(struct dot_build *build, struct dot_end end)
{
    if (MAKE_ROOM(build, ends, num_ends, end_room))
        build->ends[build->num_ends++] = end;
}

void dot_build_node(struct dot_build *build, bool is_new_end, uint32_t position)
{
    bool is_new = false;
    const uint32_t node = add_name(build, &build->file->ids, &is_new);
    if (is_new && node != DOT_NONE)
        make_node(build);
    if (is_new_end)
        add_end(build, (struct dot_end){ build->num_nodes, 0, DOT_NONE, position });
    if (build->status != EXIT_DONE || !MAKE_ROOM(build, nodes, num_nodes, node_room))
        return;
    build->nodes[build->num_nodes++] = node;
    build->ends[build->num_ends - 1].num_nodes++;
    add_member(build, node);
}

// One with a name may have been there before.
static uint32_t find_subgraph(struct dot_build *build, bool has_name, uint32_t parent)
{
    const uint32_t number = build->num_subgraphs;
    if (has_name) {
        bool is_new = false;
        const uint32_t name = add_name(build, &build->subgraph_names, &is_new);
        const struct dot_seen_key *found = see(build, SEEN_SUBGRAPH, parent, name, number, &is_new);
        if (found && !is_new)
            return found->number;
        build->has_lane |= parent == 0 && strcmp(build->name.data, "cluster_lane_0") == 0;
    }
    if (!MAKE_ROOM(build, subgraphs, num_subgraphs, subgraph_room))
        return DOT_NONE;
    build->subgraphs[build->num_subgraphs++] = (struct dot_subgraph){ .parent = parent,
                                                                      .last_member = DOT_NONE,
                                                                      .last_default = DOT_NONE };
    add_count(build, DOT_SUBGRAPHS, build->num_levels > 0);
    return number;
}

void dot_build_open(struct dot_build *build, bool has_name)
{
    const bool is_inside = build->num_levels > 0;
    const uint32_t parent = is_inside ? dot_build_level(build)->subgraph : DOT_NONE;
    const uint32_t subgraph = find_subgraph(build, has_name, parent);
    if (is_inside)
        add_end(build, (struct dot_end){ 0, 0, subgraph, (uint32_t)build->scanner.position - 1 });
    if (build->status == EXIT_DONE && MAKE_ROOM(build, levels, num_levels, level_room))
        build->levels[build->num_levels++] = (struct dot_level){ .subgraph = subgraph,
                                                                 .first_end = build->num_ends,
                                                                 .first_node = build->num_nodes };
}

void dot_build_close(struct dot_build *build)
{
    build->num_levels--;
}

// If one attribute is set several times, the last one counts.
static void put_setting(struct dot_build *build, struct dot_setting setting)
{
    uint32_t *at = &build->file->given.attributes[setting.attribute].setting;
    if (*at >= build->num_settings || build->settings[*at].attribute != setting.attribute) {
        if (!MAKE_ROOM(build, settings, num_settings, setting_room))
            return;
        *at = build->num_settings++;
    }
    build->settings[*at] = setting;
}

void dot_build_setting(struct dot_build *build, uint32_t value)
{
    bool is_new = false;
    const uint32_t attribute = dot_given_add(&build->file->given, build->name.data, &is_new);
    if (attribute == DOT_NONE)
        stop_without_memory(build);
    add_count(build, DOT_ATTRIBUTES, is_new);
    if (build->status == EXIT_DONE &&
        build->file->given.attributes[attribute].use != DOT_ATTRIBUTE_IGNORED)
        put_setting(build, (struct dot_setting){ attribute, value });
}

static bool is_named(const struct dot_build *build, const struct dot_setting *setting,
                     const char *name)
{
    return strcmp(build->file->given.names.names[setting->attribute], name) == 0;
}

static void set_attributes(struct dot_build *build, const struct dot_end *end)
{
    add_count(build, DOT_TEXT, (uint64_t)end->num_nodes * build->num_settings);
    for (uint32_t i = 0; i < end->num_nodes && build->status == EXIT_DONE; i++) {
        for (uint32_t k = 0; k < build->num_settings; k++) {
            if (!dot_given_set(&build->file->given, build->settings[k].attribute,
                               build->nodes[end->first_node + i], build->settings[k].value))
                stop_without_memory(build);
        }
    }
}

// What the statement says of its edges.
struct edge_words {
    enum dot_implied implied;
    bool is_told;
    uint32_t key; // in the table of keys; DOT_NONE: there is none
};

// Where the statement's value stands; 0: it has none.
static uint32_t find_setting(const struct dot_build *build, const char *name)
{
    uint32_t value = 0;
    for (uint32_t i = 0; i < build->num_settings && !value; i++)
        value = is_named(build, &build->settings[i], name) ? build->settings[i].value : 0;
    return value;
}

// The default of edges that are made here; 0: none.
static uint32_t find_implied(struct dot_build *build)
{
    for (uint32_t at = dot_build_level(build)->subgraph; at != DOT_NONE;
         at = build->subgraphs[at].parent) {
        uint32_t i = build->subgraphs[at].last_default;
        for (; i != DOT_NONE; i = build->defaults[i].before) {
            if (build->defaults[i].kind == DOT_OF_EDGES &&
                is_named(build, &build->defaults[i].setting, "implied"))
                return build->defaults[i].setting.value;
        }
    }
    return 0;
}

// It counts as text. NULL: the file is refused, or there is no memory.
static const struct dot_string *read_word(struct dot_build *build, uint32_t value)
{
    const struct dot_string *text = dot_given_read(build->file, value);
    if (!text)
        build->status = EXIT_FAILED;
    else
        add_count(build, DOT_TEXT, text->length);
    return build->status == EXIT_DONE ? text : NULL;
}

static enum dot_implied read_implied(struct dot_build *build, uint32_t value)
{
    const struct dot_string *text = read_word(build, value);
    if (!text || !text->length)
        return DOT_OWN;
    return strcmp(text->data, "frame") == 0 ? DOT_LATER_FRAME : DOT_IMPLIED;
}

static uint32_t read_key(struct dot_build *build, uint32_t value)
{
    bool is_new = false;
    const struct dot_string *text = read_word(build, value);
    const uint32_t key = text ? dot_names_add(&build->keys, text->data, &is_new) : DOT_NONE;
    if (key == DOT_NONE)
        stop_without_memory(build);
    return key;
}

// A strict graph has no keys.
static struct edge_words read_edge_words(struct dot_build *build)
{
    const uint32_t implied = find_setting(build, "implied");
    const uint32_t key = build->is_strict ? 0 : find_setting(build, "key");
    return (struct edge_words){
        .implied = read_implied(build, implied ? implied : find_implied(build)),
        .is_told = implied != 0,
        .key = key ? read_key(build, key) : DOT_NONE,
    };
}

// A strict graph has one edge from a node to another, any graph has one for each key. Returns the
// number of an edge that may be new.
static uint32_t find_edge(struct dot_build *build, uint32_t from, uint32_t to, uint32_t key)
{
    const uint32_t number = build->file->num_edges;
    uint64_t two = to;
    bool is_new = false;
    if (!build->is_strict && key == DOT_NONE)
        return number;
    if (!build->is_strict)
        two |= ((uint64_t)key + 1) << 32;
    const struct dot_seen_key *found = see(build, SEEN_EDGE, from, two, number, &is_new);
    return found ? found->number : number;
}

static void add_edge(struct dot_build *build, const struct dot_edge *edge,
                     const struct edge_words *words)
{
    struct dot_file *file = build->file;
    const uint32_t number = find_edge(build, edge->from, edge->to, words->key);
    if (!make_room(build, &file->edges, file->num_edges, &build->edge_room, sizeof(*file->edges)))
        return;
    if (number == file->num_edges)
        file->edges[file->num_edges++] = *edge;
    else if (words->is_told)
        file->edges[number].implied = edge->implied;
}

static int compare(const void *one, const void *two)
{
    const uint32_t left = *(const uint32_t *)one, right = *(const uint32_t *)two;
    return (left > right) - (left < right);
}

// Lists have their own order; subgraphs have that in which nodes were made.
static uint32_t list_nodes(struct dot_build *build, const struct dot_end *end, uint32_t **nodes,
                           uint32_t *room)
{
    const bool is_list = end->subgraph == DOT_NONE;
    const uint32_t num = is_list ? end->num_nodes : build->subgraphs[end->subgraph].num_nodes;
    if (num > *room) {
        uint32_t *larger = realloc(*nodes, num * sizeof(**nodes));
        if (!larger) {
            stop_without_memory(build);
            return 0;
        }
        *nodes = larger;
        *room = num;
    }
    if (is_list) {
        memcpy(*nodes, build->nodes + end->first_node, num * sizeof(**nodes));
        return num;
    }
    uint32_t i = num;
    for (uint32_t at = build->subgraphs[end->subgraph].last_member; at != DOT_NONE;
         at = build->members[at].before)
        (*nodes)[--i] = build->members[at].node;
    if (num > 1)
        qsort(*nodes, num, sizeof(**nodes), compare);
    return num;
}

static uint64_t size_of(const struct dot_build *build, const struct dot_end *end)
{
    return end->subgraph == DOT_NONE ? end->num_nodes : build->subgraphs[end->subgraph].num_nodes;
}

// Counts the edges between two ends, which each subgraph around them has as well. Returns how many.
static uint64_t count_edges(struct dot_build *build, const struct dot_end *tail,
                            const struct dot_end *head)
{
    const uint64_t num = size_of(build, tail) * size_of(build, head);
    uint64_t members = 0;
    add_count(build, DOT_EDGES, num);
    if (__builtin_mul_overflow(num, build->num_levels - 1, &members))
        members = UINT64_MAX;
    add_count(build, DOT_MEMBERS, members);
    return num;
}

static void add_edges(struct dot_build *build, const struct dot_end *tail,
                      const struct dot_end *head, const struct edge_words *words)
{
    struct dot_edge edge = { .position = head->position & DOT_MOST_POSITION,
                             .implied = words->implied };
    const uint32_t num_tails = list_nodes(build, tail, &build->tails, &build->tail_room);
    const uint32_t num_heads = list_nodes(build, head, &build->heads, &build->head_room);
    for (uint32_t i = 0; i < num_tails; i++) {
        for (uint32_t k = 0; k < num_heads && build->status == EXIT_DONE; k++) {
            edge.from = build->tails[i];
            edge.to = build->heads[k];
            add_edge(build, &edge, words);
        }
    }
}

// An end without nodes has no edges, so nothing is done for it.
static void make_edges(struct dot_build *build, const struct dot_end *ends, uint32_t num)
{
    uint64_t num_edges = 0;
    for (uint32_t i = 0; i + 1 < num; i++)
        num_edges += count_edges(build, &ends[i], &ends[i + 1]);
    if (num_edges == 0 || build->status != EXIT_DONE)
        return;
    const struct edge_words words = read_edge_words(build);
    for (uint32_t i = 0; i + 1 < num && build->status == EXIT_DONE; i++) {
        if (size_of(build, &ends[i]) && size_of(build, &ends[i + 1]))
            add_edges(build, &ends[i], &ends[i + 1], &words);
    }
}

void dot_build_statement(struct dot_build *build)
{
    if (build->status != EXIT_DONE)
        return;
    const struct dot_level *level = dot_build_level(build);
    const uint32_t num = build->num_ends - level->first_end;
    const struct dot_end *ends = &build->ends[level->first_end];
    if (num == 1)
        set_attributes(build, ends);
    make_edges(build, ends, num);
    build->num_ends = level->first_end;
    build->num_nodes = level->first_node;
    build->num_settings = 0;
}

static void add_default(struct dot_build *build, enum dot_defaults kind,
                        const struct dot_setting *setting)
{
    struct dot_subgraph *subgraph = &build->subgraphs[dot_build_level(build)->subgraph];
    for (uint32_t i = subgraph->last_default; i != DOT_NONE; i = build->defaults[i].before) {
        struct dot_default *known = &build->defaults[i];
        if (known->kind == kind && known->setting.attribute == setting->attribute) {
            known->setting.value = setting->value;
            return;
        }
    }
    if (!MAKE_ROOM(build, defaults, num_defaults, default_room))
        return;
    build->defaults[build->num_defaults] =
        (struct dot_default){ kind, *setting, subgraph->last_default };
    subgraph->last_default = build->num_defaults++;
}

void dot_build_defaults(struct dot_build *build, enum dot_defaults kind)
{
    for (uint32_t i = 0; i < build->num_settings && build->status == EXIT_DONE; i++) {
        if (kind != DOT_OF_GRAPHS)
            add_default(build, kind, &build->settings[i]);
        else if (build->num_levels == 1)
            build->file->given.attributes[build->settings[i].attribute].graph =
                build->settings[i].value;
    }
    build->num_settings = 0;
}

void dot_build_finish(struct dot_build *build)
{
    dot_names_finish(&build->subgraph_names);
    dot_names_finish(&build->keys);
    free(build->name.data);
    free(build->seen.keys);
    free(build->levels);
    free(build->ends);
    free(build->nodes);
    free(build->subgraphs);
    free(build->members);
    free(build->defaults);
    free(build->settings);
    free(build->tails);
    free(build->heads);
}
