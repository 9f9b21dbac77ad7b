// SPDX-License-Identifier: Apache-2.0
// What the run-time compiler made, kept on disk from process to process.
#include "backends/gpu/gpu_code_cache.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/disk_cache.h"

// Counted up whenever Braid does something else with what it reads.
#define KEY_FORMAT "braid code 1"

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

// Also where the directive stands in a comment or a string.
static bool has_including_directive(const char *text)
{
    static const char *const words[] = { "include", "import", "embed" };
    for (const char *at = text; *at; at++) {
        size_t sign = *at == '#' ? 1 : at[0] == '%' && at[1] == ':' ? 2 : 0;
        const char *word = sign ? skip_space_and_comments(at + sign) : "";
        for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
            if (strncmp(word, words[i], strlen(words[i])) == 0)
                return true;
        }
    }
    return false;
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

// NVRTC finds files beside the process, so that the same text may come to something else tomorrow.
// The last sign is another way to write a backslash.
static bool depends_on_more(const char *source)
{
    static const char *const signs[] = { "__has_include", "__has_embed",   "__DATE__",
                                         "__TIME__",      "__TIMESTAMP__", "\?\?/" };
    char *text = join_lines(source);
    bool depends = !text || has_including_directive(text);
    for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]) && !depends; i++)
        depends = strstr(text, signs[i]) != NULL;
    free(text);
    return depends;
}

static const char *environment(const char *name)
{
    const char *value = secure_getenv(name);
    return value ? value : "";
}

// Parts that may hold anything stand behind their length, so that no two keys read alike.
static void put(FILE *file, const char *what, const char *value)
{
    fprintf(file, "%s %zu %s\n", what, strlen(value), value);
}

struct gpu_code_key braid_gpu_code_key(const struct gpu_backend *gpu,
                                       const struct gpu_code_inputs *inputs)
{
    struct gpu_code_key key = { 0 };
    if (!gpu->cache || !*inputs->compiler || depends_on_more(inputs->source))
        return key;
    FILE *file = open_memstream(&key.bytes, &key.num);
    if (!file)
        return key;
    fprintf(file, "%s\n%s\ndriver %d\n", KEY_FORMAT, gpu->vendor->name, gpu->version);
    put(file, "compiler", inputs->compiler);
    put(file, "device", gpu->architecture);
    put(file, "option", inputs->option);
    // hiprtc adds what these hold to its options.
    if (gpu->vendor->index == GPU_HIP) {
        put(file, "append", environment("HIPRTC_COMPILE_OPTIONS_APPEND"));
        put(file, "link", environment("HIPRTC_LINK_OPTIONS_APPEND"));
    }
    put(file, "name", inputs->name);
    put(file, "source", inputs->source);
    bool failed = ferror(file);
    if (fclose(file) || failed) {
        free(key.bytes);
        key = (struct gpu_code_key){ 0 };
    }
    return key;
}

char *braid_gpu_code_read(const struct gpu_backend *gpu, const struct gpu_code_key *key)
{
    size_t bytes = 0;
    return key->bytes ? braid_disk_cache_read(gpu->cache, key->bytes, key->num, &bytes) : NULL;
}

void braid_gpu_code_write(const struct gpu_backend *gpu, const struct gpu_code_key *key,
                          const char *image, size_t bytes)
{
    if (key->bytes)
        braid_disk_cache_write(gpu->cache, key->bytes, key->num, image, bytes);
}
