// SPDX-License-Identifier: Apache-2.0
// Reading and writing the file of a saved plan.
#include "saved/saved_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/big_memory.h"
#include "base/error.h"
#include "base/whole_file.h"

enum {
    FORMAT = 1,
    NUM_COSTS = 14,
    HEAD_BYTES = 8 + 4 + 4 + 4 + 8 + 4 + 4 + 8 * NUM_COSTS,
    REGION_BYTES = 4 + 4 + 8 + 8,
    NODE_BYTES = 4 + 4 + 8,
    DELAY_BYTES = 3 * 4,
    CHECK_BYTES = 8,
    PIECE_BYTES = 1 << 16,
};

static const char magic[8] = { 'b', 'r', 'a', 'i', 'd', 'p', 'l', 'n' };

// ---- numbers ----

static void put_number(uint8_t **at, uint64_t number, int num_bytes)
{
    for (int i = 0; i < num_bytes; i++)
        *(*at)++ = (uint8_t)(number >> (8 * i));
}

static uint64_t get_number(const uint8_t **at, int num_bytes)
{
    uint64_t number = 0;
    for (int i = 0; i < num_bytes; i++)
        number |= (uint64_t) * (*at)++ << (8 * i);
    return number;
}

static void put_32(uint8_t **at, uint32_t number)
{
    put_number(at, number, 4);
}

static uint32_t get_32(const uint8_t **at)
{
    return (uint32_t)get_number(at, 4);
}

static uint64_t check_of(const uint8_t *bytes, size_t num)
{
    uint64_t check = saved_mix(0, num);
    const uint8_t *at = bytes;
    while (num >= 8) {
        check = saved_mix(check, get_number(&at, 8));
        num -= 8;
    }
    return saved_mix(check, get_number(&at, (int)num));
}

// ---- the cost model ----

// Its members as numbers, in their order.
static void costs_to_numbers(const braid_cost_model *costs, uint64_t *numbers)
{
    const uint64_t all[NUM_COSTS] = {
        costs->default_cost_ns, costs->node_ns,      costs->wait_ns,        costs->root_ns,
        costs->max_concurrent,  costs->host_issues,  costs->max_threads,    costs->issue_ns,
        costs->issue_wait_ns,   costs->early_ns,     costs->island_call_ns, costs->island_start_ns,
        costs->island_round_ns, costs->iteration_ns,
    };
    memcpy(numbers, all, sizeof(all));
}

static void costs_from_numbers(const uint64_t *numbers, braid_cost_model *costs)
{
    *costs = (braid_cost_model){
        .default_cost_ns = numbers[0],
        .node_ns = numbers[1],
        .wait_ns = numbers[2],
        .root_ns = numbers[3],
        .max_concurrent = (uint32_t)numbers[4],
        .host_issues = (uint32_t)numbers[5],
        .max_threads = numbers[6],
        .issue_ns = numbers[7],
        .issue_wait_ns = numbers[8],
        .early_ns = numbers[9],
        .island_call_ns = numbers[10],
        .island_start_ns = numbers[11],
        .island_round_ns = numbers[12],
        .iteration_ns = numbers[13],
    };
}

// ---- writing ----

static size_t num_bytes_of(const struct saved_plan *plan)
{
    size_t num = HEAD_BYTES + 4 + (size_t)plan->num_delays * DELAY_BYTES + CHECK_BYTES;
    for (uint32_t i = 0; i < plan->num_regions; i++)
        num += REGION_BYTES + (size_t)plan->regions[i].num_nodes * NODE_BYTES;
    return num;
}

static void put_head(uint8_t **at, const struct saved_plan *plan)
{
    uint64_t costs[NUM_COSTS];
    memcpy(*at, magic, sizeof(magic));
    *at += sizeof(magic);
    put_32(at, FORMAT);
    put_32(at, plan->num_nodes);
    put_32(at, plan->num_regions);
    put_number(at, plan->digest, 8);
    put_32(at, plan->options.max_lanes);
    put_32(at, (plan->options.fixed_lanes ? 1u : 0) | (plan->options.ignore_costs ? 2u : 0));
    costs_to_numbers(&plan->options.costs, costs);
    for (int i = 0; i < NUM_COSTS; i++)
        put_number(at, costs[i], 8);
}

static void put_region(uint8_t **at, const struct saved_region *region)
{
    put_32(at, region->num_nodes);
    put_32(at, region->num_lanes);
    put_number(at, region->structure, 8);
    put_number(at, region->costs, 8);
    for (uint32_t i = 0; i < region->num_nodes; i++) {
        put_32(at, region->nodes[i].node);
        put_32(at, region->nodes[i].lane);
        put_number(at, region->nodes[i].start_ns, 8);
    }
}

static braid_status write_bytes(const char *path, const uint8_t *bytes, size_t num)
{
    struct whole_file file;
    if (!braid_whole_file_open(path, &file))
        return braid_error(BRAID_IO_ERROR, "%s cannot be written: %s", path, strerror(errno));
    bool done = fwrite(bytes, 1, num, file.stream) == num;
    if (!braid_whole_file_close(&file, done) || !done)
        return braid_error(BRAID_IO_ERROR, "%s could not be written: %s", path,
                           errno ? strerror(errno) : "a write failed");
    return BRAID_OK;
}

braid_status braid_saved_write(const char *path, const struct saved_plan *plan)
{
    size_t num = num_bytes_of(plan);
    uint8_t *bytes = braid_allocate_big(num), *at = bytes;
    if (!bytes)
        return braid_error_no_memory("a saved plan");
    put_head(&at, plan);
    for (uint32_t i = 0; i < plan->num_regions; i++)
        put_region(&at, &plan->regions[i]);
    put_32(&at, plan->num_delays);
    for (uint32_t i = 0; i < plan->num_delays; i++) {
        put_32(&at, plan->delays[i].first);
        put_32(&at, plan->delays[i].second);
        put_32(&at, plan->delays[i].cause);
    }
    put_number(&at, check_of(bytes, (size_t)(at - bytes)), 8);
    braid_status status = write_bytes(path, bytes, num);
    braid_free(bytes);
    return status;
}

// ---- reading ----

struct reader {
    const char *path;
    const uint8_t *at, *end; // without the check
};

static braid_status refuse(const char *path)
{
    return braid_error_invalid("%s is no saved plan", path);
}

static braid_status refuse_damaged(const char *path)
{
    return braid_error_invalid("%s is damaged: save the plan again", path);
}

static bool has(const struct reader *reader, uint64_t num, uint32_t item_bytes)
{
    return num <= (uint64_t)(reader->end - reader->at) / item_bytes;
}

// The magic number and the format. The rest of an endless file is not read.
static braid_status check_kind(const char *path, const struct array *bytes)
{
    const uint8_t *at = bytes->items;
    if (bytes->num < sizeof(magic) + 4 || memcmp(at, magic, sizeof(magic)) != 0)
        return refuse(path);
    at += sizeof(magic);
    uint32_t format = get_32(&at);
    if (format != FORMAT)
        return braid_error_invalid("%s is of format %" PRIu32 ", and this version reads %d", path,
                                   format, FORMAT);
    return bytes->num < HEAD_BYTES + CHECK_BYTES ? refuse_damaged(path) : BRAID_OK;
}

// No file of a graph that size has more bytes.
static uint64_t most_bytes(const struct array *bytes)
{
    const uint8_t *at = (const uint8_t *)bytes->items + sizeof(magic) + 4;
    uint64_t num_nodes = get_32(&at), num_regions = get_32(&at);
    return HEAD_BYTES + 4 + CHECK_BYTES + num_nodes * (NODE_BYTES + DELAY_BYTES) +
           num_regions * REGION_BYTES;
}

static braid_status read_bytes(const char *path, FILE *file, struct array *bytes)
{
    for (size_t num = PIECE_BYTES; num == PIECE_BYTES;) {
        uint8_t *piece = braid_array_append(bytes, PIECE_BYTES, 1);
        if (!piece)
            return braid_error_no_memory("a saved plan");
        num = fread(piece, 1, PIECE_BYTES, file);
        bytes->num -= PIECE_BYTES - num;
        if (ferror(file))
            return braid_error(BRAID_IO_ERROR, "%s could not be read: %s", path, strerror(errno));
        braid_status status = check_kind(path, bytes);
        if (status)
            return status;
        if (bytes->num > most_bytes(bytes))
            return refuse_damaged(path);
    }
    return BRAID_OK;
}

static braid_status check_graph(const char *path, const struct saved_plan *found,
                                uint32_t num_nodes, uint64_t digest)
{
    if (found->num_nodes != num_nodes)
        return braid_error_invalid("%s is of another graph: of %" PRIu32
                                   " nodes, and this has %" PRIu32,
                                   path, found->num_nodes, num_nodes);
    if (found->digest != digest)
        return braid_error_invalid("%s is of another graph: of digest %016" PRIx64
                                   ", and this is %016" PRIx64
                                   ": a kind, name, edge, bundle, access or loop differs",
                                   path, found->digest, digest);
    return BRAID_OK;
}

static void get_head(struct reader *reader, struct saved_plan *plan)
{
    uint64_t costs[NUM_COSTS];
    reader->at += sizeof(magic) + 4;
    plan->num_nodes = get_32(&reader->at);
    plan->num_regions = get_32(&reader->at);
    plan->digest = get_number(&reader->at, 8);
    plan->options.max_lanes = get_32(&reader->at);
    uint32_t flags = get_32(&reader->at);
    plan->options.fixed_lanes = flags & 1;
    plan->options.ignore_costs = flags & 2;
    for (int i = 0; i < NUM_COSTS; i++)
        costs[i] = get_number(&reader->at, 8);
    costs_from_numbers(costs, &plan->options.costs);
}

static braid_status get_region(struct reader *reader, struct saved_region *region)
{
    if (!has(reader, 1, REGION_BYTES))
        return refuse_damaged(reader->path);
    region->num_nodes = get_32(&reader->at);
    region->num_lanes = get_32(&reader->at);
    region->structure = get_number(&reader->at, 8);
    region->costs = get_number(&reader->at, 8);
    if (!has(reader, region->num_nodes, NODE_BYTES))
        return refuse_damaged(reader->path);
    region->nodes = plan_allocate(region->num_nodes, sizeof(*region->nodes));
    if (!region->nodes)
        return braid_error_no_memory("a saved plan");
    for (uint32_t i = 0; i < region->num_nodes; i++) {
        struct saved_node *node = &region->nodes[i];
        node->node = get_32(&reader->at);
        node->lane = get_32(&reader->at);
        node->start_ns = get_number(&reader->at, 8);
    }
    return BRAID_OK;
}

static braid_status get_delays(struct reader *reader, struct saved_plan *plan)
{
    if (!has(reader, 1, 4))
        return refuse_damaged(reader->path);
    uint32_t num = get_32(&reader->at);
    if (!has(reader, num, DELAY_BYTES))
        return refuse_damaged(reader->path);
    plan->delays = plan_allocate(num, sizeof(*plan->delays));
    if (!plan->delays)
        return braid_error_no_memory("a saved plan");
    plan->num_delays = num;
    for (uint32_t i = 0; i < num; i++) {
        plan->delays[i].first = get_32(&reader->at);
        plan->delays[i].second = get_32(&reader->at);
        plan->delays[i].cause = (braid_serialisation_cause)get_32(&reader->at);
    }
    return reader->at == reader->end ? BRAID_OK : refuse_damaged(reader->path);
}

static braid_status get_parts(struct reader *reader, struct saved_plan *plan)
{
    if (!plan->num_regions || !has(reader, plan->num_regions, REGION_BYTES))
        return refuse_damaged(reader->path);
    plan->regions = braid_allocate_zeroed(plan->num_regions, sizeof(*plan->regions));
    braid_status status = plan->regions ? BRAID_OK : braid_error_no_memory("a saved plan");
    for (uint32_t i = 0; i < plan->num_regions && !status; i++)
        status = get_region(reader, &plan->regions[i]);
    return status ? status : get_delays(reader, plan);
}

// Frees nothing on failure.
static braid_status read_plan(const char *path, FILE *file, struct array *bytes,
                              struct reader *reader)
{
    braid_status status = read_bytes(path, file, bytes);
    if (status)
        return status;
    const uint8_t *first = bytes->items;
    *reader = (struct reader){ path, first, first + bytes->num - CHECK_BYTES };
    const uint8_t *at = reader->end;
    return get_number(&at, 8) == check_of(first, bytes->num - CHECK_BYTES) ? BRAID_OK
                                                                           : refuse_damaged(path);
}

braid_status braid_saved_read(const char *path, uint32_t num_nodes, uint64_t digest,
                              struct saved_plan *out_plan)
{
    struct array bytes = { 0 };
    struct reader reader;
    struct saved_plan plan = { 0 };
    FILE *file = fopen(path, "rb");
    if (!file)
        return braid_error(BRAID_IO_ERROR, "%s cannot be read: %s", path, strerror(errno));
    braid_status status = read_plan(path, file, &bytes, &reader);
    fclose(file);
    if (!status) {
        get_head(&reader, &plan);
        status = check_graph(path, &plan, num_nodes, digest);
    }
    if (!status)
        status = get_parts(&reader, &plan);
    braid_array_finish(&bytes);
    if (status)
        braid_saved_finish(&plan);
    else
        *out_plan = plan;
    return status;
}

void braid_saved_finish(struct saved_plan *plan)
{
    for (uint32_t i = 0; plan->regions && i < plan->num_regions; i++)
        braid_free(plan->regions[i].nodes);
    braid_free(plan->regions);
    braid_free(plan->delays);
    *plan = (struct saved_plan){ 0 };
}
