// SPDX-License-Identifier: Apache-2.0
// Making, running and reading graphs over words.
#include "groups/words.h"

#include <stdio.h>
#include <string.h>

#include "support/check.h"
#include "support/kernels.h"

// Half of the memory of a place is one buffer of the field's, so many words stand in one.
static uint32_t *memory_of(struct field *field, uint32_t place, uint32_t word)
{
    return field->buffers[place][word % PLACED_MOST_BUFFERS] + word / PLACED_MOST_BUFFERS;
}

struct words words_begin(struct field *field, uint32_t num, uint32_t home)
{
    return words_begin_some(field, num, home, num);
}

struct words words_begin_some(struct field *field, uint32_t num, uint32_t home,
                              uint32_t first_transient)
{
    struct words words = { .field = field, .num = num, .last = field->test->num_places - 1 };
    assert_true(num <= WORDS_MOST);
    check_ok(braid_graph_create(&words.graph));
    for (uint32_t i = 0; i < num; i++) {
        uint32_t place = home == WORDS_BY_TURNS ? i % field->test->num_places : home;
        char name[16];
        snprintf(name, sizeof(name), "word %u", i);
        if (i >= first_transient) {
            check_ok(braid_graph_add_transient(words.graph, name, sizeof(uint32_t), 0,
                                               &words.resources[i]));
            continue;
        }
        words.addresses[i] = memory_of(field, place, i);
        check_ok(braid_graph_add_buffer(words.graph, name, words.addresses[i], sizeof(uint32_t),
                                        &words.resources[i]));
        check_ok(braid_graph_set_home(words.graph, words.resources[i], place + 1));
    }
    return words;
}

void words_end(struct words *words, braid_exec *exec)
{
    braid_exec_destroy(exec);
    braid_graph_destroy(words->graph);
}

static void add_access(braid_access *accesses, uint32_t *num, braid_resource resource)
{
    for (uint32_t i = 0; i < *num; i++) {
        if (accesses[i].resource.index != resource.index)
            continue;
        accesses[i].mode = accesses[i].mode == BRAID_READ ? BRAID_READ : BRAID_READ_WRITE;
        return;
    }
    accesses[(*num)++] = (braid_access){ resource, BRAID_READ };
}

static braid_node add_kernel(struct words *words, const braid_kernel *kernel, const uint32_t *used,
                             uint32_t num_used, uint32_t place, const uint32_t *numbers,
                             uint32_t num_numbers)
{
    braid_access accesses[3] = { { words->resources[used[0]], BRAID_WRITE } };
    braid_arg args[6];
    uint32_t num_accesses = 1, num_args = 0;
    braid_node node;
    for (uint32_t i = 1; i < num_used; i++)
        add_access(accesses, &num_accesses, words->resources[used[i]]);
    for (uint32_t i = 0; i < num_used; i++)
        args[num_args++] = braid_resource_address(&words->resources[used[i]]);
    for (uint32_t i = 0; i < num_numbers; i++)
        args[num_args++] = BRAID_ARG(numbers[i]);
    const braid_kernel_node launch = {
        .node = { .accesses = accesses, .num_accesses = num_accesses, .place = place },
        .kernel = kernel,
        .grid = { 1, 1, 1 },
        .block = { 1, 1, 1 },
        .args = args,
        .num_args = num_args,
    };
    check_ok(braid_graph_add_kernel(words->graph, &launch, &node));
    return node;
}

braid_node words_add_axpy(struct words *words, uint32_t to, uint32_t from, uint32_t factor,
                          uint32_t addend, uint32_t place)
{
    return add_kernel(words, &test_axpy, (uint32_t[]){ to, from }, 2, place,
                      (uint32_t[]){ factor, addend, 1 }, 3);
}

braid_node words_add_add(struct words *words, uint32_t to, uint32_t one, uint32_t other,
                         uint32_t place)
{
    return add_kernel(words, &test_add, (uint32_t[]){ to, one, other }, 3, place, (uint32_t[]){ 1 },
                      1);
}

braid_node words_add_fill(struct words *words, uint32_t to, uint32_t value, uint32_t place)
{
    braid_node node;
    const braid_access access = { words->resources[to], BRAID_WRITE };
    const braid_fill fill = {
        .node = { .name = "fill", .accesses = &access, .num_accesses = 1, .place = place },
        .to_resource = words->resources[to],
        .value = value,
        .value_bytes = 4,
        .num_values = 1
    };
    check_ok(braid_graph_add_fill(words->graph, &fill, &node));
    return node;
}

braid_node words_add_copy(struct words *words, uint32_t to, uint32_t from, uint32_t place)
{
    braid_node node;
    const braid_access accesses[] = { { words->resources[to], BRAID_WRITE },
                                      { words->resources[from], BRAID_READ } };
    const braid_copy copy = { .node = { .accesses = accesses, .num_accesses = 2, .place = place },
                              .to_resource = words->resources[to],
                              .from_resource = words->resources[from],
                              .bytes = sizeof(uint32_t) };
    check_ok(braid_graph_add_copy(words->graph, &copy, &node));
    return node;
}

// A driver's graph plays the loops of its first device; streams play all.
braid_exec *words_make_exec(struct words *words)
{
    const struct group_under_test *test = words->field->test;
    braid_exec_options options = { .mode = test->mode, .frames_in_flight = test->frames };
    braid_device_info info;
    braid_exec *exec;
    braid_device_get_info(test->group, &info);
    options.places = info.place_model;
    braid_status status = braid_exec_create(test->group, words->graph, &options, &exec);
    if (status == BRAID_UNSUPPORTED && test->mode == BRAID_MODE_GRAPH) {
        assert_non_null(strstr(braid_error_get_message(), "has those of its first device only"));
        options.mode = BRAID_MODE_AUTO;
        status = braid_exec_create(test->group, words->graph, &options, &exec);
    }
    check_ok(status);
    check_ok(braid_schedule_verify(braid_exec_get_schedule(exec), words->graph));
    return exec;
}

void words_run(struct words *words, braid_exec *exec)
{
    struct field *field = words->field;
    field->staged[0] = WORDS_BEFORE;
    memset(field->staged + 1, 0, WORDS_MOST * sizeof(uint32_t));
    for (uint32_t i = 0; i < words->num && words->addresses[i]; i++)
        check_ok(
            braid_stream_copy(field->stream, words->addresses[i], field->staged, sizeof(uint32_t)));
    for (uint32_t i = 0; i < WORDS_FRAMES; i++)
        check_ok(braid_exec_launch(exec, field->stream));
    for (uint32_t i = 0; i < words->num && words->addresses[i]; i++)
        check_ok(braid_stream_copy(field->stream, &field->staged[1 + i], words->addresses[i],
                                   sizeof(uint32_t)));
    check_ok(braid_stream_wait(field->stream));
    check_ok(braid_exec_wait(exec));
}

uint32_t words_read(const struct words *words, uint32_t word)
{
    return words->field->staged[1 + word];
}
