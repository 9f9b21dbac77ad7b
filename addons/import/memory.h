// SPDX-License-Identifier: Apache-2.0
// The buffers that addresses in a captured graph point into.
#ifndef BRAID_IMPORT_MEMORY_H
#define BRAID_IMPORT_MEMORY_H

#include <braid/import.h>

#include "import/captured.h"

enum import_buffer_kind {
    BUFFER_GIVEN,      // by the program
    BUFFER_DRIVER,     // an allocation that the driver knows
    BUFFER_ALLOCATION, // a node of the graph allocates it
    BUFFER_VARIABLE,   // a module has it
};

struct import_buffer {
    enum import_buffer_kind kind;
    uintptr_t begin;
    uint64_t bytes;
    const char *name; // NULL: it has none
    bool is_watched;  // somebody may look at it during a frame
    bool is_closed;   // pointers in it lead into closed ones
    bool is_part;     // bytes of another one, which some node touches by themselves
    uint32_t member;  // its device; MEMBER_NONE: another, several, or nobody asked
    bool is_mapped;   // the program mapped it, so that it may have several addresses
    // An allocation has its node. It has rows of bits, by node: which nodes stand behind that one,
    // and which behind the one that frees it.
    uint32_t node;
    uint64_t *born, *dead;
};

struct import_copy {
    uint64_t begin, bytes;
    unsigned char *data;  // in the store
    unsigned char *known; // a record has it, by byte: 1 where it is; NULL: all of them
    uint32_t node;        // a record has it: only it finds them so; IMPORT_NONE: all nodes do
};

// The memory of a frame is that of a record, and no device is asked.
struct import_recorded {
    const braid_record_contents *record; // NULL: there is none
    uint32_t first, end;                 // operations of the frame
};

struct import_memory {
    const struct gpu_backend *gpu;
    const struct captured_graph *captured;
    const braid_import_options *options;
    struct import_recorded recorded;
    struct array buffers; // struct import_buffer: those given first, then allocations of the graph
    struct array copies;  // struct import_copy: memory of the device that was read
    uint32_t num_given, num_allocations;
    bool has_closed;  // among those given
    bool *seen;       // a record has it: room, by its graphs
    uint32_t *end_of; // by allocation of the record: 1 + the row with bytes of its end, or 0
    struct store store;
};

static inline const struct import_buffer *import_buffers(const struct import_memory *memory)
{
    return memory->buffers.items;
}

// Errors: BRAID_NO_MEMORY, BRAID_INVALID_ARGUMENT (buffers that the program gives overlap),
// BRAID_UNSUPPORTED (names an allocation that the graph does not free, or a free without one).
braid_status braid_import_memory_create(const struct captured_graph *captured,
                                        const struct import_recorded *recorded,
                                        const braid_import_options *options,
                                        struct import_memory *out_memory);
// Adds the variables of a function's module that have these names, each NUL-terminated. Its device
// is current. Errors: BRAID_NO_MEMORY, BRAID_DEVICE_ERROR. *out_watched: somebody may look at one
// during a frame.
braid_status braid_import_memory_add_variables(struct import_memory *memory, gpu_function function,
                                               const struct array *names, bool *out_watched);
void braid_import_memory_finish(struct import_memory *memory);

enum import_place {
    PLACE_BUFFER,  // in a buffer
    PLACE_NOWHERE, // no work can use it as an address
    PLACE_UNKNOWN, // perhaps an address
    PLACE_DEAD,    // in an allocation of the graph that the node does not follow, or that is freed
};

// The buffer that a node means by an address. The device is current. Errors: BRAID_NO_MEMORY,
// BRAID_DEVICE_ERROR.
braid_status braid_import_memory_find(struct import_memory *memory, uint32_t node, uint64_t address,
                                      enum import_place *out_place, uint32_t *out_buffer);

// The same for an allocation that the driver knows, also where the program gives a part of it.
braid_status braid_import_memory_find_whole(struct import_memory *memory, uint64_t address,
                                            enum import_place *out_place, uint32_t *out_buffer);

// The same for an address that a kernel means: the end of a buffer belongs to it, unless another
// one begins there. *out_before, unless it is NULL: the buffer that ends there if another one
// begins there; else IMPORT_NONE.
braid_status braid_import_memory_find_or_end(struct import_memory *memory, uint32_t node,
                                             uint64_t address, enum import_place *out_place,
                                             uint32_t *out_buffer, uint32_t *out_before);

// recorded_memory.c: adds the allocations of a record's frame. Errors: BRAID_NO_MEMORY.
braid_status braid_import_memory_add_recorded(struct import_memory *memory);
// The buffer that the record has at an address, when it made a node.
enum import_place braid_import_memory_find_recorded(const struct import_memory *memory,
                                                    uint32_t node, uint64_t address,
                                                    uint32_t *out_buffer);
// Whether the record has the memory where the frame begins: it is the last one.
bool braid_import_has_contents(const struct import_recorded *recorded);
// The bytes that copies from the host wrote there before a node. Other copies of the frame may send
// the same. copy->node tells whether the frame has any.
braid_status braid_import_memory_fill_recorded(const struct import_memory *memory, uint32_t node,
                                               struct import_copy *copy);
// The bytes that a copy from the host sent to one range; NULL: the record does not tell them. It
// tells none if earlier work of it writes their source.
const void *braid_import_memory_sent_bytes(const struct import_memory *memory, uint32_t operation);
// Whether the host writes such memory without a call.
static inline bool braid_import_is_of_host(braid_record_memory_kind kind)
{
    return kind != BRAID_RECORD_DEVICE && kind != BRAID_RECORD_POOL &&
           kind != BRAID_RECORD_MAPPED && kind != BRAID_RECORD_VARIABLE &&
           kind != BRAID_RECORD_OF_GRAPH;
}

// Whether a word may be the address of memory: others are numbers, such as a distance of rows.
static inline bool braid_import_may_point(uint64_t word)
{
    return word >= UINT64_C(1) << 32 && word < UINT64_C(1) << 57;
}

// Reads bytes that a node finds in a buffer, which is no allocation of the graph. They live as long
// as the memory; NULL: the record does not have all of them. The device is current. Errors:
// BRAID_NO_MEMORY, BRAID_DEVICE_ERROR.
braid_status braid_import_memory_read(struct import_memory *memory, uint32_t node,
                                      const struct import_buffer *of, uint64_t address,
                                      uint64_t bytes, const unsigned char **out_bytes);

// Whether the node stands between the allocation and its free.
bool braid_import_memory_lives(const struct import_buffer *allocation, uint32_t node);

#endif
