// SPDX-License-Identifier: Apache-2.0
// Resources and accesses in DOT files: "list particles:4096@1 #1:0:1024 state:64*2 ^3:1", and
// "r0 rw2" of a node.
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dot_attributes.h"

static int hex_digit(char c)
{
    static const char digits[] = "0123456789abcdef";
    const char *found = c ? strchr(digits, c) : NULL;
    return found ? (int)(found - digits) : -1;
}

void dot_name_decode(char *name)
{
    char *to = name;
    for (const char *from = name; *from; to++) {
        int high = *from == '%' ? hex_digit(from[1]) : -1;
        int low = high >= 0 ? hex_digit(from[2]) : -1;
        bool is_code = low >= 0 && (high > 0 || low > 0);
        *to = is_code ? (char)(high * 16 + low) : *from;
        from += is_code ? 3 : 1;
    }
    *to = '\0';
}

bool dot_number_read(const char **text, uint64_t *out_number)
{
    char *end;
    errno = 0;
    if (**text < '0' || **text > '9')
        return false;
    *out_number = strtoull(*text, &end, 10);
    *text = end;
    return errno == 0;
}

// ":BYTES" or nothing.
static bool read_size(const char *text, uint64_t *out_bytes)
{
    if (!*text)
        return true;
    return *text++ == ':' && dot_number_read(&text, out_bytes) && *out_bytes > 0 && !*text;
}

// "#BUFFER:OFFSET:BYTES"
static bool read_range(const struct dot_file *file, const char *text, struct dot_resource *range)
{
    uint64_t buffer = 0, end = 0;
    if (!dot_number_read(&text, &buffer) || *text++ != ':' ||
        !dot_number_read(&text, &range->offset) || *text != ':' ||
        !read_size(text, &range->bytes) || buffer >= file->num_resources)
        return false;
    range->buffer = (uint32_t)buffer;
    const struct dot_resource *whole = &file->resources[buffer];
    return whole->name && !whole->num_versions && !whole->is_scratch &&
           !__builtin_add_overflow(range->offset, range->bytes, &end) && end <= whole->bytes;
}

// "^VERSIONED:FRAMES_BEFORE"
static bool read_earlier(const struct dot_file *file, const char *text,
                         struct dot_resource *earlier)
{
    uint64_t buffer = 0, before = 0;
    if (!dot_number_read(&text, &buffer) || *text++ != ':' || !dot_number_read(&text, &before) ||
        *text || buffer >= file->num_resources)
        return false;
    const struct dot_resource *versioned = &file->resources[buffer];
    *earlier = (struct dot_resource){ .buffer = (uint32_t)buffer,
                                      .bytes = versioned->bytes,
                                      .frames_before = (uint32_t)before };
    return before > 0 && before < versioned->num_versions;
}

// "place2", "all", "none" or "node": the place of a resource, each, that of who uses it, or memory
// of each node that uses it. An older file has "1" for the second place, and keeps its meaning.
static bool read_home(const char *text, struct dot_resource *resource)
{
    static const char word[] = "place";
    bool is_older = strncmp(text, word, strlen(word)) != 0;
    uint64_t place = 0;
    resource->is_scratch = strcmp(text, "node") == 0;
    resource->is_transient = resource->is_scratch || strcmp(text, "none") == 0;
    if (resource->is_transient)
        return true;
    if (strcmp(text, "all") == 0) {
        resource->home = BRAID_EVERYWHERE;
        return true;
    }
    text += is_older ? 0 : strlen(word);
    if (!dot_number_read(&text, &place) || *text || place > DOT_MOST_PLACES)
        return false;
    resource->home = (uint32_t)place + is_older;
    return resource->home > 0 && resource->home <= DOT_MOST_PLACES;
}

// Takes what stands behind the last `separator` out of the word; NULL: there is none.
static char *cut(char *word, char separator)
{
    char *found = strrchr(word, separator);
    if (!found)
        return NULL;
    *found = '\0';
    return found + 1;
}

// "BYTES:ALIGNMENT*VERSIONS": the last two may be missing.
static bool read_memory(char *text, struct dot_resource *resource)
{
    uint64_t alignment = 0, num_versions = 0;
    const char *versions = cut(text, '*'), *aligned = cut(text, ':'), *bytes = text;
    if (versions && (!dot_number_read(&versions, &num_versions) || *versions || num_versions < 2 ||
                     num_versions > 16 || resource->is_transient))
        return false;
    if (aligned && (!dot_number_read(&aligned, &alignment) || *aligned || alignment == 0 ||
                    alignment > UINT32_MAX || !resource->is_transient))
        return false;
    resource->num_versions = (uint32_t)num_versions;
    resource->alignment = (uint32_t)alignment;
    return dot_number_read(&bytes, &resource->bytes) && !*bytes && resource->bytes > 0;
}

// "NAME:MEMORY@HOME": all but the name may be missing.
static bool read_named(char *word, struct dot_resource *resource)
{
    const char *home = cut(word, '@');
    if (home && !read_home(home, resource))
        return false;
    char *colon = strchr(word, ':');
    if (colon)
        *colon = '\0';
    if (colon && !read_memory(colon + 1, resource))
        return false;
    dot_name_decode(word);
    if (resource->is_transient && resource->bytes == 0)
        return false; // what is no memory is not chosen
    resource->name = *word ? strdup(word) : NULL;
    return resource->name;
}

static bool read_resource(struct dot_file *file, char *word, struct dot_resource *resource)
{
    if (*word == '#')
        return read_range(file, word + 1, resource);
    if (*word == '^')
        return read_earlier(file, word + 1, resource);
    return read_named(word, resource);
}

uint32_t dot_words_count(const char *text)
{
    uint32_t num = 0;
    for (text += strspn(text, " \n"); *text; text += strspn(text, " \n")) {
        num++;
        text += strcspn(text, " \n");
    }
    return num;
}

enum exit_status dot_resources_read(struct dot_file *file, const char *text)
{
    char *copy = strdup(text), *rest = copy;
    file->resources = calloc((size_t)dot_words_count(text) + 1, sizeof(*file->resources));
    if (!copy || !file->resources) {
        free(copy);
        return dot_text_no_memory(&file->text);
    }
    enum exit_status status = EXIT_DONE;
    for (char *word; status == EXIT_DONE && (word = strsep(&rest, " \n"));) {
        struct dot_resource *resource = &file->resources[file->num_resources];
        if (!*word)
            continue;
        char copy_of_word[64];
        snprintf(copy_of_word, sizeof(copy_of_word), "%.60s", word);
        if (read_resource(file, word, resource))
            file->num_resources++;
        else
            status =
                fail_in_file(file->text.path, 1,
                             "resource %" PRIu32 ", '%s': a resource is NAME, NAME:BYTES, either "
                             "with @placeN, @all, @none or @node behind it, NAME:BYTES*VERSIONS, "
                             "#BUFFER:OFFSET:BYTES within a buffer before it, or ^VERSIONED:FRAMES",
                             file->num_resources, copy_of_word);
    }
    free(copy);
    return status;
}

// "0 2": numbers of resources.
enum exit_status dot_outputs_read(struct dot_file *file, const char *text)
{
    bool is_read = true;
    for (const char *next = text + strspn(text, " \n"); *next && is_read;
         next += strspn(next, " \n")) {
        uint64_t resource = 0;
        is_read = dot_number_read(&next, &resource) && (!*next || strchr(" \n", *next)) &&
                  resource < file->num_resources;
        if (is_read)
            file->resources[resource].is_output = true;
    }
    return is_read ? EXIT_DONE
                   : fail_in_file(file->text.path, 1,
                                  "outputs '%.60s': these are numbers of the graph's resources, "
                                  "from 0",
                                  text);
}

static bool read_mode(const char **text, braid_access_mode *out_mode)
{
    static const struct {
        const char *text;
        braid_access_mode mode;
    } modes[] = { { "rw", BRAID_READ_WRITE },
                  { "r", BRAID_READ },
                  { "w", BRAID_WRITE },
                  { "x", BRAID_EXCLUSIVE },
                  { "a", BRAID_ACCUMULATE } };
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        size_t length = strlen(modes[i].text);
        if (strncmp(*text, modes[i].text, length) == 0) {
            *text += length;
            *out_mode = modes[i].mode;
            return true;
        }
    }
    return false;
}

enum exit_status dot_resource_refuse(const struct dot_file *file, uint32_t node, const char *name,
                                     const char *text, uint64_t resource)
{
    char what[160];
    if (file->num_resources == 0)
        snprintf(what, sizeof(what),
                 "the graph has no resources: its attribute 'resources' lists them");
    else
        snprintf(what, sizeof(what),
                 "there is no resource %" PRIu64 ": those in 'resources' are numbered from 0 to "
                 "%" PRIu32,
                 resource, file->num_resources - 1);
    return dot_attribute_refuse(file, node, name, text, what);
}

enum exit_status dot_accesses_read(struct dot_file *file, uint32_t node, const char *text)
{
    static const char what[] =
        "accesses are written as r0 w1 rw2 x3 a4, by the number of a resource";
    uint32_t num = dot_words_count(text);
    size_t most = (size_t)file->num_accesses + num;
    struct dot_access *accesses = realloc(file->accesses, most * sizeof(*accesses) + 1);
    if (!accesses || most > UINT32_MAX)
        return dot_text_no_memory(&file->text);
    file->accesses = accesses;
    file->nodes[node].first_access = file->num_accesses;
    file->nodes[node].num_accesses = num;
    const char *next = text + strspn(text, " \n");
    for (uint32_t i = 0; i < num; i++, next += strspn(next, " \n")) {
        uint64_t resource = 0;
        braid_access_mode mode;
        bool is_read = read_mode(&next, &mode) && dot_number_read(&next, &resource) &&
                       (!*next || strchr(" \n", *next));
        if (!is_read)
            return dot_attribute_refuse(file, node, "accesses", text, what);
        if (resource >= file->num_resources)
            return dot_resource_refuse(file, node, "accesses", text, resource);
        file->accesses[file->num_accesses++] = (struct dot_access){ (uint32_t)resource, mode };
    }
    return EXIT_DONE;
}

// A resource that a node accesses by a pointer of its own.
struct pointer {
    uint64_t resource;
    bool is_accessed;
};

static int compare_pointers(const void *left, const void *right)
{
    const struct pointer *a = left, *b = right;
    return (a->resource > b->resource) - (a->resource < b->resource);
}

// Each once, in order. False: a word is no number.
static bool read_pointers(const char *text, struct pointer *pointers, size_t *out_num)
{
    size_t num = 0, kept = 0;
    for (const char *next = text + strspn(text, " \n"); *next; next += strspn(next, " \n"))
        if (!dot_number_read(&next, &pointers[num++].resource) || (*next && !strchr(" \n", *next)))
            return false;
    qsort(pointers, num, sizeof(*pointers), compare_pointers);
    for (size_t i = 0; i < num; i++)
        if (i == 0 || pointers[i].resource != pointers[i - 1].resource)
            pointers[kept++] = pointers[i];
    *out_num = kept;
    return true;
}

// False: the node accesses none of some resource.
static bool mark_pointers(struct dot_file *file, const struct dot_node *node,
                          struct pointer *pointers, size_t num)
{
    size_t num_accessed = 0;
    for (uint32_t i = 0; i < node->num_accesses; i++) {
        struct dot_access *access = &file->accesses[node->first_access + i];
        const struct pointer key = { access->resource, false };
        struct pointer *found = bsearch(&key, pointers, num, sizeof(key), compare_pointers);
        if (!found)
            continue;
        access->by_pointer = true;
        num_accessed += !found->is_accessed;
        found->is_accessed = true;
    }
    return num_accessed == num;
}

enum exit_status dot_pointers_read(struct dot_file *file, uint32_t node, const char *text)
{
    struct dot_node *read = &file->nodes[node];
    if (strcmp(text, "any") == 0) {
        read->is_undeclared = true;
        return EXIT_DONE;
    }
    if (strcmp(text, "all") == 0) {
        for (uint32_t i = 0; i < read->num_accesses; i++)
            file->accesses[read->first_access + i].by_pointer = true;
        return EXIT_DONE;
    }
    struct pointer *pointers = calloc((size_t)dot_words_count(text) + 1, sizeof(*pointers));
    if (!pointers)
        return dot_text_no_memory(&file->text);
    size_t num = 0;
    bool is_read = read_pointers(text, pointers, &num) && mark_pointers(file, read, pointers, num);
    free(pointers);
    return is_read ? EXIT_DONE
                   : dot_attribute_refuse(file, node, "pointers", text,
                                          "that is all, any, or numbers of resources that the "
                                          "node accesses");
}
