// SPDX-License-Identifier: Apache-2.0
// A damaged or hostile file of a plan is refused, or makes a plan that keeps the graph's order.
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "saved/saved_file.h"
#include "saved/saved_testing.h"

enum { MOST_BYTES = 1 << 16, CHECK_BYTES = 8, HEAD_BYTES = 8 + 7 * 4 + 14 * 8 };

struct bytes {
    uint8_t of[MOST_BYTES];
    size_t num;
};

static void read_file(struct bytes *bytes)
{
    FILE *file = fopen(saved_path, "rb");
    assert_non_null(file);
    bytes->num = fread(bytes->of, 1, MOST_BYTES, file);
    fclose(file);
    assert_in_range(bytes->num, HEAD_BYTES + 36, MOST_BYTES - 1);
}

static void write_file(const struct bytes *bytes)
{
    FILE *file = fopen(saved_path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes->of, 1, bytes->num, file), bytes->num);
    assert_int_equal(fclose(file), 0);
}

static uint64_t number_at(const struct bytes *bytes, size_t at, size_t num)
{
    uint64_t number = 0;
    for (size_t i = 0; i < num; i++)
        number |= (uint64_t)bytes->of[at + i] << (8 * i);
    return number;
}

static void set_number(struct bytes *bytes, size_t at, uint64_t number, size_t num)
{
    for (size_t i = 0; i < num; i++)
        bytes->of[at + i] = (uint8_t)(number >> (8 * i));
}

// As a hostile writer would.
static void repair_check(struct bytes *bytes)
{
    size_t num = bytes->num - CHECK_BYTES, at = 0;
    uint64_t check = saved_mix(0, num);
    for (; num - at >= 8; at += 8)
        check = saved_mix(check, number_at(bytes, at, 8));
    set_number(bytes, num, saved_mix(check, number_at(bytes, at, num - at)), CHECK_BYTES);
}

static braid_status load(const braid_graph *graph)
{
    braid_schedule *schedule = NULL;
    braid_status status = braid_schedule_load(graph, saved_path, &schedule);
    assert_int_equal(status == BRAID_OK, schedule != NULL);
    if (!status)
        check_ok(braid_schedule_verify(schedule, graph));
    braid_schedule_destroy(schedule);
    return status;
}

static void fails(const struct bytes *bytes, const braid_graph *graph, const char *text)
{
    braid_schedule *schedule = NULL;
    write_file(bytes);
    check_fails(braid_schedule_load(graph, saved_path, &schedule), BRAID_INVALID_ARGUMENT, text);
    assert_null(schedule);
}

static void any_byte_and_any_length(void **state)
{
    (void)state;
    static struct bytes bytes;
    braid_graph *graph = saved_graph(3);
    const braid_cost_model costs = saved_costs(3);
    save_plan(graph, &costs, 3);
    read_file(&bytes);
    const size_t num = bytes.num;
    for (size_t at = 0; at < num; at += at < 2 * HEAD_BYTES ? 1 : 17) {
        bytes.of[at] ^= 0x10;
        fails(&bytes, graph, saved_path);
        bytes.of[at] ^= 0x10;
    }
    for (bytes.num = 0; bytes.num < num; bytes.num += bytes.num < 2 * HEAD_BYTES ? 1 : 17)
        fails(&bytes, graph, saved_path);
    bytes.num = num + 1;
    fails(&bytes, graph, "is damaged");
    bytes.num = num;
    write_file(&bytes);
    assert_int_equal(load(graph), BRAID_OK);
}

// The end of the head, or the check, stands where the regions would begin. Memory behind the bytes
// of a file is never zero here: a sanitizer, which ignores the call, fills it too.
static void files_may_end_with_their_head(void **state)
{
    (void)state;
    static struct bytes bytes, bad;
    braid_graph *graph = chains(2, 2, 10);
    save_plan(graph, &free_costs, 2);
    read_file(&bytes);
    (void)mallopt(M_PERTURB, 0xa5);
    for (size_t num = HEAD_BYTES; num < bytes.num; num++) {
        bad = bytes;
        bad.num = num;
        repair_check(&bad);
        fails(&bad, graph, "is damaged");
    }
    (void)mallopt(M_PERTURB, 0);
}

static void damage(struct bytes *bytes, struct random *random)
{
    static const uint64_t numbers[] = { 0, 1, 2, 7, UINT32_MAX, UINT32_MAX - 1, INT64_MAX };
    for (uint32_t i = 1 + random_below(random, 3); i > 0; i--) {
        size_t words = (bytes->num - CHECK_BYTES) / 4;
        size_t at = 4 * (size_t)random_below(random, (uint32_t)words);
        if (random_chance(random, 30)) // the place of another word
            memcpy(&bytes->of[at], &bytes->of[4 * (size_t)random_below(random, (uint32_t)words)],
                   4);
        else if (random_chance(random, 50))
            set_number(bytes, at, numbers[random_below(random, 7)], 4);
        else
            bytes->of[at + random_below(random, 4)] ^= (uint8_t)(1u << random_below(random, 8));
    }
    if (random_chance(random, 5))
        bytes->num -= random_below(random, 40);
    repair_check(bytes);
}

// The check is right again, so that each later check has to see the damage.
static void hostile_files_give_no_wrong_order(void **state)
{
    (void)state;
    static struct bytes bytes, bad;
    struct random random = { 11 };
    uint32_t num_refused = 0, num_loaded = 0;
    for (uint64_t seed = 1; seed <= 30; seed++) {
        braid_graph *graph = saved_graph(seed);
        const braid_cost_model costs = saved_costs(seed);
        save_plan(graph, &costs, 3);
        read_file(&bytes);
        for (int i = 0; i < 100; i++) {
            bad = bytes;
            damage(&bad, &random);
            write_file(&bad);
            bool is_refused = load(graph);
            num_refused += is_refused;
            num_loaded += !is_refused;
        }
        destroy_owned();
    }
    print_message("summary: %u damaged plans are refused, %u are right all the same\n", num_refused,
                  num_loaded);
    assert_true(num_refused > 1000 && num_loaded > 10);
}

enum { DIGEST_AT = HEAD_BYTES + 8, NODES_AT = HEAD_BYTES + 24, NODE_BYTES = 16 };

// Two chains on two lanes.
static braid_graph *save_chains(struct bytes *bytes)
{
    braid_graph *graph = chains(2, 2, 10);
    save_plan(graph, &free_costs, 2);
    read_file(bytes);
    return graph;
}

static void each_fault_has_its_message(void **state)
{
    (void)state;
    static struct bytes bytes, bad;
    const braid_graph *graph = save_chains(&bytes);
    const struct {
        size_t at, num;
        uint64_t number;
        const char *text;
    } faults[] = {
        { 8, 4, 2, "is of format 2, and this version reads 1" },
        { 12, 4, 5, "of 5 nodes, and this has 4" },
        { 16, 4, 0, "is damaged" },
        { 20, 8, 1, "of digest 0000000000000001" },
        { HEAD_BYTES, 4, 1000000, "is damaged" },
        { HEAD_BYTES + 4, 4, 5, "4 nodes on 5 lanes there" },
        { HEAD_BYTES + 4, 4, 3, "lane 2 of region 0 is empty" },
        { DIGEST_AT, 8, 1, "an edge, bundle or lane hint of region 0 differs" },
        { DIGEST_AT + 8, 8, 1, "a cost or a number of threads in region 0 differs" },
        { NODES_AT, 4, 4, "node 0 of the order is wrong" },
        { NODES_AT + 4, 4, 2, "node 0 of the order is wrong" },
        { NODES_AT + 8, 8, UINT64_MAX, "the starts of region 0" },
        { NODES_AT + 3 * NODE_BYTES, 4, 0, "node 3 of the order is wrong" },
        { NODES_AT + 3 * NODE_BYTES + 8, 8, 0, "the starts of region 0" },
        { NODES_AT + 4 * NODE_BYTES, 4, 1, "is damaged" }, // a delay that is not there
    };
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
        bad = bytes;
        set_number(&bad, faults[i].at, faults[i].number, faults[i].num);
        repair_check(&bad);
        fails(&bad, graph, faults[i].text);
    }
}

// Each node stands before those that it comes after.
static void edges_lead_forward(void **state)
{
    (void)state;
    static struct bytes bytes, bad;
    const braid_graph *graph = save_chains(&bytes);
    bad = bytes;
    for (size_t i = 0; i < 4; i++)
        memcpy(&bad.of[NODES_AT + i * NODE_BYTES], &bytes.of[NODES_AT + (3 - i) * NODE_BYTES],
               NODE_BYTES);
    repair_check(&bad);
    fails(&bad, graph, "node 0 of the order is wrong");
}

static void delays_name_nodes_and_causes(void **state)
{
    (void)state;
    static struct bytes bytes, bad;
    braid_graph *graph = chains(2, 1, 10);
    save_plan(graph, &free_costs, 1);
    read_file(&bytes);
    const size_t delay_at = NODES_AT + 2 * NODE_BYTES + 4;
    assert_int_equal(number_at(&bytes, delay_at - 4, 4), 1);
    const uint64_t wrong[] = { 2, 2, BRAID_SERIALISED_BY_RESOURCE };
    for (size_t i = 0; i < 3; i++) {
        bad = bytes;
        set_number(&bad, delay_at + 4 * i, wrong[i], 4);
        repair_check(&bad);
        fails(&bad, graph, "delay 0 is wrong");
    }
}

static void what_is_no_file_of_a_plan(void **state)
{
    (void)state;
    braid_schedule *schedule;
    braid_graph *graph = chains(2, 2, 10);
    braid_schedule *saved = own_schedule(graph, &(braid_schedule_options){ .costs = &free_costs });
    check_fails(braid_schedule_load(graph, "/nowhere/plan", &schedule), BRAID_IO_ERROR,
                "/nowhere/plan cannot be read");
    check_fails(braid_schedule_load(graph, "/tmp", &schedule), BRAID_IO_ERROR, "/tmp");
    check_fails(braid_schedule_load(graph, "/dev/zero", &schedule), BRAID_INVALID_ARGUMENT,
                "/dev/zero is no saved plan");
    check_fails(braid_schedule_load(graph, "/dev/null", &schedule), BRAID_INVALID_ARGUMENT,
                "/dev/null is no saved plan");
    check_fails(braid_schedule_save(saved, graph, "/nowhere/plan"), BRAID_IO_ERROR,
                "/nowhere/plan cannot be written");
    check_fails(braid_schedule_save(saved, graph, "/dev/full"), BRAID_IO_ERROR, "/dev/full");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        owning_test(any_byte_and_any_length),
        owning_test(hostile_files_give_no_wrong_order),
        owning_test(each_fault_has_its_message),
        owning_test(delays_name_nodes_and_causes),
        owning_test(edges_lead_forward),
        owning_test(what_is_no_file_of_a_plan),
        owning_test(files_may_end_with_their_head),
    };
    return cmocka_run_group_tests(tests, saved_begin, saved_end);
}
