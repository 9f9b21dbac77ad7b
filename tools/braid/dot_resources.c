// SPDX-License-Identifier: Apache-2.0
// Resources and accesses in DOT files: "list particles:4096@1 #1:0:1024", and "r0 rw2" of a node.
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "dot_attributes.h"

static int hex_digit(char c)
{
    static const char digits[] = "0123456789abcdef";
    const char *found = c ? strchr(digits, c) : NULL;
    return found ? (int)(found - digits) : -1;
}

// Takes %xx out of a name, in place.
static void decode(char *name)
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

static bool read_number(const char **text, uint64_t *out_number)
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
    return *text++ == ':' && read_number(&text, out_bytes) && *out_bytes > 0 && !*text;
}

// "#BUFFER:OFFSET:BYTES"
static bool read_range(const struct dot_file *file, const char *text, struct dot_resource *range)
{
    uint64_t buffer = 0, end = 0;
    if (!read_number(&text, &buffer) || *text++ != ':' || !read_number(&text, &range->offset) ||
        *text != ':' || !read_size(text, &range->bytes) || buffer >= file->num_resources)
        return false;
    range->buffer = (uint32_t)buffer;
    const struct dot_resource *whole = &file->resources[buffer];
    return whole->name && !__builtin_add_overflow(range->offset, range->bytes, &end) &&
           end <= whole->bytes;
}

// "1", "all" or "none": the device of a resource, each, or that of who uses it.
static bool read_home(const char *text, struct dot_resource *resource)
{
    uint64_t device = 0;
    if (strcmp(text, "none") == 0)
        return resource->is_transient = true;
    if (strcmp(text, "all") == 0) {
        resource->home = BRAID_EVERYWHERE;
        return true;
    }
    if (!read_number(&text, &device) || *text || device >= DOT_MOST_PLACES)
        return false;
    resource->home = BRAID_PLACE(device);
    return true;
}

static bool read_resource(struct dot_file *file, char *word, struct dot_resource *resource)
{
    if (*word == '#')
        return read_range(file, word + 1, resource);
    char *home = strchr(word, '@');
    if (home && !read_home(home + 1, resource))
        return false;
    if (home)
        *home = '\0';
    char *colon = strchr(word, ':');
    if (!read_size(colon ? colon : "", &resource->bytes))
        return false;
    if (colon)
        *colon = '\0';
    decode(word);
    if (resource->is_transient && resource->bytes == 0)
        return false; // what is no memory is not chosen
    resource->name = *word ? strdup(word) : NULL;
    return resource->name;
}

static uint32_t count_words(const char *text)
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
    file->resources = calloc((size_t)count_words(text) + 1, sizeof(*file->resources));
    if (!copy || !file->resources) {
        free(copy);
        return fail(EXIT_FAILED, "out of memory for reading %s", file->text.path);
    }
    enum exit_status status = EXIT_DONE;
    for (char *word; status == EXIT_DONE && (word = strsep(&rest, " \n"));) {
        struct dot_resource *resource = &file->resources[file->num_resources];
        if (!*word)
            continue;
        if (read_resource(file, word, resource))
            file->num_resources++;
        else
            status =
                fail_in_file(file->text.path, 1,
                             "resource %" PRIu32 ", '%s': a resource is NAME, NAME:BYTES, either "
                             "with @DEVICE, @all or @none behind it, or "
                             "#BUFFER:OFFSET:BYTES within a buffer before it",
                             file->num_resources, word);
    }
    free(copy);
    return status;
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

enum exit_status dot_accesses_read(struct dot_file *file, uint32_t node, const char *text)
{
    static const char what[] =
        "accesses are written as r0 w1 rw2 x3 a4, by the number of a resource";
    uint32_t num = count_words(text);
    size_t most = (size_t)file->num_accesses + num;
    struct dot_access *accesses = realloc(file->accesses, most * sizeof(*accesses) + 1);
    if (!accesses || most > UINT32_MAX)
        return fail(EXIT_FAILED, "out of memory for reading %s", file->text.path);
    file->accesses = accesses;
    file->nodes[node].first_access = file->num_accesses;
    file->nodes[node].num_accesses = num;
    const char *next = text + strspn(text, " \n");
    for (uint32_t i = 0; i < num; i++, next += strspn(next, " \n")) {
        uint64_t resource = 0;
        braid_access_mode mode;
        bool is_read = read_mode(&next, &mode) && read_number(&next, &resource) &&
                       resource < file->num_resources && (!*next || strchr(" \n", *next));
        if (!is_read)
            return dot_attribute_refuse(file, node, "accesses", text, what);
        file->accesses[file->num_accesses++] = (struct dot_access){ (uint32_t)resource, mode };
    }
    return EXIT_DONE;
}

static bool mark_pointer(struct dot_file *file, const struct dot_node *node, uint64_t resource)
{
    bool is_found = false;
    for (uint32_t i = 0; i < node->num_accesses; i++) {
        struct dot_access *access = &file->accesses[node->first_access + i];
        if (access->resource != resource)
            continue;
        access->by_pointer = true;
        is_found = true;
    }
    return is_found;
}

enum exit_status dot_pointers_read(struct dot_file *file, uint32_t node, const char *text)
{
    struct dot_node *read = &file->nodes[node];
    bool is_read = true;
    if (strcmp(text, "any") == 0) {
        read->is_undeclared = true;
        return EXIT_DONE;
    }
    if (strcmp(text, "all") == 0) {
        for (uint32_t i = 0; i < read->num_accesses; i++)
            file->accesses[read->first_access + i].by_pointer = true;
        return EXIT_DONE;
    }
    for (const char *next = text + strspn(text, " \n"); *next && is_read;
         next += strspn(next, " \n")) {
        uint64_t resource = 0;
        is_read = read_number(&next, &resource) && (!*next || strchr(" \n", *next)) &&
                  mark_pointer(file, read, resource);
    }
    return is_read ? EXIT_DONE
                   : dot_attribute_refuse(file, node, "pointers", text,
                                          "that is all, any, or numbers of resources that the "
                                          "node accesses");
}
