// SPDX-License-Identifier: Apache-2.0
// Pools: blocks of device memory that execs share, and the order of these execs' launches.
//
// An exec takes all of its transient memory on a device from one block, which stays where it is. If
// no block is large enough, the pool gets a further one. A block without users is freed.
//
// Each launch waits on the device for the frames of the exec launched before, also if their blocks
// differ. Those frames waited for the exec before them, so one event tells of all.
#include <braid/pool.h>

#include <stdatomic.h>
#include <stddef.h>

#include "base/error.h"
#include "base/host_memory.h"
#include "base/sized.h"
#include "device/places.h"
#include "exec/exec_memory.h"

struct pool_block {
    struct pool_block *next;
    struct memory_pool *pool;
    void *memory;
    uint64_t bytes;
    uint32_t place;
    bool is_reserved; // it stays without users
    uint64_t num_users;
};

// An exec of the pool.
struct member {
    struct exec_part part;
    struct memory_pool *pool;
    bool has_turn; // guarded by the exec's lock
};

// The latest frames of a member that are in a row.
struct run {
    const struct member *member; // NULL: there are none, or they have ended
    const braid_event *end;      // its slot's event, recorded behind all of them
};

struct memory_pool {
    struct braid_memory_pool pool; // its functions
    struct places places;
    // Taken for a launch, from its first queued work until its end is recorded.
    pthread_mutex_t turn;
    const char *_Atomic launcher; // the thread that has the turn, by an address of its own
    // Guards the runs, and keeps an event of theirs where it is while it is used.
    pthread_mutex_t order;
    struct run last, before; // they have two members
    uint64_t slots_behind;   // a bit for each slot of the last one that is behind `before`
    pthread_mutex_t growth;  // taken while a block is looked for and made
    // Guards all that follows. Nothing waits with it, so that a host call may ask for the info.
    pthread_mutex_t lock;
    struct pool_block *blocks;
    uint64_t num_users; // its handle, its members, their arenas
    uint64_t num_members, unshared_bytes;
};

static struct memory_pool *inside_of(const braid_memory_pool *pool)
{
    return (struct memory_pool *)(uintptr_t)pool;
}

static void use(struct memory_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    pool->num_users++;
    pthread_mutex_unlock(&pool->lock);
}

static void free_block(struct pool_block *block)
{
    if (!block)
        return;
    const struct backend *backend = block->pool->places.devices[block->place]->backend;
    backend->ops->release((struct backend *)(uintptr_t)backend, BRAID_MEMORY_DEVICE, block->memory);
    braid_free(block);
}

static void free_pool(struct memory_pool *pool)
{
    const struct places places = pool->places;
    while (pool->blocks) {
        struct pool_block *block = pool->blocks;
        pool->blocks = block->next;
        free_block(block);
    }
    pthread_mutex_destroy(&pool->turn);
    pthread_mutex_destroy(&pool->order);
    pthread_mutex_destroy(&pool->growth);
    pthread_mutex_destroy(&pool->lock);
    braid_free(pool);
    braid_places_hold(&places, offsetof(braid_device, num_allocations), -1);
}

static void leave(struct memory_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    bool is_last = --pool->num_users == 0;
    pthread_mutex_unlock(&pool->lock);
    if (is_last)
        free_pool(pool);
}

// ---- memory ----

static braid_status add_block(struct memory_pool *pool, uint32_t place, uint64_t bytes,
                              bool is_reserved, struct pool_block **out_block)
{
    const braid_device *device = pool->places.devices[place];
    struct pool_block *block = braid_allocate(sizeof(*block));
    if (!block)
        return braid_error_no_memory("a memory pool");
    *block = (struct pool_block){
        .pool = pool, .bytes = bytes, .place = place, .is_reserved = is_reserved
    };
    braid_status status =
        device->backend->ops->allocate(device->backend, BRAID_MEMORY_DEVICE, bytes, &block->memory);
    if (status) {
        braid_free(block);
        return braid_error(status,
                           "a memory pool on %s takes %llu bytes more for transient buffers: %s",
                           device->label, (unsigned long long)bytes, braid_error_get_message());
    }
    pthread_mutex_lock(&pool->lock);
    block->next = pool->blocks;
    pool->blocks = block;
    block->num_users = !is_reserved;
    pthread_mutex_unlock(&pool->lock);
    *out_block = block;
    return BRAID_OK;
}

// The smallest block that is large enough, with one user more; NULL: there is none.
static struct pool_block *find_block(struct memory_pool *pool, uint32_t place, uint64_t bytes)
{
    struct pool_block *best = NULL;
    pthread_mutex_lock(&pool->lock);
    for (struct pool_block *block = pool->blocks; block; block = block->next) {
        if (block->place == place && block->bytes >= bytes && (!best || block->bytes < best->bytes))
            best = block;
    }
    if (best)
        best->num_users++;
    pthread_mutex_unlock(&pool->lock);
    return best;
}

static void note_arena(struct pool_block *block, struct exec_arena *arena, bool is_first)
{
    pthread_mutex_lock(&block->pool->lock);
    block->num_users += !is_first;
    block->pool->num_users++;
    block->pool->unshared_bytes += arena->bytes;
    pthread_mutex_unlock(&block->pool->lock);
    arena->block = block;
}

// The arenas of all slots at a place stand one behind the other in one block.
static braid_status take(braid_memory_pool *given, const braid_exec *exec, uint32_t index,
                         uint64_t bytes, uint64_t alignment, struct exec_arena *arenas)
{
    struct memory_pool *pool = inside_of(given);
    uint32_t place = index % exec_num_places(exec), slot = index / exec_num_places(exec);
    if (alignment < DEVICE_ALIGNMENT)
        alignment = DEVICE_ALIGNMENT;
    uint64_t step = (bytes + alignment - 1) / alignment * alignment;
    struct pool_block *block = arenas[place].block;
    struct exec_arena *arena = &arenas[index];
    if (!bytes)
        return BRAID_OK;
    if (bytes > UINT64_MAX / 64)
        return braid_error(BRAID_NO_MEMORY,
                           "the transient buffers of an exec on %s take %llu bytes",
                           exec->places.devices[place]->label, (unsigned long long)bytes);
    arena->bytes = bytes;
    if (slot == 0) {
        uint64_t needed = (exec->frames.num - 1) * step + bytes + alignment - DEVICE_ALIGNMENT;
        braid_status status = BRAID_OK;
        pthread_mutex_lock(&pool->growth);
        block = find_block(pool, place, needed);
        if (!block)
            status = add_block(pool, place, needed, false, &block);
        pthread_mutex_unlock(&pool->growth);
        if (status)
            return status;
        uintptr_t begin = ((uintptr_t)block->memory + alignment - 1) / alignment * alignment;
        arena->begin = (unsigned char *)block->memory + (begin - (uintptr_t)block->memory);
    } else {
        arena->begin = arenas[place].begin + slot * step;
    }
    note_arena(block, arena, slot == 0);
    return BRAID_OK;
}

static void take_out(struct pool_block *block)
{
    struct pool_block **link = &block->pool->blocks;
    while (*link != block)
        link = &(*link)->next;
    *link = block->next;
}

static void give_back(struct exec_arena *arena)
{
    struct pool_block *block = arena->block;
    struct memory_pool *pool = block->pool;
    pthread_mutex_lock(&pool->lock);
    pool->unshared_bytes -= arena->bytes;
    bool is_unused = --block->num_users == 0 && !block->is_reserved;
    if (is_unused)
        take_out(block);
    pthread_mutex_unlock(&pool->lock);
    if (is_unused)
        free_block(block);
    *arena = (struct exec_arena){ 0 };
    leave(pool);
}

// ---- order ----

static const char *this_thread(void)
{
    static _Thread_local const char here;
    return &here;
}

// An audit gives an exec memory of its own.
static bool has_pooled(const braid_exec *exec)
{
    bool has = false;
    for (uint32_t i = 0; exec->memory.arenas && i < exec_num_places(exec); i++)
        has |= exec->memory.arenas[i].block != NULL;
    return has;
}

static uint64_t slot_bit(const braid_exec *exec, const struct exec_launch *launch)
{
    return UINT64_C(1) << (launch->slot - exec->frames.slots);
}

// A slot that was launched since the other exec's frames is behind them already. The first wait of
// a slot is needed all the same: its memory is that of these frames.
static braid_status wait_for_others(const struct member *member, const braid_exec *exec,
                                    const struct exec_launch *launch)
{
    struct memory_pool *pool = member->pool;
    struct backend *backend = exec->device->backend;
    braid_status status = BRAID_OK;
    pthread_mutex_lock(&pool->order);
    const struct run *run = pool->last.member == member ? &pool->before : &pool->last;
    bool is_behind =
        pool->last.member == member && (pool->slots_behind & slot_bit(exec, launch)) != 0;
    if (run->member && !is_behind)
        status = backend->ops->stream_wait(backend, launch->queue->backend, run->end->backend);
    pthread_mutex_unlock(&pool->order);
    if (!status)
        return BRAID_OK;
    return braid_error(status,
                       "launch on %s: it could not be queued behind the last launch of its memory "
                       "pool: %s",
                       exec->device->label, braid_error_get_message());
}

// Before the launch waits for others of the exec, which may wait for the turn of this thread.
static braid_status check_launch(const braid_memory_pool *pool, const char *function)
{
    if (atomic_load(&inside_of(pool)->launcher) != this_thread())
        return BRAID_OK;
    return braid_error(BRAID_WRONG_STATE,
                       "%s: called inside a queue call of an exec of the same memory pool",
                       function);
}

// Waits without the exec's lock: the thread that has the turn may be in a queue call that asks this
// exec for something.
static void take_turn(struct memory_pool *pool, braid_exec *exec)
{
    if (pthread_mutex_trylock(&pool->turn) == 0)
        return;
    braid_exec_begin_wait(exec);
    pthread_mutex_lock(&pool->turn);
    braid_exec_end_wait(exec);
}

static braid_status before_launch(struct exec_part *part, braid_exec *exec,
                                  const struct exec_launch *launch)
{
    struct member *member = (struct member *)part;
    struct memory_pool *pool = member->pool;
    if (!has_pooled(exec))
        return BRAID_OK;
    if (!member->has_turn) {
        take_turn(pool, exec);
        atomic_store(&pool->launcher, this_thread());
        member->has_turn = true;
    }
    return wait_for_others(member, exec, launch);
}

static braid_status after_launch(struct exec_part *part, braid_exec *exec,
                                 const struct exec_launch *launch)
{
    struct member *member = (struct member *)part;
    struct memory_pool *pool = member->pool;
    if (!launch->queued || !member->has_turn)
        return BRAID_OK;
    pthread_mutex_lock(&pool->order);
    if (pool->last.member != member) {
        pool->before = pool->last;
        pool->slots_behind = 0;
    }
    pool->last = (struct run){ member, launch->slot->done };
    pool->slots_behind |= slot_bit(exec, launch);
    pthread_mutex_unlock(&pool->order);
    return BRAID_OK;
}

static void end_launch(struct exec_part *part)
{
    struct member *member = (struct member *)part;
    if (!member->has_turn)
        return;
    member->has_turn = false;
    atomic_store(&member->pool->launcher, NULL);
    pthread_mutex_unlock(&member->pool->turn);
}

// No frame of the exec is in flight, nor one that its frames waited for.
static void finish(struct exec_part *part, braid_exec *exec)
{
    struct member *member = (struct member *)part;
    struct memory_pool *pool = member->pool;
    (void)exec;
    pthread_mutex_lock(&pool->order);
    if (pool->last.member == member)
        pool->last = pool->before = (struct run){ 0 };
    else if (pool->before.member == member)
        pool->before = (struct run){ 0 };
    pthread_mutex_unlock(&pool->order);
    pthread_mutex_lock(&pool->lock);
    pool->num_members--;
    pthread_mutex_unlock(&pool->lock);
    braid_free(member);
    leave(pool);
}

static const struct exec_part_ops ops = {
    .before_launch = before_launch,
    .after_launch = after_launch,
    .end_launch = end_launch,
    .finish = finish,
};

static const char *label_of(const struct places *places)
{
    return places->group ? places->group->label : places->devices[0]->label;
}

static braid_status join(braid_memory_pool *given, braid_exec *exec)
{
    struct memory_pool *pool = inside_of(given);
    if (pool->places.group != exec->places.group || pool->places.devices[0] != exec->device)
        return braid_error_invalid("braid_exec_create: the memory pool is of %s, the exec of %s",
                                   label_of(&pool->places), label_of(&exec->places));
    struct member *member = braid_allocate_zeroed(1, sizeof(*member));
    if (!member)
        return braid_error_no_memory("an exec");
    *member = (struct member){ .part.ops = &ops, .pool = pool };
    use(pool);
    pthread_mutex_lock(&pool->lock);
    pool->num_members++;
    pthread_mutex_unlock(&pool->lock);
    exec->memory.pool = given;
    braid_exec_add_part(&exec->parts, &member->part);
    return BRAID_OK;
}

// ---- pools ----

// Half-made or not, its only user is the caller.
static struct memory_pool *make_pool(const struct places *places)
{
    struct memory_pool *pool = braid_allocate_zeroed(1, sizeof(*pool));
    if (!pool)
        return NULL;
    pool->pool = (struct braid_memory_pool){ join, check_launch, take, give_back };
    pool->places = *places;
    pool->num_users = 1;
    pthread_mutex_init(&pool->turn, NULL);
    pthread_mutex_init(&pool->order, NULL);
    pthread_mutex_init(&pool->growth, NULL);
    pthread_mutex_init(&pool->lock, NULL);
    braid_places_hold(places, offsetof(braid_device, num_allocations), 1);
    return pool;
}

static braid_status pool_create(braid_device *device, const braid_memory_pool_options *options,
                                braid_memory_pool **out_pool)
{
    static const char function[] = "braid_memory_pool_create";
    DEVICE_MEMORY(device);
    if (!device || !out_pool)
        return braid_error_null(function, device ? "out_pool" : "device");
    braid_status status = braid_device_check_open(function, device);
    if (status)
        return status;
    const struct places places = braid_device_places(device);
    for (uint32_t i = 0; i < places.num && !status; i++)
        status = braid_device_check(function, places.devices[i]);
    if (status)
        return status;
    struct memory_pool *pool = make_pool(&places);
    if (!pool)
        return braid_error_no_memory("a memory pool");
    struct pool_block *block;
    for (uint32_t i = 0; i < places.num && options->bytes && !status; i++)
        status = add_block(pool, i, options->bytes, true, &block);
    if (status)
        leave(pool);
    else
        *out_pool = &pool->pool;
    return status;
}

braid_status braid_memory_pool_create_sized(braid_device *device,
                                            const braid_memory_pool_options *options,
                                            braid_memory_pool **out_pool, size_t size)
{
    braid_memory_pool_options own;
    braid_status status =
        braid_sized_take("braid_memory_pool_create: options", options, size, &own, sizeof(own));
    return status ? status : pool_create(device, &own, out_pool);
}

void braid_memory_pool_destroy(braid_memory_pool *pool)
{
    struct memory_pool *inside = inside_of(pool);
    DEVICE_MEMORY(pool ? inside->places.devices[0] : NULL);
    if (pool && device_is_here(inside->places.devices[0]))
        leave(inside);
}

void braid_memory_pool_get_info_sized(const braid_memory_pool *pool,
                                      braid_memory_pool_info *out_info, size_t size)
{
    struct memory_pool *inside = inside_of(pool);
    braid_memory_pool_info info = { 0 };
    if (pool && device_is_here(inside->places.devices[0])) {
        pthread_mutex_lock(&inside->lock);
        info.unshared_bytes = inside->unshared_bytes;
        info.num_execs = inside->num_members;
        for (const struct pool_block *block = inside->blocks; block; block = block->next) {
            info.bytes += block->bytes;
            info.num_blocks++;
        }
        pthread_mutex_unlock(&inside->lock);
    }
    braid_sized_give(&info, sizeof(info), out_info, size);
}
