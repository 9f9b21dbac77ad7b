// SPDX-License-Identifier: Apache-2.0
// Random streams keep the orders of all bytes that their steps share, and play as they run without
// a capture. Their kernels go up and down from the begins and ends of parts that stand side by
// side.
//
// BRAID_TEST_CAPTURES is how many are tried, and BRAID_TEST_SEED the seed of the first.
#include <stdlib.h>
#include <string.h>

#include "import/import.h"
#include "import/unlike_captures.h"

static uint64_t num_removed, num_unproven, num_shared, num_refused, num_updated;

static uint64_t count_of(const char *variable, uint64_t usual)
{
    const char *text = getenv(variable);
    return text ? strtoull(text, NULL, 10) : usual;
}

// ---- orders ----

static bool do_share(const struct unlike_step *one, const struct unlike_step *other)
{
    if (!one->is_told || !other->is_told) // others may see what it does
        return one->is_work && other->is_work;
    for (uint32_t i = 0; i < one->num_ranges; i++) {
        for (uint32_t k = 0; k < other->num_ranges; k++) {
            const struct unlike_range *a = &one->ranges[i], *b = &other->ranges[k];
            if (a->allocation == b->allocation && a->begin < b->end && b->begin < a->end &&
                (a->writes || b->writes))
                return true;
        }
    }
    return false;
}

// Edges lead up, and stand in the order of their ends. A child graph has a node in front of its own
// ones, and one behind.
static void check_orders(const struct unlike *unlike, const braid_import *import)
{
    enum { MOST = sizeof(unlike->steps) / sizeof(unlike->steps[0]) + 2 };
    const struct import_edge *edges = import->orders.edges.items;
    const size_t first = (import->captured.nodes.num - unlike->num_steps) / 2;
    assert_true(first <= 1 && import->captured.nodes.num == unlike->num_steps + 2 * first);
    for (uint32_t from = 0; from < unlike->num_steps; from++) {
        bool is_behind[MOST] = { false };
        is_behind[first + from] = true;
        for (size_t i = 0; i < import->orders.edges.num; i++)
            is_behind[edges[i].to] |= is_behind[edges[i].from];
        for (uint32_t to = from + 1; to < unlike->num_steps; to++) {
            if (!do_share(&unlike->steps[from], &unlike->steps[to]))
                continue;
            num_shared++;
            if (!is_behind[first + to])
                fail_msg("seed %llu: step %u is not behind step %u", (unsigned long long)here.seed,
                         to, from);
        }
    }
}

// ---- plays ----

struct contents {
    unsigned char block[BLOCK_BYTES];
    uint64_t cells[CELLS];
    uint32_t calls;
};

static void copy_contents(struct contents *to)
{
    must(cuStreamSynchronize(here.stream));
    must(cuMemcpyDtoH_v2(to->block, block, sizeof(to->block)));
    must(cuMemcpyDtoH_v2(to->cells, table, sizeof(to->cells)));
    to->calls = unlike_calls;
}

static braid_exec *make_exec(struct random *random, braid_import *import)
{
    braid_exec *exec;
    const braid_exec_options options = {
        .mode = random_chance(random, 50) ? BRAID_MODE_AUTO : BRAID_MODE_STREAMS,
        .max_lanes = 1 + random_below(random, 5),
    };
    check_ok(braid_exec_create(here.device, braid_import_get_graph(import), &options, &exec));
    return exec;
}

// Some parts, all of them, or none. Two side by side may be one.
static size_t choose_buffers(struct random *random, const struct unlike *unlike,
                             braid_import_buffer *buffers)
{
    const uint32_t percent = 50 * random_below(random, 3);
    size_t num = 0;
    for (uint32_t i = 0; i < unlike->num_parts; i++) {
        const uint32_t begin = unlike->cuts[i];
        if (!random_chance(random, percent))
            continue;
        if (i + 1 < unlike->num_parts && random_chance(random, 20))
            i++;
        buffers[num++] =
            (braid_import_buffer){ .address = (void *)(uintptr_t)(block + begin), // NOLINT
                                   .bytes = unlike->cuts[i + 1] - begin };
    }
    return num;
}

// A capture of the steps in some parts, what it does without a capture, and how to import it.
struct trial {
    struct random parts, steps;
    struct unlike unlike;
    struct contents expected;
    braid_import_buffer buffers[MOST_PARTS];
    braid_import_options options;
    CUgraph graph;
};

static void capture(struct random random, struct trial *trial)
{
    struct random parts = trial->parts, steps = trial->steps;
    choose_unlike(&parts, &trial->unlike);
    queue_unlike(&steps, &trial->unlike);
    copy_contents(&trial->expected);
    parts = trial->parts;
    steps = trial->steps;
    choose_unlike(&parts, &trial->unlike);
    must(cuStreamBeginCapture_v2(here.stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    queue_unlike(&steps, &trial->unlike);
    must(cuStreamEndCapture(here.stream, &trial->graph));
    trial->options = (braid_import_options){
        .texts = unlike_texts,
        .num_texts = random_chance(&random, 90) ? UNLIKE_TEXTS : 1,
        .follows_pointers = random_chance(&random, 80),
        .buffers = trial->buffers,
        .num_buffers = choose_buffers(&random, &trial->unlike, trial->buffers),
    };
}

// Its nodes may be those of a child graph, which has no allocations.
static void take_inside(struct trial *trial)
{
    CUgraph whole;
    CUgraphNode node;
    if (trial->unlike.num_allocated || here.seed % 4)
        return;
    must(cuGraphCreate(&whole, 0));
    must(cuGraphAddChildGraphNode(&node, whole, NULL, 0, trial->graph));
    must(cuGraphDestroy(trial->graph));
    trial->graph = whole;
}

static void play(const struct trial *trial, const braid_import *import, braid_exec *exec)
{
    static struct contents found;
    check_orders(&trial->unlike, import);
    check_ok(braid_exec_launch(exec, NULL));
    check_ok(braid_exec_wait(exec));
    copy_contents(&found);
    if (memcmp(&trial->expected, &found, sizeof(found)) != 0)
        fail_msg("seed %llu: other bytes are written", (unsigned long long)here.seed);
}

static bool is_refused(braid_status status)
{
    const char *message = braid_error_get_message();
    if (status && !strstr(message, "goes down from") && !strstr(message, "may hide an address") &&
        !strstr(message, "import it anew"))
        fail_msg("seed %llu: %s", (unsigned long long)here.seed, message);
    return status != BRAID_OK;
}

// The same steps in other parts.
static void try_later(struct random random, const struct trial *first, braid_import *import,
                      braid_exec *exec)
{
    static struct trial later;
    later.parts = random;
    later.steps = first->steps;
    capture(random, &later);
    take_inside(&later);
    later.options.num_texts = first->options.num_texts;
    later.options.follows_pointers = first->options.follows_pointers;
    if (!is_refused(braid_import_update(import, later.graph, &later.options, exec))) {
        play(&later, import, exec);
        num_updated++;
    }
    must(cuGraphDestroy(later.graph));
}

static void try_one(struct random random)
{
    static struct trial trial;
    braid_import *import = NULL;
    trial.parts = random;
    trial.steps = (struct random){ random_next(&random) };
    capture(random, &trial);
    take_inside(&trial);
    const bool refused =
        is_refused(braid_import_create(here.device, trial.graph, &trial.options, &import));
    must(cuGraphDestroy(trial.graph));
    num_refused += refused;
    if (refused)
        return;
    num_removed += import->info.num_captured - import->info.num_kept;
    num_unproven += import->info.num_unproven;
    braid_exec *exec = make_exec(&random, import);
    play(&trial, import, exec);
    try_later((struct random){ random_next(&random) }, &trial, import, exec);
    braid_exec_destroy(exec);
    braid_import_destroy(import);
}

static void orders_of_shared_bytes_stay(void **state)
{
    (void)state;
    const uint64_t num = count_of("BRAID_TEST_CAPTURES", 60), seed = count_of("BRAID_TEST_SEED", 1);
    open_unlike();
    for (uint64_t i = 0; i < num; i++) {
        here.seed = seed + i;
        try_one((struct random){ here.seed });
    }
    close_unlike();
    print_message("summary: %llu captures, %llu refused; %llu orders removed, %llu pairs share "
                  "bytes, %llu nodes not proven; %llu later captures taken\n",
                  (unsigned long long)num, (unsigned long long)num_refused,
                  (unsigned long long)num_removed, (unsigned long long)num_shared,
                  (unsigned long long)num_unproven, (unsigned long long)num_updated);
    assert_true(num_updated > num / 8 && num_removed > num && num_shared > num &&
                num_refused < num / 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(orders_of_shared_bytes_stay) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
