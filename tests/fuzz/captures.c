// SPDX-License-Identifier: Apache-2.0
// Any bytes as a capture, with a size and a sum that fit: read, and made into a graph that is
// planned.
#include <stdlib.h>
#include <string.h>

#include <braid/braid.h>

#include "base/hash.h"
#include "fuzz/fuzz.h"
#include "replay_graph.h"
#include "support/wide_plan.h"

enum { SIZE_AT = 12, SUM_BYTES = 8, HEAD_BYTES = 20 };

static void put_number(uint8_t *to, uint64_t number)
{
    for (int i = 0; i < 8; i++)
        to[i] = (uint8_t)(number >> 8 * i);
}

static void ignore_call(void *user)
{
    (void)user;
}

static void make_graph(struct capture_file *file, unsigned char *const *memory,
                       braid_host_function *const *calls, bool is_planned)
{
    const struct replay_graph replay = {
        .file = file, .memory = memory, .host_calls = calls, .is_planned = is_planned
    };
    const braid_schedule_options options = { .costs = &free_costs, .max_lanes = 4 };
    braid_graph *graph;
    braid_schedule *schedule;
    if (replay_graph_create(&replay, &graph) != EXIT_DONE)
        return;
    if (braid_schedule_create(graph, &options, &schedule) == BRAID_OK) {
        fuzz_expect(braid_schedule_verify(schedule, graph) == BRAID_OK);
        braid_schedule_destroy(schedule);
    }
    braid_graph_destroy(graph);
}

// Addresses are never followed, so memory need not be there: only its place.
static void use(struct capture_file *file)
{
    unsigned char **memory = calloc((size_t)file->num_resources + 1, sizeof(*memory));
    braid_host_function **calls = calloc((size_t)file->num_nodes + 1, sizeof(*calls));
    fuzz_expect(memory && calls);
    uintptr_t next = UINT64_C(1) << 40;
    for (uint32_t i = 0; i < file->num_resources; i++) {
        const struct capture_resource *it = &file->resources[i];
        if (it->kind != CAPTURE_BUFFER && it->kind != CAPTURE_TRANSIENT)
            continue;
        memory[i] = (unsigned char *)next;
        next += it->bytes % (UINT64_C(1) << 40) + 256;
    }
    for (uint32_t i = 0; i < file->num_nodes; i++)
        calls[i] = ignore_call;
    make_graph(file, memory, calls, false);
    make_graph(file, memory, calls, true);
    free(memory);
    free(calls);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    struct capture_file file;
    message_be_quiet();
    uint8_t *copy = malloc(length ? length : 1);
    fuzz_expect(copy);
    memcpy(copy, bytes, length);
    if (length >= HEAD_BYTES + SUM_BYTES) {
        memcpy(copy, "BRAIDCAP\1\0\0\0", SIZE_AT);
        put_number(copy + SIZE_AT, length);
        put_number(copy + length - SUM_BYTES, hash_bytes(copy, length - SUM_BYTES));
    }
    if (capture_file_read_bytes("input", copy, length, &file) == EXIT_DONE)
        use(&file);
    capture_file_finish(&file);
    return 0;
}
