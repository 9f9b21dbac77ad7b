// SPDX-License-Identifier: Apache-2.0
// Where the commands of streams lie: in chunks, one behind the other; long arguments in blocks.
#include "backends/cpu/cpu.h"

enum {
    CHUNK_BYTES = 2048,
    ALIGNMENT = 16, // each command's
    GO_ON_BYTES = 16,
    SMALLEST_BYTES = 64, // a block of class 0 has so many
};

struct cpu_chunk {
    void *pooled; // see cpu_pool
    _Alignas(ALIGNMENT) unsigned char bytes[CHUNK_BYTES - ALIGNMENT];
};

struct cpu_block {
    void *pooled;
    uint32_t size_class;
    _Alignas(CPU_LINE_BYTES) unsigned char bytes[];
};

static struct cpu_command *command_at(struct cpu_chunk *chunk, uint32_t offset)
{
    return (struct cpu_command *)(void *)(chunk->bytes + offset);
}

_Static_assert(CPU_COMMAND_BYTES(next_chunk) <= GO_ON_BYTES, "room is kept for it");

// Each chunk keeps room for the command that leads to the next one.
static bool has_room(const struct cpu_stream *stream, size_t bytes)
{
    return stream->last_chunk &&
           stream->num_used_bytes + bytes + GO_ON_BYTES <= sizeof(stream->last_chunk->bytes);
}

// The walking thread comes to a first chunk, or sees a next one, only behind a command that is
// queued later.
static void add_chunk(struct cpu_stream *stream, struct cpu_chunk *chunk)
{
    if (stream->last_chunk) {
        struct cpu_command *command = command_at(stream->last_chunk, stream->num_used_bytes);
        command->kind = CPU_COMMAND_GO_ON;
        command->next_chunk = chunk;
    } else {
        stream->chunk = chunk;
        stream->next = command_at(chunk, 0);
    }
    stream->last_chunk = chunk;
    stream->num_used_bytes = 0;
}

static size_t round_up(size_t bytes)
{
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

// An empty queue begins anew at the start of its chunk. So a stream that is idle between frames
// keeps to one chunk, which stays in the caches. The walking thread is done with `next` and `chunk`
// when it counts a command as ended, until it sees that one more is queued. It writes that count
// all the time, so a stream that seems to be walked is left alone.
static void begin_anew(struct cpu_stream *stream)
{
    bool is_walked = atomic_load_explicit(&stream->scheduled, memory_order_relaxed);
    if (is_walked || !cpu_stream_is_idle(stream) || stream->chunk != stream->last_chunk)
        return;
    stream->next = stream->chunk ? command_at(stream->chunk, 0) : NULL;
    stream->num_used_bytes = 0;
}

struct cpu_command *braid_cpu_command_reserve(struct cpu_backend *backend,
                                              struct cpu_stream *stream, size_t bytes)
{
    begin_anew(stream);
    if (!has_room(stream, round_up(bytes))) {
        struct cpu_chunk *chunk =
            braid_cpu_pool_take(&backend->chunks, &backend->slabs, sizeof(*chunk));
        if (!chunk)
            return NULL;
        add_chunk(stream, chunk);
    }
    struct cpu_command *command = command_at(stream->last_chunk, stream->num_used_bytes);
    command->bytes = (uint32_t)round_up(bytes);
    return command;
}

struct cpu_command *braid_cpu_command_next(struct cpu_backend *backend, struct cpu_stream *stream)
{
    if (stream->next->kind == CPU_COMMAND_GO_ON) {
        struct cpu_chunk *ended = stream->chunk;
        stream->chunk = stream->next->next_chunk;
        stream->next = command_at(stream->chunk, 0);
        braid_cpu_pool_put(&backend->chunks, ended);
    }
    return stream->next;
}

void braid_cpu_command_skip(struct cpu_stream *stream)
{
    stream->next = (struct cpu_command *)(void *)((char *)stream->next + stream->next->bytes);
}

// A failed reservation may have led on to a chunk that holds nothing yet.
void braid_cpu_chunks_release(struct cpu_backend *backend, struct cpu_stream *stream)
{
    if (!stream->last_chunk)
        return;
    if (stream->chunk != stream->last_chunk)
        braid_cpu_pool_put(&backend->chunks, stream->chunk);
    braid_cpu_pool_put(&backend->chunks, stream->last_chunk);
}

static uint32_t class_of(size_t bytes)
{
    uint32_t size_class = 0;
    while (size_class < CPU_NUM_BLOCK_SIZES && ((size_t)SMALLEST_BYTES << size_class) < bytes)
        size_class++;
    return size_class;
}

// The largest class holds 128 GiB, so memory is the only limit; NULL beyond it.
struct cpu_block *braid_cpu_block_create(struct cpu_backend *backend, size_t bytes)
{
    uint32_t size_class = class_of(bytes);
    if (size_class >= CPU_NUM_BLOCK_SIZES)
        return NULL;
    struct cpu_block *block =
        braid_cpu_pool_take(&backend->blocks[size_class], &backend->slabs,
                            sizeof(*block) + ((size_t)SMALLEST_BYTES << size_class));
    if (block)
        block->size_class = size_class;
    return block;
}

unsigned char *braid_cpu_block_bytes(struct cpu_block *block)
{
    return block->bytes;
}

void braid_cpu_block_release(struct cpu_backend *backend, struct cpu_block *block)
{
    if (block)
        braid_cpu_pool_put(&backend->blocks[block->size_class], block);
}
