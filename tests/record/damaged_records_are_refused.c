// SPDX-License-Identifier: Apache-2.0
// A record comes back as it was written. A damaged one is refused by the byte that is wrong, and
// one whose digest fits is safe to use in any case.
#include <braid/record.h>

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/host_memory.h"
#include "record/rows.h"
#include "record/write.h"
#include "support/check.h"
#include "support/failing_memory.h"
#include "support/random.h"

enum { OPERATIONS = 7, NODES = 3 };

static int file;
static char path[64];

// ---- a record made by hand ----

static void clear(braid_record_work *work, braid_record_work_kind kind)
{
    memset(work, 0, sizeof(*work));
    work->kind = kind;
    work->name = "";
    work->kernel = work->memory = work->graph = BRAID_RECORD_NONE;
}

static braid_record_operation operations[OPERATIONS];
static braid_record_node nodes[NODES];

static const braid_record_module modules[] = {
    { .file = "", .kind = BRAID_RECORD_PTX, .text_bytes = 5, .text = "// ptx", .all_bytes = 5 }
};
static const braid_record_kernel kernels[] = {
    { .name = "blur", .module = 0, .num_parameters = 1, .first_parameter = 0 },
    { .name = "", .module = BRAID_RECORD_NONE, .num_parameters = BRAID_RECORD_NONE },
};
static const braid_record_parameter parameters[] = { { 0, 8 } };
static const braid_record_allocation allocations[] = { { .address = 4096,
                                                         .bytes = 64,
                                                         .module = BRAID_RECORD_NONE,
                                                         .name = "",
                                                         .born = BRAID_RECORD_NONE,
                                                         .freed_at = 6 } };
static const braid_record_stream streams[] = {
    { .handle = 0, .kind = BRAID_RECORD_NULL_STREAM },
    { .handle = 2, .kind = BRAID_RECORD_PER_THREAD, .priority = -3 },
    { .handle = 77, .kind = BRAID_RECORD_NON_BLOCKING },
};
static const braid_record_graph graphs[] = { { 0, 1 }, { 1, 2 } };
static const uint32_t befores[] = { 0 };
static const braid_record_frame frames[] = { { 0, 3 }, { 3, 4 } };
static const braid_record_stranger strangers[] = { { "cuLaunchLikeNever", 4 } };
static const char kept[64] = "the memory at the begin of a frame";
static const braid_record_memory memory[] = {
    { .num_bytes = 64, .bytes = kept, .digest_behind = 3 },
    { .num_bytes = 9, .bytes = kept, .is_of_end = true },
};

#define LIST(name) .name = name, .num_##name = sizeof(name) / sizeof(name[0])

static const braid_record_contents contents = {
    .program = "./blur --fast",
    .driver_version = 13000,
    .num_contexts = 1,
    .num_threads = 1,
    .num_events = 1,
    LIST(modules),
    LIST(kernels),
    LIST(parameters),
    LIST(allocations),
    LIST(streams),
    LIST(operations),
    LIST(graphs),
    LIST(nodes),
    LIST(befores),
    LIST(frames),
    LIST(strangers),
    LIST(memory),
};

// A launch on the thread's stream, a record there, a wait for it on the third; a graph on the null
// stream, which waits for the first two; a wait of the host, and memory that goes.
static int make_record(void **state)
{
    static const char bytes[] = "12345678";
    const struct {
        braid_record_work_kind kind;
        uint32_t stream;
    } all[] = { { BRAID_RECORD_KERNEL, 1 },
                { BRAID_RECORD_EVENT_RECORD, 1 },
                { BRAID_RECORD_EVENT_WAIT, 2 },
                { BRAID_RECORD_GRAPH, 0 },
                { BRAID_RECORD_COPY, 1 },
                { BRAID_RECORD_SYNCHRONISE, BRAID_RECORD_NONE },
                { BRAID_RECORD_FREE, BRAID_RECORD_NONE } };
    (void)state;
    for (uint32_t i = 0; i < OPERATIONS; i++) {
        clear(&operations[i].work, all[i].kind);
        operations[i].stream = all[i].stream;
        operations[i].begin_ns = operations[i].end_ns = 1000 + i;
    }
    operations[0].work.kernel = 0;
    operations[0].work.parameters = bytes;
    operations[0].work.parameter_bytes = 8;
    operations[3].work.graph = 1;
    operations[3].work.num_bodies = 1;
    operations[4].work.bytes = bytes;
    operations[4].work.num_bytes = 8;
    operations[4].work.digest = braid_record_get_digest(bytes, 8);
    operations[5].work.scope = BRAID_RECORD_OF_STREAM;
    operations[5].work.scope_of = 2;
    operations[6].work.memory = 0;
    clear(&nodes[0].work, BRAID_RECORD_FILL);
    clear(&nodes[1].work, BRAID_RECORD_GRAPH);
    nodes[1].work.graph = 0;
    nodes[1].work.num_bodies = 1;
    clear(&nodes[2].work, BRAID_RECORD_CONDITIONAL);
    nodes[2].work.graph = 0;
    nodes[2].work.num_bodies = 1;
    nodes[2].work.condition = BRAID_RECORD_WHILE;
    nodes[2].work.has_first_value = true;
    nodes[2].work.first_value = 3;
    nodes[2].num_befores = 1;
    file = memfd_create("record", 0);
    assert_true(file >= 0);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
    return 0;
}

static void put_file(const uint8_t *bytes, uint64_t num)
{
    assert_int_equal(ftruncate(file, 0), 0);
    assert_int_equal(pwrite(file, bytes, num, 0), (ssize_t)num);
}

static void put_number(uint8_t *at, uint64_t number)
{
    for (int i = 0; i < 8; i++)
        at[i] = (uint8_t)(number >> (8 * i));
}

// ---- the tests ----

static void a_record_comes_back(void **state)
{
    static const uint32_t expected[OPERATIONS][3] = { { 0 },    { 1, 0 }, { 1, 1 }, { 1, 1 },
                                                      { 1, 3 }, { 1, 2 }, { 1, 5 } };
    uint64_t num;
    braid_record *record;
    (void)state;
    uint8_t *bytes = braid_record_write(&contents, &num);
    assert_non_null(bytes);
    put_file(bytes, num);
    check_ok(braid_record_load(path, &record));
    const braid_record_contents *got = braid_record_get_contents(record);
    assert_string_equal(got->program, contents.program);
    assert_int_equal(got->driver_version, 13000);
    assert_string_equal(got->modules[0].text, "// pt");
    assert_string_equal(got->kernels[0].name, "blur");
    assert_int_equal(got->kernels[1].num_parameters, BRAID_RECORD_NONE);
    assert_int_equal(got->allocations[0].freed_at, 6);
    assert_int_equal(got->streams[1].priority, -3);
    assert_memory_equal(got->operations[0].work.parameters, "12345678", 8);
    assert_memory_equal(got->operations[4].work.bytes, "12345678", 8);
    assert_int_equal(got->operations[4].work.digest, operations[4].work.digest);
    assert_int_equal(got->nodes[2].num_befores, 1);
    assert_string_equal(got->strangers[0].name, "cuLaunchLikeNever");
    assert_int_equal(got->num_memory, 2);
    assert_true(got->memory[1].is_of_end);
    assert_string_equal(got->memory[0].bytes, kept);
    assert_int_equal(got->memory[0].digest_behind, 3);
    for (uint32_t i = 0; i < OPERATIONS; i++) {
        const braid_record_operation *row = &got->operations[i];
        assert_int_equal(row->num_befores, expected[i][0]);
        for (uint32_t k = 0; k < row->num_befores; k++)
            assert_int_equal(got->befores[row->first_before + k], expected[i][1 + k]);
    }
    braid_record_destroy(record);
    braid_free(bytes);
}

static void damage_is_named_by_its_byte(void **state)
{
    uint64_t num;
    braid_record *record;
    (void)state;
    uint8_t *bytes = braid_record_write(&contents, &num);
    assert_non_null(bytes);
    for (uint64_t length = 0; length < num; length += length < 400 ? 1 : 7) {
        put_file(bytes, length);
        check_fails(braid_record_load(path, &record), BRAID_INVALID_ARGUMENT, "byte ");
    }
    for (uint64_t at = 0; at < num; at += at < 400 ? 1 : 7) {
        bytes[at] ^= 4;
        put_file(bytes, num);
        check_fails(braid_record_load(path, &record), BRAID_INVALID_ARGUMENT, "byte ");
        bytes[at] ^= 4;
    }
    braid_free(bytes);
    check_fails(braid_record_load("/nowhere/a.braidrec", &record), BRAID_INVALID_ARGUMENT,
                "there is no such file");
    check_fails(braid_record_load("/", &record), BRAID_IO_ERROR, "record '/'");
}

// The message names the changed number, or its row.
static void change_row_at(enum record_section section, uint32_t row, uint32_t number,
                          uint64_t value, bool names_row, const char *message)
{
    uint64_t num;
    braid_record *record;
    uint8_t *bytes = braid_record_write(&contents, &num);
    assert_non_null(bytes);
    uint64_t begin = RECORD_HEAD_BYTES, at;
    for (int i = 0; i < (int)section; i++) {
        uint64_t rows = 1;
        if (i > 0) {
            uint32_t all;
            memcpy(&all, (const char *)&contents + braid_record_rows[i].num_at, sizeof(all));
            rows = all;
        }
        begin += rows * 8 * braid_record_rows[i].num_numbers;
    }
    at = begin + 8 * ((uint64_t)row * braid_record_rows[section].num_numbers + number);
    put_number(bytes + at, value);
    put_number(bytes + num - 8, braid_record_get_digest(bytes, num - 8));
    put_file(bytes, num);
    char expected[160];
    snprintf(expected, sizeof(expected), "byte %llu: %s",
             (unsigned long long)(names_row ? at - (uint64_t)8 * number : at), message);
    check_fails(braid_record_load(path, &record), BRAID_INVALID_ARGUMENT, expected);
    braid_free(bytes);
}

static void change_row(enum record_section section, uint32_t row, uint32_t number, uint64_t value,
                       const char *message)
{
    change_row_at(section, row, number, value, false, message);
}

// Numbers of a node, from the end of its row.
enum { GRAPH = 12, CONDITION = 8, BODIES = 6, HAS_FIRST_VALUE = 5 };

static void wrong_numbers_are_named(void **state)
{
    (void)state;
    change_row(RECORD_OPERATIONS, 2, 0, 13, "'work.kind' of operations 2 is 13: there is no such");
    change_row(RECORD_OPERATIONS, 0, 3, 2, "'work.kernel' of operations 0 is 2: there is no such");
    change_row(RECORD_KERNELS, 0, 0, 1 << 20, "'name' of kernels 0 is 1048576: its bytes end");
    change_row(RECORD_KERNELS, 0, 2, UINT64_C(1) << 32, "'module' of kernels 0");
    change_row(RECORD_MEMORY, 0, 0, 1, "'allocation' of memory 0 is 1: there is no such row");
    change_row(RECORD_MEMORY, 0, 1, 2, "'is_of_end' of memory 0 is 2: there is no such value");
    change_row_at(RECORD_MEMORY, 0, 2, 63, true, "memory 0: it is not all of an allocation");
    change_row_at(RECORD_MEMORY, 1, 0, BRAID_RECORD_NONE, true, "memory 1: an allocation does not");
    change_row(RECORD_GRAPHS, 0, 0, 1, "graphs 0: its nodes are not behind those before");
    const uint32_t num = braid_record_rows[RECORD_NODES].num_numbers;
    change_row(RECORD_NODES, 2, num - HAS_FIRST_VALUE, 2, "'work.has_first_value' of nodes 2 is 2");
    change_row_at(RECORD_NODES, 2, num - BODIES, 3, true,
                  "nodes 2: its graphs do not stand before");
    change_row_at(RECORD_NODES, 2, num - GRAPH, BRAID_RECORD_NONE, true,
                  "nodes 2: a conditional node has no graph");
    change_row_at(RECORD_NODES, 2, num - CONDITION, 0, true,
                  "nodes 2: a conditional node is neither a loop nor a branch");
}

// Whatever is in the rows: all that the reader gives is there.
static void use(const braid_record_contents *got)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < got->num_operations; i++) {
        const braid_record_operation *row = &got->operations[i];
        for (uint32_t k = 0; k < row->num_befores; k++) {
            assert_true(got->befores[row->first_before + k] < i);
            sum += got->befores[row->first_before + k];
        }
        if (row->work.bytes)
            sum += braid_record_get_digest(row->work.bytes, row->work.num_bytes);
        if (row->work.parameters)
            sum += braid_record_get_digest(row->work.parameters, row->work.parameter_bytes);
        if (row->work.kernel != BRAID_RECORD_NONE)
            sum += strlen(got->kernels[row->work.kernel].name);
        sum += strlen(row->work.name);
    }
    for (uint32_t g = 0; g < got->num_graphs; g++)
        for (uint32_t i = 0; i < got->graphs[g].num_nodes; i++) {
            const braid_record_node *node = &got->nodes[got->graphs[g].first_node + i];
            for (uint32_t k = 0; k < node->num_befores; k++)
                assert_true(got->befores[node->first_before + k] < i);
        }
    for (uint32_t i = 0; i < got->num_memory; i++)
        sum += braid_record_get_digest(got->memory[i].bytes, got->memory[i].num_bytes);
    for (uint32_t i = 0; i < got->num_modules; i++)
        if (got->modules[i].text)
            sum += strlen(got->modules[i].text);
    assert_true(sum > 0 || got->num_operations == 0);
}

static void changed_records_are_safe(void **state)
{
    const uint64_t odd[] = { 0, 1, 2, 3, 7, UINT32_MAX, UINT64_MAX, UINT64_C(1) << 32, 1 << 20 };
    struct random random = { .state = 5 };
    uint64_t num, refused = 0, read = 0;
    (void)state;
    uint8_t *bytes = braid_record_write(&contents, &num);
    uint8_t *changed = braid_allocate(num);
    assert_true(bytes && changed);
    for (int i = 0; i < 4000; i++) {
        braid_record *record;
        memcpy(changed, bytes, num);
        for (uint32_t k = random_below(&random, 3) + 1; k > 0; k--)
            put_number(changed + 8 * random_below(&random, (uint32_t)num / 8),
                       odd[random_below(&random, sizeof(odd) / sizeof(odd[0]))]);
        put_number(changed + num - 8, braid_record_get_digest(changed, num - 8));
        put_file(changed, num);
        if (braid_record_load(path, &record)) {
            assert_non_null(strstr(braid_error_get_message(), "byte "));
            refused++;
            continue;
        }
        use(braid_record_get_contents(record));
        braid_record_destroy(record);
        read++;
    }
    print_message("summary: %llu changed records were refused, %llu read\n",
                  (unsigned long long)refused, (unsigned long long)read);
    assert_true(refused > 500 && read > 500);
    braid_free(changed);
    braid_free(bytes);
}

static void memory_may_run_out(void **state)
{
    bool has_failed = true;
    uint64_t num;
    (void)state;
    uint8_t *bytes = braid_record_write(&contents, &num);
    put_file(bytes, num);
    braid_free(bytes);
    for (uint64_t nth = 1; has_failed; nth++) {
        braid_record *record = NULL;
        failing_memory_arm_once(nth);
        const braid_status status = braid_record_load(path, &record);
        has_failed = failing_memory_disarm();
        if (status == BRAID_OK)
            braid_record_destroy(record);
        else
            assert_true(has_failed && (status == BRAID_NO_MEMORY || status == BRAID_IO_ERROR));
        failing_memory_arm_once(nth);
        bytes = braid_record_write(&contents, &num);
        assert_true(failing_memory_disarm() || bytes);
        braid_free(bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_record_comes_back),     cmocka_unit_test(damage_is_named_by_its_byte),
        cmocka_unit_test(wrong_numbers_are_named), cmocka_unit_test(changed_records_are_safe),
        cmocka_unit_test(memory_may_run_out),
    };
    return cmocka_run_group_tests(tests, make_record, NULL);
}
