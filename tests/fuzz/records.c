// SPDX-License-Identifier: Apache-2.0
// Any bytes as a record, with a length and a digest that fit: read, and all that it has is used.
// Its last frame is imported and reported, as `braid report` does.
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <braid/import.h>
#include <braid/record.h>

#include "fuzz/fuzz.h"

enum { LENGTH_AT = 16, DIGEST_BYTES = 8 };

static void put_number(uint8_t *to, uint64_t number)
{
    for (int i = 0; i < 8; i++)
        to[i] = (uint8_t)(number >> 8 * i);
}

static uint64_t use_work(const braid_record_contents *contents, const braid_record_work *work)
{
    uint64_t sum = strlen(work->name) + work->has_first_value + work->first_value;
    if (work->bytes)
        sum += braid_record_get_digest(work->bytes, work->num_bytes);
    if (work->parameters)
        sum += braid_record_get_digest(work->parameters, work->parameter_bytes);
    if (work->kernel != BRAID_RECORD_NONE)
        sum += strlen(contents->kernels[work->kernel].name);
    if (work->memory != BRAID_RECORD_NONE)
        sum += strlen(contents->allocations[work->memory].name);
    fuzz_expect(work->kind != BRAID_RECORD_CONDITIONAL || !work->num_bodies ||
                work->graph != BRAID_RECORD_NONE);
    for (uint32_t i = 0; work->graph != BRAID_RECORD_NONE && i < work->num_bodies; i++)
        fuzz_expect(work->graph + i < contents->num_graphs);
    return sum;
}

static void use(const braid_record_contents *contents)
{
    uint64_t sum = strlen(contents->program);
    for (uint32_t i = 0; i < contents->num_operations; i++) {
        const braid_record_operation *row = &contents->operations[i];
        sum += use_work(contents, &row->work);
        for (uint32_t k = 0; k < row->num_befores; k++)
            fuzz_expect(contents->befores[row->first_before + k] < i);
        fuzz_expect(row->stream == BRAID_RECORD_NONE || row->stream < contents->num_streams);
    }
    for (uint32_t g = 0; g < contents->num_graphs; g++)
        for (uint32_t i = 0; i < contents->graphs[g].num_nodes; i++) {
            const braid_record_node *node = &contents->nodes[contents->graphs[g].first_node + i];
            sum += use_work(contents, &node->work);
            for (uint32_t k = 0; k < node->num_befores; k++)
                fuzz_expect(contents->befores[node->first_before + k] < i);
        }
    for (uint32_t i = 0; i < contents->num_modules; i++)
        if (contents->modules[i].text)
            sum += strlen(contents->modules[i].text);
    fuzz_expect(sum != UINT64_MAX);
}

static void report(const braid_record_contents *contents)
{
    static FILE *nowhere;
    const braid_import_options options = { .follows_pointers = true };
    const uint32_t frame = contents->num_frames ? contents->num_frames - 1 : BRAID_RECORD_NONE;
    braid_import *import;
    if (!nowhere)
        nowhere = fopen("/dev/null", "we");
    fuzz_expect(nowhere != NULL);
    if (braid_import_create_recorded(contents, frame, &options, &import))
        return;
    fuzz_expect(braid_import_write(import, BRAID_IMPORT_JSON, nowhere) == BRAID_OK);
    braid_import_destroy(import);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int file = -1;
    char path[64];
    braid_record *record;
    uint8_t *bytes = malloc(size + DIGEST_BYTES);
    if (file < 0)
        file = memfd_create("record", 0);
    fuzz_expect(file >= 0 && bytes);
    memcpy(bytes, data, size);
    const size_t num = size + DIGEST_BYTES;
    if (size >= LENGTH_AT + 8)
        put_number(bytes + LENGTH_AT, num);
    put_number(bytes + size, braid_record_get_digest(bytes, size));
    fuzz_expect(ftruncate(file, 0) == 0 && pwrite(file, bytes, num, 0) == (ssize_t)num);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
    if (braid_record_load(path, &record) == BRAID_OK) {
        use(braid_record_get_contents(record));
        report(braid_record_get_contents(record));
        braid_record_destroy(record);
    }
    free(bytes);
    return 0;
}
