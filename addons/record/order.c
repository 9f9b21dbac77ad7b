// SPDX-License-Identifier: Apache-2.0
// Each operation gets the ones that end before it starts.
//
// Per stream only the last operation is kept: all before it on that stream end earlier. A null
// stream's last operation stands for all that its blocking streams had by then.
#include "record/order.h"

struct order {
    const braid_record_contents *contents;
    uint32_t *last;    // by stream; NONE: none yet
    uint32_t *null_of; // the null stream of the context of each stream, or NONE
    uint32_t *records; // by event: the operation that recorded it last
    uint32_t *seen;    // by graph: the operation that looked at it last
    uint32_t synchronised;
    struct array *befores;
    uint32_t first;     // where the present operation begins in `befores`
    bool graphs_record; // a node records an event
    bool failed;
};

static void fill(uint32_t *numbers, uint32_t num)
{
    for (uint32_t i = 0; i < num; i++)
        numbers[i] = BRAID_RECORD_NONE;
}

// Keeps the list of the present operation ascending, each once.
static void add(struct order *order, uint32_t before)
{
    uint32_t *item;
    if (before == BRAID_RECORD_NONE)
        return;
    const uint32_t *all = order->befores->items;
    for (size_t i = order->first; i < order->befores->num; i++)
        if (all[i] == before)
            return;
    item = braid_array_append(order->befores, 1, sizeof(*item));
    if (!item) {
        order->failed = true;
        return;
    }
    uint32_t *numbers = order->befores->items;
    size_t at = order->befores->num - 1;
    for (; at > order->first && numbers[at - 1] > before; at--)
        numbers[at] = numbers[at - 1];
    numbers[at] = before;
}

// A number that is over `than`, where NONE is under all.
static bool is_later(uint32_t number, uint32_t than)
{
    return number != BRAID_RECORD_NONE && (than == BRAID_RECORD_NONE || number > than);
}

static bool waits_for_null(braid_record_stream_kind kind)
{
    return kind == BRAID_RECORD_BLOCKING || kind == BRAID_RECORD_PER_THREAD;
}

// All that a piece of work on the stream waits for. A later operation of the null stream, or of one
// that it waits for, stands behind the last one here.
static void add_stream(struct order *order, uint32_t stream)
{
    const braid_record_stream *streams = order->contents->streams;
    const uint32_t last = order->last[stream], null = order->null_of[stream];
    bool has_later = false;
    if (waits_for_null(streams[stream].kind) && null != BRAID_RECORD_NONE) {
        has_later = is_later(order->last[null], last);
        if (has_later)
            add(order, order->last[null]);
    } else if (streams[stream].kind == BRAID_RECORD_NULL_STREAM) {
        for (uint32_t i = 0; i < order->contents->num_streams; i++)
            if (waits_for_null(streams[i].kind) && streams[i].context == streams[stream].context &&
                is_later(order->last[i], last)) {
                add(order, order->last[i]);
                has_later = true;
            }
    }
    if (!has_later)
        add(order, last);
}

static void add_synchronised(struct order *order, const braid_record_work *work)
{
    const braid_record_contents *contents = order->contents;
    if (work->scope == BRAID_RECORD_OF_STREAM)
        add_stream(order, work->scope_of);
    else if (work->scope == BRAID_RECORD_OF_EVENT)
        add(order, order->records[work->event]);
    else if (work->scope == BRAID_RECORD_OF_OPERATION)
        add(order, work->scope_of);
    for (uint32_t i = 0; work->scope == BRAID_RECORD_OF_CONTEXT && i < contents->num_streams; i++)
        if (contents->streams[i].context == work->scope_of)
            add(order, order->last[i]);
}

// A launch records the events of its nodes. A child graph stands before the graph that has it.
static void record_events(struct order *order, uint32_t graph, uint32_t operation)
{
    const braid_record_contents *contents = order->contents;
    if (!order->graphs_record)
        return;
    order->seen[graph] = operation;
    for (uint32_t g = graph + 1; g-- > 0;) {
        if (order->seen[g] != operation)
            continue;
        for (uint32_t i = 0; i < contents->graphs[g].num_nodes; i++) {
            const braid_record_work *work =
                &contents->nodes[contents->graphs[g].first_node + i].work;
            if (work->kind == BRAID_RECORD_EVENT_RECORD)
                order->records[work->event] = operation;
            for (uint32_t k = 0; work->graph != BRAID_RECORD_NONE && k < work->num_bodies; k++)
                order->seen[work->graph + k] = operation;
        }
    }
}

static void order_one(struct order *order, uint32_t number, const braid_record_operation *operation)
{
    const braid_record_work *work = &operation->work;
    const bool synchronises = work->kind == BRAID_RECORD_SYNCHRONISE;
    if (synchronises)
        add_synchronised(order, work);
    else if (operation->stream != BRAID_RECORD_NONE)
        add_stream(order, operation->stream);
    if (work->kind == BRAID_RECORD_EVENT_WAIT)
        add(order, order->records[work->event]);
    // All since the last synchronisation stand behind it already.
    const uint32_t *numbers = order->befores->items;
    const bool has_later = order->befores->num > order->first &&
                           is_later(numbers[order->befores->num - 1], order->synchronised);
    if (synchronises || !has_later)
        add(order, order->synchronised);
    if (synchronises)
        order->synchronised = number;
    else if (operation->stream != BRAID_RECORD_NONE)
        order->last[operation->stream] = number;
    if (work->kind == BRAID_RECORD_EVENT_RECORD)
        order->records[work->event] = number;
    if (work->kind == BRAID_RECORD_GRAPH)
        record_events(order, work->graph, number);
}

static void find_null_streams(struct order *order)
{
    const braid_record_contents *contents = order->contents;
    for (uint32_t i = 0; i < contents->num_streams; i++)
        for (uint32_t k = 0; k < contents->num_streams; k++)
            if (contents->streams[k].kind == BRAID_RECORD_NULL_STREAM &&
                contents->streams[k].context == contents->streams[i].context)
                order->null_of[i] = k;
}

bool braid_record_order(const braid_record_contents *contents, braid_record_operation *operations,
                        struct array *befores)
{
    const uint32_t num_streams = contents->num_streams, num_events = contents->num_events;
    const size_t num = 2 * (size_t)num_streams + num_events + contents->num_graphs;
    uint32_t *numbers = braid_allocate_zeroed(num, sizeof(*numbers));
    if (!numbers)
        return false;
    fill(numbers, (uint32_t)num);
    struct order order = {
        .contents = contents,
        .last = numbers,
        .null_of = numbers + num_streams,
        .records = numbers + 2 * (size_t)num_streams,
        .seen = numbers + 2 * (size_t)num_streams + num_events,
        .synchronised = BRAID_RECORD_NONE,
        .befores = befores,
    };
    find_null_streams(&order);
    for (uint32_t i = 0; i < contents->num_nodes; i++)
        order.graphs_record |= contents->nodes[i].work.kind == BRAID_RECORD_EVENT_RECORD;
    for (uint32_t i = 0; i < contents->num_operations && !order.failed; i++) {
        order.first = operations[i].first_before = (uint32_t)befores->num;
        order_one(&order, i, &operations[i]);
        operations[i].num_befores = (uint32_t)befores->num - order.first;
    }
    braid_free(numbers);
    return !order.failed;
}
