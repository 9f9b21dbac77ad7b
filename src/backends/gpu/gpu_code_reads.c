// SPDX-License-Identifier: Apache-2.0
// Which files a compilation may read besides its source.
#include "backends/gpu/gpu_code_reads.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"

enum { MOST_FILES = 4096, MOST_FILE_BYTES = 16 << 20 };

struct reads {
    FILE *key;
    const struct gpu_build *build;
    struct array folders; // const char *, where names are looked for
    struct array paths;   // char *, of files that were found
    bool knows_own, failed;
    const char *reason;
};

void braid_gpu_put_part(FILE *key, const char *what, const char *value)
{
    fprintf(key, "%s %zu %s\n", what, strlen(value), value);
}

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

// ---- options ----

static void add_folder(struct reads *reads, const char *folder)
{
    const char **slot = braid_array_append(&reads->folders, 1, sizeof(*slot));
    reads->failed |= !slot;
    if (slot)
        *slot = folder;
}

// The beginnings of options that name no file.
static bool names_no_file(const char *option)
{
    static const char *const known[] = {
        "-D",
        "--define-macro",
        "-U",
        "--undefine-macro",
        "-std",
        "--std",
        "-O",
        "-use_fast_math",
        "-G",
        "--use_fast_math",
        "-lineinfo",
        "--generate-line-info",
        "-ftz",
        "--device-debug",
        "-maxrregcount",
        "--maxrregcount",
        "--ftz",
        "-prec-",
        "--prec-",
        "-fmad",
        "--fmad",
        "-w",
        "-W",
        "--disable-warnings",
        "-restrict",
        "--restrict",
        "--device-as-default-execution-space",
        "-dopt",
        "--dopt",
        "-default-device",
        "--extra-device-vectorization",
        "-rdc",
        "--relocatable-device-code",
        "--diag-",
        "-diag-",
        "-ffast-math",
        "-fno-",
        "-munsafe-fp-atomics",
        "-ffp-contract",
    };
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (begins(option, known[i]))
            return true;
    }
    return option[0] != '-' && option[0] != '@'; // the value of the one before
}

static void read_options(struct reads *reads)
{
    static const char *const folder[] = { "-I", "--include-path=", "--include-path" };
    const struct gpu_build *build = reads->build;
    for (size_t i = 0; i < build->num_options && !reads->reason; i++) {
        const char *option = build->options[i], *value = NULL;
        braid_gpu_put_part(reads->key, "option", option);
        for (size_t j = 0; j < 3 && !value; j++)
            value = begins(option, folder[j]) ? option + strlen(folder[j]) : NULL;
        if (value && !*value && i + 1 < build->num_options) {
            value = build->options[++i];
            braid_gpu_put_part(reads->key, "option", value);
        }
        if (value)
            add_folder(reads, value);
        else if (!names_no_file(option))
            reads->reason = "an option may name a file";
    }
}

// ---- files ----

// The content of a regular file, for the caller to free; NULL: there is none, or `failed`.
static char *read_file(struct reads *reads, const char *path)
{
    struct stat status;
    if (stat(path, &status) || !S_ISREG(status.st_mode))
        return NULL;
    FILE *file = fopen(path, "rbe");
    if (!file)
        return NULL;
    bool fits = status.st_size <= MOST_FILE_BYTES;
    char *text = fits ? calloc((size_t)status.st_size + 1, 1) : NULL;
    reads->failed |= fits && !text;
    if (text && fread(text, 1, (size_t)status.st_size + 1, file) != (size_t)status.st_size) {
        free(text);
        text = NULL;
    }
    if (!text)
        reads->reason = "a file that it may include cannot be read";
    fclose(file);
    return text;
}

// True if there is such a file, which is remembered.
static bool find_file(struct reads *reads, const char *folder, size_t folder_length,
                      const char *name, size_t length)
{
    struct stat status;
    char *path = malloc(folder_length + 1 + length + 1);
    if (!path) {
        reads->failed = true;
        return false;
    }
    memcpy(path, folder, folder_length);
    path[folder_length] = '/';
    memcpy(path + folder_length + 1, name, length);
    path[folder_length + 1 + length] = '\0';
    bool found = !stat(path, &status) && S_ISREG(status.st_mode), is_new = found;
    for (size_t i = 0; i < reads->paths.num && is_new; i++)
        is_new = strcmp(((char **)reads->paths.items)[i], path) != 0;
    char **slot = is_new ? braid_array_append(&reads->paths, 1, sizeof(*slot)) : NULL;
    reads->failed |= is_new && !slot;
    if (reads->paths.num > MOST_FILES)
        reads->reason = "it may include too many files";
    if (slot)
        *slot = path;
    else
        free(path);
    return found;
}

// Every file and header that the name may mean, included by a file in `folder`.
static void look_up(struct reads *reads, const char *folder, size_t folder_length, const char *name,
                    size_t length)
{
    bool found = false;
    for (size_t i = 0; i < reads->build->num_headers && !found; i++) {
        const char *header = reads->build->headers[i].name;
        found = strlen(header) == length && memcmp(header, name, length) == 0;
    }
    if (length > 0 && *name == '/')
        found |= find_file(reads, "", 0, name, length);
    found |= find_file(reads, folder, folder_length, name, length);
    found |= find_file(reads, ".", 1, name, length);
    for (size_t i = 0; i < reads->folders.num; i++) {
        const char *other = ((const char **)reads->folders.items)[i];
        found |= find_file(reads, other, strlen(other), name, length);
    }
    if (!found && !reads->knows_own)
        reads->reason = "it may include a file that is in no folder Braid knows of";
}

// ---- texts ----

static const char *skip_space_and_comments(const char *at)
{
    for (;;) {
        at += strspn(at, " \t\v\f\r\n");
        if (at[0] != '/' || at[1] != '*')
            return at;
        const char *end = strstr(at + 2, "*/");
        at = end ? end + 2 : at + strlen(at);
    }
}

// Lines that go on in the next one, joined; "\r\n" counts as one end.
static char *join_lines(const char *source)
{
    char *text = malloc(strlen(source) + 1), *to = text;
    if (!text)
        return NULL;
    while (*source) {
        if (source[0] == '\\' && source[1] == '\n')
            source += 2;
        else if (source[0] == '\\' && source[1] == '\r' && source[2] == '\n')
            source += 3;
        else
            *to++ = *source++;
    }
    *to = '\0';
    return text;
}

// "name" or <name> at `at`.
static void read_name(struct reads *reads, const char *folder, size_t folder_length, const char *at)
{
    const char *name = skip_space_and_comments(at);
    const char *end = *name == '"'   ? strchr(name + 1, '"')
                      : *name == '<' ? strchr(name + 1, '>')
                                     : NULL;
    if (!end || strcspn(name, "\n") < (size_t)(end - name))
        reads->reason = "it may include a file whose name is not written out";
    else
        look_up(reads, folder, folder_length, name + 1, (size_t)(end - name - 1));
}

// Also where the directive stands in a comment or a string.
static void read_directive(struct reads *reads, const char *folder, size_t folder_length,
                           const char *word)
{
    static const char *const words[] = { "include_next", "include" };
    if (begins(word, "import") || begins(word, "embed"))
        reads->reason = "it may import or embed a file";
    for (size_t i = 0; i < 2; i++) {
        if (!begins(word, words[i]))
            continue;
        read_name(reads, folder, folder_length, word + strlen(words[i]));
        return;
    }
}

// The last sign is another way to write a backslash.
static const char *find_other_reads(const char *text)
{
    static const struct {
        const char *sign, *reason;
    } others[] = { { "__has_embed", "it asks which files there are" },
                   { "__DATE__", "it asks for the date" },
                   { "__TIME__", "it asks for the time" },
                   { "__TIMESTAMP__", "it asks for the time" },
                   { "\?\?/", "it has trigraphs" } };
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        if (strstr(text, others[i].sign))
            return others[i].reason;
    }
    return NULL;
}

// `path`: of the text, whose folder is looked in first.
static void read_text(struct reads *reads, const char *path, const char *source)
{
    static const char asks[] = "__has_include";
    const char *slash = strrchr(path, '/');
    size_t length = slash ? (size_t)(slash - path) : 1;
    const char *folder = slash ? path : ".";
    char *text = join_lines(source);
    reads->failed |= !text;
    if (!text)
        return;
    const char *other = find_other_reads(text);
    if (other)
        reads->reason = other;
    for (const char *at = text; *at && !reads->reason && !reads->failed; at++) {
        size_t sign = *at == '#' ? 1 : at[0] == '%' && at[1] == ':' ? 2 : 0;
        if (sign)
            read_directive(reads, folder, length, skip_space_and_comments(at + sign));
        if (*at != '_' || !begins(at, asks))
            continue;
        const char *behind = at + sizeof(asks) - 1;
        behind += begins(behind, "_next") ? 5 : 0;
        behind = skip_space_and_comments(behind);
        if (*behind == '(')
            read_name(reads, folder, length, behind + 1);
    }
    free(text);
}

static void read_all(struct reads *reads, const char *source)
{
    const struct gpu_build *build = reads->build;
    read_options(reads);
    for (size_t i = 0; i < build->num_folders; i++) {
        braid_gpu_put_part(reads->key, "folder", build->folders[i]);
        add_folder(reads, build->folders[i]);
    }
    read_text(reads, "", source);
    for (size_t i = 0; i < build->num_headers && !reads->reason; i++) {
        braid_gpu_put_part(reads->key, "header", build->headers[i].name);
        braid_gpu_put_part(reads->key, "text", build->headers[i].text);
        read_text(reads, build->headers[i].name, build->headers[i].text);
    }
    for (size_t i = 0; i < reads->paths.num && !reads->reason && !reads->failed; i++) {
        const char *path = ((char **)reads->paths.items)[i];
        char *text = read_file(reads, path);
        if (!text)
            continue;
        braid_gpu_put_part(reads->key, "file", path);
        braid_gpu_put_part(reads->key, "text", text);
        read_text(reads, path, text);
        free(text);
    }
}

bool braid_gpu_put_reads(FILE *key, const char *source, const struct gpu_build *build,
                         bool knows_own, const char **out_reason)
{
    struct reads reads = { .key = key, .build = build, .knows_own = knows_own };
    read_all(&reads, source);
    for (size_t i = 0; i < reads.paths.num; i++)
        free(((char **)reads.paths.items)[i]);
    braid_array_finish(&reads.paths);
    braid_array_finish(&reads.folders);
    *out_reason = reads.failed ? NULL : reads.reason;
    return !reads.failed && !reads.reason;
}
