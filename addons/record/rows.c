// SPDX-License-Identifier: Apache-2.0
// The members of each struct of a record, in the order of the file.
#include "record/rows.h"

#define BYTES_OF(type, member) sizeof(((type *)0)->member)
#define NUMBER(type, member)                                                                       \
    {                                                                                              \
#member, RECORD_NUMBER, offsetof(type, member), BYTES_OF(type, member), 0, 0, 0, 0         \
    }
#define FLAG(type, member)                                                                         \
    {                                                                                              \
#member, RECORD_FLAG, offsetof(type, member), BYTES_OF(type, member), 1, 0, 0, 0           \
    }
#define CHOICE(type, member, last)                                                                 \
    {                                                                                              \
#member, RECORD_CHOICE, offsetof(type, member), BYTES_OF(type, member), last, 0, 0, 0      \
    }
#define INDEX(type, member, section)                                                               \
    {                                                                                              \
#member, RECORD_INDEX, offsetof(type, member), BYTES_OF(type, member), section, 0, 0, 0    \
    }
#define TEXT(type, member)                                                                         \
    {                                                                                              \
#member, RECORD_TEXT, offsetof(type, member), BYTES_OF(type, member), 0, 0, 0, 0           \
    }
#define BLOCK(type, member, num)                                                                   \
    {                                                                                              \
#member, RECORD_BLOCK, offsetof(type, member), BYTES_OF(type, member), 0,                  \
            offsetof(type, num), BYTES_OF(type, num), 0                                            \
    }

#define SINCE_4(type, member, kind, limit)                                                         \
    {                                                                                              \
#member, kind, offsetof(type, member), BYTES_OF(type, member), limit, 0, 0, 4              \
    }

// An end of a copy, inside the work of an operation or a node.
#define END(type, end)                                                                             \
    NUMBER(type, end.address), CHOICE(type, end.place, BRAID_RECORD_ANYWHERE),                     \
        NUMBER(type, end.pitch), NUMBER(type, end.rows), NUMBER(type, end.x), NUMBER(type, end.y), \
        NUMBER(type, end.z)

#define TRIPLE(type, member)                                                                       \
    NUMBER(type, member[0]), NUMBER(type, member[1]), NUMBER(type, member[2])

#define WORK(type)                                                                                 \
    CHOICE(type, work.kind, BRAID_RECORD_UNKNOWN), TEXT(type, work.name),                          \
        INDEX(type, work.kernel, RECORD_KERNELS), TRIPLE(type, work.grid),                         \
        TRIPLE(type, work.block), TRIPLE(type, work.cluster), NUMBER(type, work.shared_bytes),     \
        FLAG(type, work.is_cooperative), FLAG(type, work.starts_early),                            \
        FLAG(type, work.has_unknown_attributes), NUMBER(type, work.parameter_bytes),               \
        BLOCK(type, work.parameters, work.parameter_bytes), END(type, work.from),                  \
        END(type, work.to), NUMBER(type, work.width), NUMBER(type, work.height),                   \
        NUMBER(type, work.depth), NUMBER(type, work.value), NUMBER(type, work.value_bytes),        \
        NUMBER(type, work.num_bytes), BLOCK(type, work.bytes, work.num_bytes),                     \
        NUMBER(type, work.digest), INDEX(type, work.memory, RECORD_ALLOCATIONS),                   \
        INDEX(type, work.graph, RECORD_GRAPHS), NUMBER(type, work.event),                          \
        CHOICE(type, work.scope, BRAID_RECORD_OF_OPERATION), NUMBER(type, work.scope_of),          \
        CHOICE(type, work.condition, BRAID_RECORD_SWITCH), NUMBER(type, work.condition_handle),    \
        NUMBER(type, work.num_bodies), SINCE_4(type, work.has_first_value, RECORD_FLAG, 1),        \
        SINCE_4(type, work.first_value, RECORD_NUMBER, 0)

static const struct record_member program[] = {
    TEXT(braid_record_contents, program),        NUMBER(braid_record_contents, driver_version),
    NUMBER(braid_record_contents, num_contexts), NUMBER(braid_record_contents, num_threads),
    NUMBER(braid_record_contents, num_events),   NUMBER(braid_record_contents, most_bytes),
};

static const struct record_member modules[] = {
    TEXT(braid_record_module, file),
    CHOICE(braid_record_module, kind, BRAID_RECORD_OTHER_TEXT),
    FLAG(braid_record_module, is_library),
    NUMBER(braid_record_module, context),
    NUMBER(braid_record_module, text_bytes),
    BLOCK(braid_record_module, text, text_bytes),
    NUMBER(braid_record_module, all_bytes),
};

static const struct record_member kernels[] = {
    TEXT(braid_record_kernel, name),
    INDEX(braid_record_kernel, module, RECORD_MODULES),
    NUMBER(braid_record_kernel, num_parameters),
    NUMBER(braid_record_kernel, first_parameter),
    NUMBER(braid_record_kernel, shared_bytes),
    NUMBER(braid_record_kernel, dynamic_shared_bytes),
    NUMBER(braid_record_kernel, registers),
    NUMBER(braid_record_kernel, max_threads),
};

static const struct record_member parameters[] = {
    NUMBER(braid_record_parameter, offset),
    NUMBER(braid_record_parameter, bytes),
};

static const struct record_member allocations[] = {
    NUMBER(braid_record_allocation, address),
    NUMBER(braid_record_allocation, bytes),
    NUMBER(braid_record_allocation, device_address),
    CHOICE(braid_record_allocation, kind, BRAID_RECORD_OF_GRAPH),
    NUMBER(braid_record_allocation, context),
    INDEX(braid_record_allocation, module, RECORD_MODULES),
    TEXT(braid_record_allocation, name),
    INDEX(braid_record_allocation, born, RECORD_OPERATIONS),
    INDEX(braid_record_allocation, freed_at, RECORD_OPERATIONS),
};

static const struct record_member streams[] = {
    NUMBER(braid_record_stream, handle),
    CHOICE(braid_record_stream, kind, BRAID_RECORD_PER_THREAD),
    NUMBER(braid_record_stream, context),
    NUMBER(braid_record_stream, priority),
    NUMBER(braid_record_stream, thread),
};

static const struct record_member operations[] = {
    WORK(braid_record_operation),
    INDEX(braid_record_operation, stream, RECORD_STREAMS),
    NUMBER(braid_record_operation, thread),
    NUMBER(braid_record_operation, begin_ns),
    NUMBER(braid_record_operation, end_ns),
    NUMBER(braid_record_operation, device_begin_ns),
    NUMBER(braid_record_operation, device_end_ns),
};

static const struct record_member graphs[] = {
    NUMBER(braid_record_graph, first_node),
    NUMBER(braid_record_graph, num_nodes),
};

static const struct record_member nodes[] = {
    WORK(braid_record_node),
    FLAG(braid_record_node, is_disabled),
    NUMBER(braid_record_node, first_before),
    NUMBER(braid_record_node, num_befores),
};

static const struct record_member befores[] = {
    { "before", RECORD_NUMBER, 0, sizeof(uint32_t), 0, 0, 0, 0 },
};

static const struct record_member frames[] = {
    NUMBER(braid_record_frame, first_operation),
    NUMBER(braid_record_frame, num_operations),
};

static const struct record_member strangers[] = {
    TEXT(braid_record_stranger, name),
    NUMBER(braid_record_stranger, num_calls),
};

static const struct record_member memory[] = {
    INDEX(braid_record_memory, allocation, RECORD_ALLOCATIONS),
    FLAG(braid_record_memory, is_of_end),
    NUMBER(braid_record_memory, num_bytes),
    BLOCK(braid_record_memory, bytes, num_bytes),
    NUMBER(braid_record_memory, digest_behind),
};

// The numbers of each row: a text has two, and all others one.
#define NUM(members) (uint32_t)(sizeof(members) / sizeof((members)[0]))
#define ARRAY(name, type, texts)                                                                   \
    {                                                                                              \
#name, sizeof(type), offsetof(braid_record_contents, name),                                \
            offsetof(braid_record_contents, num_##name), name, NUM(name), NUM(name) + (texts)      \
    }

const struct record_rows braid_record_rows[RECORD_NUM_SECTIONS] = {
    [RECORD_PROGRAM] = { "program", 0, 0, 0, program, NUM(program), NUM(program) + 1 },
    [RECORD_MODULES] = ARRAY(modules, braid_record_module, 1),
    [RECORD_KERNELS] = ARRAY(kernels, braid_record_kernel, 1),
    [RECORD_PARAMETERS] = ARRAY(parameters, braid_record_parameter, 0),
    [RECORD_ALLOCATIONS] = ARRAY(allocations, braid_record_allocation, 1),
    [RECORD_STREAMS] = ARRAY(streams, braid_record_stream, 0),
    [RECORD_OPERATIONS] = ARRAY(operations, braid_record_operation, 1),
    [RECORD_GRAPHS] = ARRAY(graphs, braid_record_graph, 0),
    [RECORD_NODES] = ARRAY(nodes, braid_record_node, 1),
    [RECORD_BEFORES] = ARRAY(befores, uint32_t, 0),
    [RECORD_FRAMES] = ARRAY(frames, braid_record_frame, 0),
    [RECORD_STRANGERS] = ARRAY(strangers, braid_record_stranger, 1),
    [RECORD_MEMORY] = ARRAY(memory, braid_record_memory, 0),
    [RECORD_BYTES] = { "bytes", 1, 0, 0, 0, 0, 0 },
};
