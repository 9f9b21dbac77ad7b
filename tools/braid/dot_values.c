// SPDX-License-Identifier: Apache-2.0
// What frames give to nodes in DOT files: parameters and their uses, arguments, and addresses.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "dot_attributes.h"

enum { MOST_PARAMETER_BYTES = 4096 };

// "NAME:BYTES"
static bool read_parameter(char *word, struct dot_parameter *out_parameter)
{
    uint64_t bytes = 0;
    char *colon = strrchr(word, ':');
    const char *size = colon ? colon + 1 : "";
    if (!dot_number_read(&size, &bytes) || *size || bytes == 0 || bytes > MOST_PARAMETER_BYTES)
        return false;
    *colon = '\0';
    dot_name_decode(word);
    *out_parameter = (struct dot_parameter){ *word ? strdup(word) : NULL, (uint32_t)bytes };
    return out_parameter->name;
}

enum exit_status dot_parameters_read(struct dot_file *file, const char *text)
{
    char *copy = strdup(text), *rest = copy;
    file->parameters = calloc((size_t)dot_words_count(text) + 1, sizeof(*file->parameters));
    if (!copy || !file->parameters) {
        free(copy);
        return dot_text_no_memory(&file->text);
    }
    enum exit_status status = EXIT_DONE;
    for (char *word; status == EXIT_DONE && (word = strsep(&rest, " \n"));) {
        if (!*word)
            continue;
        if (read_parameter(word, &file->parameters[file->num_parameters]))
            file->num_parameters++;
        else
            status = fail_in_file(file->text.path, 1,
                                  "parameter %" PRIu32
                                  ", '%s': a parameter is NAME:BYTES, of up to %d bytes",
                                  file->num_parameters, word, MOST_PARAMETER_BYTES);
    }
    free(copy);
    return status;
}

// Room for as many more items as the text has words.
static bool make_room(void **items, uint32_t num, uint32_t num_more, size_t item_bytes)
{
    void *moved = realloc(*items, ((size_t)num + num_more) * item_bytes + 1);
    if (!moved || num_more > UINT32_MAX - num)
        return false;
    *items = moved;
    return true;
}

static bool is_at_end(const char *next)
{
    return !*next || strchr(" \n", *next);
}

// "@3", the address of a resource, or "8", so many bytes.
static bool read_arg(const char **next, bool *out_is_address, uint64_t *out_number)
{
    *out_is_address = **next == '@';
    *next += *out_is_address;
    return dot_number_read(next, out_number) && is_at_end(*next) &&
           (*out_is_address || (*out_number > 0 && *out_number <= DOT_MOST_ARG_BYTES));
}

enum exit_status dot_args_read(struct dot_file *file, uint32_t node, const char *text)
{
    static const char what[] = "arguments are numbers of bytes, and @RESOURCE for addresses; up to "
                               "1024, of up to 65536 bytes in all";
    struct dot_node *read = &file->nodes[node];
    uint32_t num = dot_words_count(text), bytes = 0;
    void *args = file->args;
    if (num > DOT_MOST_ARGS)
        return dot_attribute_refuse(file, node, "args", text, what);
    if (!make_room(&args, file->num_args, num, sizeof(*file->args)))
        return dot_text_no_memory(&file->text);
    file->args = args;
    read->has_values = true;
    read->has_args = true;
    read->first_arg = file->num_args;
    read->num_args = num;
    const char *next = text + strspn(text, " \n");
    for (uint32_t i = 0; i < num; i++, next += strspn(next, " \n")) {
        uint64_t number;
        bool is_address;
        if (!read_arg(&next, &is_address, &number))
            return dot_attribute_refuse(file, node, "args", text, what);
        if (is_address && number >= file->num_resources)
            return dot_resource_refuse(file, node, "args", text, number);
        bytes += is_address ? (uint32_t)sizeof(void *) : (uint32_t)number;
        if (bytes > DOT_MOST_ARG_BYTES)
            return dot_attribute_refuse(file, node, "args", text, what);
        file->args[file->num_args++] = is_address
                                           ? (struct dot_arg){ sizeof(void *), (uint32_t)number }
                                           : (struct dot_arg){ (uint32_t)number, DOT_NONE };
    }
    return EXIT_DONE;
}

static enum exit_status read_end(struct dot_file *file, uint32_t node, const char *name,
                                 const char *text, uint32_t *out_resource)
{
    uint64_t number = 0;
    const char *next = text;
    if (!dot_number_read(&next, &number) || *next)
        return dot_attribute_refuse(file, node, name, text, "that is the number of a resource");
    if (number >= file->num_resources)
        return dot_resource_refuse(file, node, name, text, number);
    *out_resource = (uint32_t)number;
    file->nodes[node].has_values = true;
    return EXIT_DONE;
}

enum exit_status dot_grid_from_read(struct dot_file *file, uint32_t node, const char *text)
{
    file->nodes[node].has_values = file->nodes[node].reads_grid = true;
    if (strcmp(text, "pointer") == 0)
        return EXIT_DONE;
    return read_end(file, node, "grid_from", text, &file->nodes[node].grid_from);
}

enum exit_status dot_to_read(struct dot_file *file, uint32_t node, const char *text)
{
    return read_end(file, node, "to", text, &file->nodes[node].to);
}

enum exit_status dot_from_read(struct dot_file *file, uint32_t node, const char *text)
{
    return read_end(file, node, "from", text, &file->nodes[node].from);
}

enum exit_status dot_user_read(struct dot_file *file, uint32_t node, const char *text)
{
    return read_end(file, node, "user", text, &file->nodes[node].user);
}

enum exit_status dot_value_bytes_read(struct dot_file *file, uint32_t node, const char *text)
{
    if (strcmp(text, "1") != 0 && strcmp(text, "2") != 0 && strcmp(text, "4") != 0)
        return dot_attribute_refuse(file, node, "value_bytes", text, "it is 1, 2 or 4");
    file->nodes[node].value_bytes = (uint32_t)(*text - '0');
    return EXIT_DONE;
}

// By braid_target.
static const char *const targets[] = { "argument", "grid",    "grid.x", "grid.y", "grid.z",
                                       "to",       "from",    "bytes",  "value",  "num_values",
                                       "user",     "enabled", "copy",   "fill",   "times" };
enum { NUM_TARGETS = sizeof(targets) / sizeof(targets[0]) };

static bool read_small(const char **next, uint32_t *out_number)
{
    uint64_t number = 0;
    if (!dot_number_read(next, &number) || number > UINT32_MAX)
        return false;
    *out_number = (uint32_t)number;
    return true;
}

// "argument2+16", or another target alone; the longest name that fits is meant.
static bool read_target(const char **next, struct dot_use *use)
{
    size_t length = 0;
    for (int i = 0; i < NUM_TARGETS; i++) {
        size_t known = strlen(targets[i]);
        if (strncmp(*next, targets[i], known) == 0 && known > length) {
            use->target = (braid_target)i;
            length = known;
        }
    }
    *next += length;
    if (length == 0 || use->target != BRAID_TARGET_ARGUMENT)
        return length > 0;
    if (!read_small(next, &use->argument))
        return false;
    if (**next != '+')
        return true;
    ++*next;
    return read_small(next, &use->argument_offset);
}

// "0:8:4=argument2+16": of parameter 0 the 4 bytes from 8 on.
static bool read_use(const struct dot_file *file, const char **next, struct dot_use *use)
{
    *use = (struct dot_use){ 0 };
    if (!read_small(next, &use->parameter) || *(*next)++ != ':' ||
        !read_small(next, &use->offset) || *(*next)++ != ':' || !read_small(next, &use->bytes) ||
        *(*next)++ != '=')
        return false;
    return use->parameter < file->num_parameters && use->bytes > 0 && read_target(next, use) &&
           is_at_end(*next);
}

enum exit_status dot_uses_read(struct dot_file *file, uint32_t node, const char *text)
{
    uint32_t num = dot_words_count(text);
    void *uses = file->uses;
    if (!make_room(&uses, file->num_uses, num, sizeof(*file->uses)))
        return dot_text_no_memory(&file->text);
    file->uses = uses;
    file->nodes[node].first_use = file->num_uses;
    file->nodes[node].num_uses = num;
    const char *next = text + strspn(text, " \n");
    for (uint32_t i = 0; i < num; i++, next += strspn(next, " \n")) {
        if (!read_use(file, &next, &file->uses[file->num_uses]))
            return dot_attribute_refuse(file, node, "uses", text,
                                        "uses are written as 0:8:4=argument2+16 or 1:0:4=grid.x: "
                                        "which parameter, from where, how many bytes, and what "
                                        "they are of the node");
        file->num_uses++;
    }
    return EXIT_DONE;
}
