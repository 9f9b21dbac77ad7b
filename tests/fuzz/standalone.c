// SPDX-License-Identifier: Apache-2.0
// Runs a fuzz target without a fuzzer: every input of its corpus, and a fixed number made from them
// by changing, cutting and joining, the same on every machine. BRAID_FUZZ_RUNS=N makes N.
#include <dirent.h>
#include <string.h>

#include "fuzz/fuzz.h"
#include "support/random.h"

enum { max_inputs = 4096, max_bytes = 4096 };

struct kept {
    uint8_t *bytes;
    size_t size;
    char name[256];
};

static struct kept kept[max_inputs];
static size_t num_kept;

static void read_input(const char *folder, const char *name)
{
    char path[1024];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    if (!file || num_kept == max_inputs) {
        fprintf(stderr, "%s: cannot be read\n", path);
        exit(1);
    }
    struct kept *input = &kept[num_kept++];
    snprintf(input->name, sizeof(input->name), "%s", name);
    input->bytes = malloc(max_bytes);
    if (!input->bytes)
        exit(1);
    input->size = fread(input->bytes, 1, max_bytes, file);
    fclose(file);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(((const struct kept *)a)->name, ((const struct kept *)b)->name);
}

static void read_corpus(const char *folder)
{
    DIR *open = opendir(folder);
    if (!open) {
        fprintf(stderr, "%s: no such folder\n", folder);
        exit(1);
    }
    for (struct dirent *entry; (entry = readdir(open));)
        if (entry->d_name[0] != '.')
            read_input(folder, entry->d_name);
    closedir(open);
    qsort(kept, num_kept, sizeof(*kept), compare_names);
}

// Appends a piece of a kept input, from a random place to a random place.
static size_t append_piece(struct random *random, uint8_t *bytes, size_t size)
{
    const struct kept *from = &kept[random_below(random, (uint32_t)num_kept)];
    size_t begin = random_below(random, (uint32_t)from->size + 1);
    size_t num = random_below(random, (uint32_t)(from->size - begin) + 1);
    if (num > max_bytes - size)
        num = max_bytes - size;
    memcpy(bytes + size, from->bytes + begin, num);
    return size + num;
}

static size_t make_input(struct random *random, uint8_t *bytes)
{
    size_t size = 0;
    if (num_kept) {
        const struct kept *base = &kept[random_below(random, (uint32_t)num_kept)];
        memcpy(bytes, base->bytes, base->size);
        size =
            random_chance(random, 50) ? base->size : random_below(random, (uint32_t)base->size + 1);
        if (random_chance(random, 50))
            size = append_piece(random, bytes, size);
    }
    uint32_t num_more = random_chance(random, 30) ? random_below(random, 64) : 0;
    while (num_more-- > 0 && size < max_bytes)
        bytes[size++] = (uint8_t)random_next(random);
    for (uint32_t i = random_below(random, 8); size && i > 0; i--)
        bytes[random_below(random, (uint32_t)size)] = (uint8_t)random_next(random);
    return size;
}

// What led to an abort, for a fuzzer to shrink.
static void save_input(const char *path, const uint8_t *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    if (file) {
        fwrite(bytes, 1, size, file);
        fclose(file);
    }
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: %s CORPUS NUM_MADE [LAST_INPUT]\n", argv[0]);
        return 2;
    }
    const char *runs = getenv("BRAID_FUZZ_RUNS");
    unsigned long num_made = strtoul(runs ? runs : argv[2], NULL, 10);
    read_corpus(argv[1]);
    for (size_t i = 0; i < num_kept; i++) {
        fprintf(stderr, "%s\n", kept[i].name);
        LLVMFuzzerTestOneInput(kept[i].bytes, kept[i].size);
    }
    static uint8_t bytes[max_bytes];
    struct random random = { 1 };
    for (unsigned long i = 0; i < num_made; i++) {
        size_t size = make_input(&random, bytes);
        if (argc > 3)
            save_input(argv[3], bytes, size);
        LLVMFuzzerTestOneInput(bytes, size);
    }
    printf("summary: %zu kept inputs, %lu made from them\n", num_kept, num_made);
    for (size_t i = 0; i < num_kept; i++)
        free(kept[i].bytes);
    return 0;
}
