// SPDX-License-Identifier: Apache-2.0
// External objects: nodes that wait for events, semaphores, words and eventfds, or signal them.
//
// Such a node is a queue call, which calls the driver with the lane's stream, or a host call for an
// eventfd. So plans, players and verification know nothing of it. `user` of the node is a use. An
// exec that sets a value gets a use of its own.
#include <braid/external.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "backends/gpu/gpu_backend.h"
#include "base/error.h"
#include "base/host_memory.h"
#include "base/node_text.h"
#include "base/sized.h"
#include "device/device.h"
#include "device/places.h"
#include "exec/exec.h"

struct external_use {
    struct external_use *next;
    struct braid_external *external;
    const braid_exec *exec; // that set its value; NULL: none did
    bool signals;
    atomic_uint_fast64_t value;
    uint64_t step;
};

struct braid_external {
    braid_device *device;
    braid_external_kind kind;
    char name[64];
    int fd;
    void *handle; // the event, the word, or the driver's semaphore
    pthread_mutex_t lock;
    struct external_use *uses; // guarded by lock
};

static const char *const kinds[] = { "", "event", "semaphore", "timeline", "word", "eventfd" };

// ---- work on a stream ----

static gpu_result queue_event(const struct gpu_api *api, const struct external_use *use,
                              gpu_stream stream, bool captures, const void **out_slot)
{
    const unsigned flags = captures ? GPU_EVENT_EXTERNAL : 0; // under capture it becomes a node
    gpu_event event = use->external->handle;
    *out_slot = &api->stream_wait;
    if (!use->signals)
        return api->stream_wait(stream, event, flags);
    *out_slot = captures ? (const void *)&api->event_record_with : &api->event_record;
    return captures ? api->event_record_with(event, stream, flags)
                    : api->event_record(event, stream);
}

static gpu_result queue_semaphore(const struct gpu_api *api, const struct external_use *use,
                                  uint64_t value, gpu_stream stream, const void **out_slot)
{
    const struct gpu_semaphore_value parameters = { .value = value };
    void *const semaphore = use->external->handle;
    *out_slot = use->signals ? &api->semaphore_signal : &api->semaphore_wait;
    return use->signals ? api->semaphore_signal(&semaphore, &parameters, 1, stream)
                        : api->semaphore_wait(&semaphore, &parameters, 1, stream);
}

static gpu_result queue_word(const struct gpu_backend *gpu, const struct external_use *use,
                             uint32_t value, gpu_stream stream, const void **out_slot)
{
    const struct gpu_api *api = gpu->api;
    void *word = use->external->handle;
    *out_slot = &api->stream_write_value;
    if (use->signals)
        return api->stream_write_value(stream, word, value, 0);
    if (gpu->vendor->index == GPU_HIP) {
        *out_slot = &api->hip_stream_wait_value32;
        return api->hip_stream_wait_value32(stream, word, value, GPU_WAIT_FOR_AT_LEAST, UINT32_MAX);
    }
    *out_slot = &api->stream_wait_value;
    return api->stream_wait_value(stream, word, value, GPU_WAIT_FOR_AT_LEAST);
}

// Only a program's capture, or a driver graph, captures the node: HIP plays neither.
static braid_status find_capture(const struct gpu_backend *gpu, const struct external_use *use,
                                 gpu_stream stream, bool *out_captures)
{
    int captures = 0;
    const struct gpu_api *api = gpu->api;
    braid_status status = BRAID_OK;
    if (gpu->vendor->index == GPU_CUDA)
        status = braid_gpu_check(gpu, api->stream_is_capturing(stream, &captures),
                                 &api->stream_is_capturing, "an external node");
    if (!status && captures && use->step)
        return braid_error(BRAID_UNSUPPORTED,
                           "external '%s': a driver graph does not add a step to the value",
                           use->external->name);
    *out_captures = captures != 0;
    return status;
}

static braid_status queue_external(braid_device *device, braid_stream *stream, void *user)
{
    struct external_use *use = user;
    const struct braid_external *external = use->external;
    if (strcmp(device->label, external->device->label) != 0)
        return braid_error(BRAID_UNSUPPORTED, "external '%s' is of device '%s', and not of '%s'",
                           external->name, external->device->label, device->label);
    const struct gpu_backend *gpu = gpu_from(device->backend);
    const gpu_stream handle = braid_stream_get_handle(stream);
    bool captures = false;
    braid_status status = find_capture(gpu, use, handle, &captures);
    if (status)
        return status;
    const uint64_t value = atomic_fetch_add(&use->value, use->step);
    const void *slot = NULL;
    gpu_result result;
    if (external->kind == BRAID_EXTERNAL_EVENT)
        result = queue_event(gpu->api, use, handle, captures, &slot);
    else if (external->kind == BRAID_EXTERNAL_WORD)
        result = queue_word(gpu, use, (uint32_t)value, handle, &slot);
    else
        result = queue_semaphore(gpu->api, use, value, handle, &slot);
    char what[128];
    snprintf(what, sizeof(what), "the %s of external '%s'", use->signals ? "signal" : "wait",
             external->name);
    return braid_gpu_check(gpu, result, slot, what);
}

// ---- eventfds ----

// A counter that is full, or 0 and not to block, is waited for.
static void move_count(const struct external_use *use, uint64_t *count)
{
    const int fd = use->external->fd;
    ssize_t moved;
    do {
        moved = use->signals ? write(fd, count, sizeof(*count)) : read(fd, count, sizeof(*count));
        struct pollfd ready = { .fd = fd, .events = use->signals ? POLLOUT : POLLIN };
        if (moved < 0 && errno == EAGAIN)
            poll(&ready, 1, -1);
    } while (moved < 0 && (errno == EAGAIN || errno == EINTR));
    if (moved < 0)
        braid_error(BRAID_IO_ERROR, "external '%s': the %s of its eventfd failed: %s",
                    use->external->name, use->signals ? "write" : "read", strerror(errno));
}

static void use_eventfd(void *user)
{
    struct external_use *use = user;
    uint64_t count = atomic_load(&use->value);
    count = count ? count : 1;
    move_count(use, &count);
}

// ---- nodes ----

static struct external_use *add_use(struct braid_external *external, const braid_exec *exec,
                                    bool signals, uint64_t value, uint64_t step)
{
    struct external_use *use = braid_allocate_zeroed(1, sizeof(*use));
    if (!use)
        return NULL;
    use->external = external;
    use->exec = exec;
    use->signals = signals;
    use->step = step;
    atomic_init(&use->value, value);
    pthread_mutex_lock(&external->lock);
    use->next = external->uses;
    external->uses = use;
    pthread_mutex_unlock(&external->lock);
    return use;
}

static bool has_value(const struct braid_external *external)
{
    return external->kind == BRAID_EXTERNAL_TIMELINE || external->kind == BRAID_EXTERNAL_WORD;
}

static braid_status check_node(const braid_graph *graph, const braid_external_node *node)
{
    const struct braid_external *external = node->external;
    if (!graph || !external)
        return braid_error_null("braid_graph_add_external", graph ? "external" : "graph");
    const bool may_have = has_value(external) || external->kind == BRAID_EXTERNAL_EVENTFD;
    if ((node->value && !may_have) || (node->step && !has_value(external)))
        return braid_error_invalid(
            "braid_graph_add_external: external '%s': a node of %s %s has no "
            "%s",
            external->name, strchr("aeiou", *kinds[external->kind]) ? "an" : "a",
            kinds[external->kind], node->step ? "step" : "value");
    if (external->kind == BRAID_EXTERNAL_WORD && node->value > UINT32_MAX)
        return braid_error_invalid("braid_graph_add_external: external '%s': a word has 32 bits",
                                   external->name);
    return BRAID_OK;
}

static braid_status add_external(braid_graph *graph, const braid_external_node *node,
                                 braid_node *out_node)
{
    braid_status status = check_node(graph, node);
    if (status)
        return status;
    struct external_use *use =
        add_use(node->external, NULL, node->signals, node->value, node->step);
    if (!use)
        return braid_error_no_memory("an external node");
    braid_node_options options = node->node;
    options.name = options.name ? options.name : node->external->name;
    if (node->external->kind == BRAID_EXTERNAL_EVENTFD)
        return braid_graph_add_host_call(
            graph,
            &(braid_host_call){
                .node = options, .call = use_eventfd, .user = use, .blocking = !node->signals },
            out_node);
    return braid_graph_add_queue_call(
        graph, &(braid_queue_call){ .node = options, .call = queue_external, .user = use },
        out_node);
}

braid_status braid_graph_add_external_sized(braid_graph *graph, const braid_external_node *external,
                                            braid_node *out_node, size_t size, size_t node_size)
{
    braid_external_node own;
    braid_status status = braid_sized_take_node("braid_graph_add_external", "external", external,
                                                size, node_size, &own, sizeof(own));
    return status ? status : add_external(graph, &own, out_node);
}

// ---- values ----

// The use of the exec's master copy; NULL: the node is none with a value.
static struct external_use *find_use(braid_exec *exec, uint32_t node)
{
    const unsigned char *works = exec->tasks.slot_bytes[TASK_SLOT_WORKS];
    if (exec->tasks.items[node].kind != WORK_QUEUE)
        return NULL;
    pthread_mutex_lock(&exec->turn.lock);
    const struct work_queue *work = (const void *)(works + exec->tasks.offsets[node]);
    struct external_use *use = work->call == queue_external ? work->user : NULL;
    pthread_mutex_unlock(&exec->turn.lock);
    return use && has_value(use->external) ? use : NULL;
}

static braid_status check_set(braid_exec *exec, braid_node node)
{
    static const char function[] = "braid_exec_set_external";
    braid_status status = braid_exec_check(function, exec);
    if (status)
        return status;
    if (node.graph != exec->schedule->graph_id || node.index >= exec->tasks.num)
        return braid_error_invalid("%s: node %u of graph %u is not a node of the exec's graph",
                                   function, node.index, node.graph);
    return BRAID_OK;
}

// Where the host drives loops, a frame reads the value when the node's turn comes, and not at the
// launch.
static braid_status check_idle(braid_exec *exec, const struct external_use *use)
{
    bool is_busy = false;
    if (!exec->player->is_driven)
        return BRAID_OK;
    braid_exec_begin_launch(exec);
    for (uint32_t i = 0; i < exec->frames.num && !is_busy; i++)
        is_busy = braid_exec_slot_has_work(exec, i);
    braid_exec_end_launch(exec);
    return is_busy ? braid_error(BRAID_BUSY,
                                 "braid_exec_set_external: external '%s': the host drives loops, "
                                 "and a frame in flight would take the value",
                                 use->external->name)
                   : BRAID_OK;
}

braid_status braid_exec_set_external(braid_exec *exec, braid_node node, uint64_t value)
{
    if (!exec)
        return braid_error_null("braid_exec_set_external", "exec");
    DEVICE_MEMORY(exec->device);
    braid_status status = check_set(exec, node);
    if (status || exec_left_out(exec, node.index))
        return status;
    struct external_use *use = find_use(exec, node.index);
    if (!use || (use->external->kind == BRAID_EXTERNAL_WORD && value > UINT32_MAX))
        return braid_error_invalid(
            "braid_exec_set_external: node %s %s",
            braid_node_text(node.index, exec->tasks.items[node.index].name).text,
            use ? "has a word of 32 bits" : "waits for no timeline and no word, and signals none");
    status = use->exec == exec ? check_idle(exec, use) : BRAID_OK;
    if (status)
        return status;
    uint64_t before = value;
    if (use->exec == exec)
        before = atomic_exchange(&use->value, value);
    else
        use = add_use(use->external, exec, use->signals, value, use->step);
    if (!use)
        return braid_error_no_memory("an external node's value");
    void *user = use;
    status = braid_exec_set(exec, node, BRAID_TARGET_USER, 0, &user);
    if (status)
        atomic_store(&use->value, before);
    return status;
}

// ---- objects ----

static braid_status refuse(const struct braid_external *external, const char *why)
{
    return braid_error(BRAID_UNSUPPORTED, "external '%s': device '%s' %s", external->name,
                       external->device->label, why);
}

// The driver has the descriptor from then on.
static braid_status import(struct braid_external *external)
{
    struct gpu_backend *gpu = gpu_from(external->device->backend);
    const struct gpu_api *api = gpu->api;
    if (!api->semaphore_import || !api->semaphore_wait || !api->semaphore_signal ||
        !api->semaphore_destroy)
        return refuse(external, "has a driver that imports no semaphores");
    const struct gpu_semaphore_source source = {
        .type = external->kind == BRAID_EXTERNAL_TIMELINE ? GPU_TIMELINE_FD : GPU_OPAQUE_FD,
        .fd = external->fd,
    };
    char what[128];
    snprintf(what, sizeof(what), "the import of external '%s'", external->name);
    struct gpu_call call;
    braid_status status = braid_gpu_begin(&call, &gpu->base, what);
    if (status)
        return status;
    gpu_result result = api->semaphore_import(&external->handle, &source);
    return braid_gpu_end(&call, result, &api->semaphore_import);
}

static braid_status find_object(struct braid_external *external,
                                const braid_external_options *options)
{
    const char *backend = external->device->backend->ops->name;
    external->fd = options->fd;
    if (external->kind == BRAID_EXTERNAL_EVENTFD)
        return fcntl(options->fd, F_GETFD) >= 0
                   ? BRAID_OK
                   : braid_error_invalid("external '%s': descriptor %d is not open", external->name,
                                         options->fd);
    if (strcmp(backend, "cuda") != 0 && strcmp(backend, "hip") != 0) {
        char why[64];
        snprintf(why, sizeof(why), "has no %ss", kinds[external->kind]);
        return refuse(external, why);
    }
    const struct gpu_backend *gpu = gpu_from(external->device->backend);
    const bool waits = gpu->vendor->index == GPU_HIP ? gpu->api->hip_stream_wait_value32 != NULL
                                                     : gpu->api->stream_wait_value != NULL;
    const bool is_word = external->kind == BRAID_EXTERNAL_WORD;
    if (is_word && (!waits || !gpu->api->stream_write_value))
        return refuse(external, "has a driver without waits for words");
    if (external->kind == BRAID_EXTERNAL_EVENT && gpu->vendor->index == GPU_CUDA &&
        !gpu->api->event_record_with)
        return refuse(external, "has a driver whose graphs record no events");
    if (!is_word && external->kind != BRAID_EXTERNAL_EVENT)
        return import(external);
    external->handle = is_word ? options->word : options->event;
    if (!external->handle)
        return braid_error_invalid("external '%s': its %s is NULL", external->name,
                                   kinds[external->kind]);
    if (is_word && (uintptr_t)external->handle % sizeof(uint32_t))
        return braid_error_invalid("external '%s': its word is not aligned", external->name);
    return BRAID_OK;
}

static void hold(const struct braid_external *external, int change)
{
    const struct places places = braid_device_places(external->device);
    braid_places_hold(&places, offsetof(braid_device, num_allocations), change);
}

static braid_status check(braid_device *device, const braid_external_options *options,
                          braid_external **out_external)
{
    static const char function[] = "braid_external_create";
    if (!device || !out_external)
        return braid_error_null(function, device ? "out_external" : "device");
    if (options->kind < BRAID_EXTERNAL_EVENT || options->kind > BRAID_EXTERNAL_EVENTFD)
        return braid_error_invalid("%s: kind %d", function, (int)options->kind);
    braid_status status = braid_device_check_open(function, device);
    if (status)
        return status;
    if (device->group)
        return braid_error(BRAID_UNSUPPORTED,
                           "%s: '%s' is a group: give the device on which the nodes run", function,
                           device->label);
    return braid_device_check(function, device);
}

static braid_status create(braid_device *device, const braid_external_options *options,
                           braid_external **out_external)
{
    DEVICE_MEMORY(device);
    braid_status status = check(device, options, out_external);
    if (status)
        return status;
    struct braid_external *external = braid_allocate_zeroed(1, sizeof(*external));
    if (!external)
        return braid_error_no_memory("an external object");
    external->device = device;
    external->kind = options->kind;
    snprintf(external->name, sizeof(external->name), "%s",
             options->name ? options->name : kinds[options->kind]);
    status = find_object(external, options);
    if (status) {
        braid_free(external);
        return status;
    }
    pthread_mutex_init(&external->lock, NULL);
    hold(external, 1);
    *out_external = external;
    return BRAID_OK;
}

braid_status braid_external_create_sized(braid_device *device,
                                         const braid_external_options *options,
                                         braid_external **out_external, size_t size)
{
    braid_external_options own;
    braid_status status =
        braid_sized_take("braid_external_create: options", options, size, &own, sizeof(own));
    return status ? status : create(device, &own, out_external);
}

static void destroy_semaphore(struct gpu_backend *gpu, void *semaphore)
{
    static const char what[] = "the destruction of an external semaphore";
    struct gpu_scope scope;
    if (!braid_gpu_enter_to_free(gpu, &scope, what))
        return;
    braid_gpu_check_freed(gpu, gpu->api->semaphore_destroy(semaphore), &gpu->api->semaphore_destroy,
                          what);
    braid_gpu_leave(gpu, &scope);
}

void braid_external_destroy(braid_external *external)
{
    DEVICE_MEMORY(external ? external->device : NULL);
    if (!external || !device_is_here(external->device))
        return;
    if (external->kind == BRAID_EXTERNAL_SEMAPHORE || external->kind == BRAID_EXTERNAL_TIMELINE)
        destroy_semaphore(gpu_from(external->device->backend), external->handle);
    while (external->uses) {
        struct external_use *use = external->uses;
        external->uses = use->next;
        braid_free(use);
    }
    hold(external, -1);
    pthread_mutex_destroy(&external->lock);
    braid_free(external);
}
