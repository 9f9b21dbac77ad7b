// SPDX-License-Identifier: Apache-2.0
// Finding, opening and closing devices.
#include "device/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/host_memory.h"
#include "base/sized.h"
#include "base/text.h"

// ---- pools ----

void *braid_pool_take(struct pool *pool)
{
    if (pool->idle.num == 0)
        return NULL;
    pool->leased++;
    return ((void **)pool->idle.items)[--pool->idle.num];
}

bool braid_pool_add_leased(struct pool *pool)
{
    if (!braid_array_reserve(&pool->idle, (size_t)pool->leased + 1, sizeof(void *)))
        return false;
    pool->leased++;
    return true;
}

bool braid_pool_put(struct pool *pool, void *object)
{
    pool->leased--;
    if (pool->idle.num >= pool->max_idle)
        return false;
    ((void **)pool->idle.items)[pool->idle.num++] = object;
    return true;
}

// ---- the backend ----

// Which backend to open: the one that the program names, or the first that has a device; of those
// that BRAID_BACKENDS leaves.

// The backend of that name. Errors: BRAID_INVALID_ARGUMENT.
static braid_status device_find_driver(const char *function, const char *name,
                                       const struct backend_driver **out_driver)
{
    for (size_t i = 0; i < braid_num_drivers; i++) {
        if (strcmp(braid_drivers[i]->name, name) != 0)
            continue;
        *out_driver = braid_drivers[i];
        return BRAID_OK;
    }
    return braid_error_invalid("%s: there is no backend named '%s', only cuda, hip and cpu",
                               function, name);
}

// Names end at a comma; spaces round them do not count.
static bool is_in_list(const char *list, const char *name)
{
    size_t length = strlen(name);
    for (; *list; list += strcspn(list, ",")) {
        list += strspn(list, ", ");
        if (strncmp(list, name, length) == 0 && (!list[length] || strchr(", ", list[length])))
            return true;
    }
    return false;
}

static braid_status check_allowed(const char *name)
{
    const char *allowed = secure_getenv("BRAID_BACKENDS");
    if (!allowed || !*allowed || is_in_list(allowed, name))
        return BRAID_OK;
    return braid_error(BRAID_UNAVAILABLE, "%s is left out by BRAID_BACKENDS=%.150s", name, allowed);
}

// How many devices it has, or why none. A backend that BRAID_BACKENDS leaves out is not looked for.
// Errors: BRAID_DEVICE_ERROR (its driver failed; only the reason says so).
static braid_status device_query(const struct backend_driver *driver, uint32_t *out_num,
                                 char *out_reason, size_t size)
{
    braid_status status = BRAID_OK;
    struct error_attempt attempt;
    braid_error_begin_attempt(&attempt);
    if (check_allowed(driver->name))
        snprintf(out_reason, size, "%s", braid_error_get_message());
    else
        status = driver->query(driver, out_num, out_reason, size);
    braid_error_end_attempt(&attempt, BRAID_OK);
    return status;
}

// The log tells of a GPU that is passed over because its driver fails. The program asked for any
// backend, so it gets the next one.
static void note_passed_over(const struct backend_driver *driver, const char *reason)
{
    struct error_attempt attempt;
    braid_error_begin_attempt(&attempt);
    braid_error_end_noted(&attempt, braid_error(BRAID_DEVICE_ERROR,
                                                "%s is passed over: its driver failed: %s",
                                                driver->name, reason));
}

static braid_status choose_first(const struct backend_driver **out_driver)
{
    char reasons[900] = "";
    for (size_t i = 0; i < braid_num_drivers; i++) {
        uint32_t num_devices = 0;
        char reason[512] = "";
        size_t used = strlen(reasons);
        if (device_query(braid_drivers[i], &num_devices, reason, sizeof(reason)))
            note_passed_over(braid_drivers[i], reason);
        if (num_devices) {
            *out_driver = braid_drivers[i];
            return BRAID_OK;
        }
        snprintf(reasons + used, sizeof(reasons) - used, "%s%s: %s", used ? "; " : "",
                 braid_drivers[i]->name, reason);
    }
    return braid_error(BRAID_UNAVAILABLE, "no backend has a device: %s", reasons);
}

// The backend to open for braid_device_options.backend. Errors: BRAID_INVALID_ARGUMENT,
// BRAID_UNAVAILABLE.
// A backend that is named is not asked for its devices: opening it says more.
static braid_status device_choose(const char *name, const struct backend_driver **out_driver)
{
    if (!name)
        return choose_first(out_driver);
    braid_status status = device_find_driver("braid_device_open", name, out_driver);
    return status ? status : check_allowed(name);
}

// ---- devices ----

// Idle streams and events kept for the next exec; more than the widest plan needs is waste.
#define MAX_IDLE_STREAMS 128
#define MAX_IDLE_EVENTS 4096

braid_status braid_backend_get_info_sized(const char *name, braid_backend_info *out_info,
                                          size_t size)
{
    if (!name || !out_info)
        return braid_error_null("braid_backend_get_info", name ? "out_info" : "name");
    const struct backend_driver *driver = NULL;
    braid_status status = device_find_driver("braid_backend_get_info", name, &driver);
    if (!status)
        status = braid_process_watch();
    if (status)
        return status;
    braid_backend_info info = { .name = driver->name };
    (void)device_query(driver, &info.num_devices, info.reason, sizeof(info.reason));
    braid_sized_give(&info, sizeof(info), out_info, size);
    return BRAID_OK;
}

const char *braid_backend_get_name(size_t index)
{
    return index < braid_num_drivers ? braid_drivers[index]->name : NULL;
}

braid_status braid_backend_get_device_sized(const char *backend, uint32_t ordinal,
                                            braid_found_device *out_device, size_t size)
{
    if (!backend || !out_device)
        return braid_error_null("braid_backend_get_device", backend ? "out_device" : "backend");
    const struct backend_driver *driver = NULL;
    braid_status status = device_find_driver("braid_backend_get_device", backend, &driver);
    if (!status)
        status = check_allowed(driver->name);
    if (!status)
        status = braid_process_watch();
    if (status)
        return status;
    braid_found_device found = { .backend = driver->name, .ordinal = ordinal };
    status = driver->find(driver, ordinal, &found);
    if (status)
        return status;
    char name[sizeof(found.name)];
    memcpy(name, found.name, sizeof(name));
    braid_text_copy(name, found.name, sizeof(found.name)); // as text
    braid_sized_give(&found, sizeof(found), out_device, size);
    return BRAID_OK;
}

braid_status braid_device_create(struct backend *backend, uint32_t ordinal,
                                 braid_device **out_device)
{
    struct host_allocator *allocator =
        host_allocator_use(NULL); // the shell stays when it is closed
    braid_device *device = braid_allocate_zeroed(1, sizeof(*device));
    host_allocator_use(allocator);
    if (!device) {
        backend->ops->close(backend);
        return braid_error_no_memory("a device");
    }
    device->backend = backend;
    device->allocator = allocator;
    backend->failure = &device->failure;
    device->ordinal = ordinal;
    device->process = braid_process_number();
    snprintf(device->label, sizeof(device->label), "%s:%u", backend->ops->name, ordinal);
    braid_device_info info = { .name = "" };
    backend->ops->get_info(backend, &info);
    braid_text_copy(info.name, device->name, sizeof(device->name)); // files keep it as text
    pthread_mutex_init(&device->lock, NULL);
    device->default_stream.device = device;
    atomic_init(&device->default_stream.exposed, true);
    device->streams.max_idle = MAX_IDLE_STREAMS;
    device->events.max_idle = MAX_IDLE_EVENTS;
    *out_device = device;
    return BRAID_OK;
}

static braid_status choose(const braid_device_options *options,
                           const struct backend_driver **out_driver)
{
    if (!options->context)
        return device_choose(options->backend, out_driver);
    if (options->backend && strcmp(options->backend, "cuda") != 0)
        return braid_error_invalid("braid_device_open: a context is of cuda, and not of '%s'",
                                   options->backend);
    return device_choose("cuda", out_driver);
}

// NULL: the program gives none.
static braid_status hold_allocator(const braid_allocator *functions,
                                   struct host_allocator **out_allocator)
{
    *out_allocator = NULL;
    if (!functions)
        return BRAID_OK;
    if (!functions->allocate || !functions->reallocate || !functions->free)
        return braid_error_invalid("braid_device_open: the allocator has no function to %s",
                                   !functions->allocate     ? "allocate"
                                   : !functions->reallocate ? "reallocate"
                                                            : "free");
    return braid_host_allocator_hold(functions, out_allocator)
               ? BRAID_OK
               : braid_error_no_memory("an allocator");
}

static braid_status open_device(const braid_device_options *options, braid_device **out_device)
{
    const struct backend_driver *driver = NULL;
    struct backend *backend = NULL;
    braid_device_info info = { .ordinal = options->ordinal };
    braid_status status = choose(options, &driver);
    if (!status)
        status = driver->open(driver, options, &backend);
    if (status)
        return status;
    if (options->context)
        backend->ops->get_info(backend, &info);
    return braid_device_create(backend, info.ordinal, out_device);
}

static braid_status device_open(const braid_device_options *options, braid_device **out_device)
{
    struct host_allocator *allocator = NULL;
    if (!out_device)
        return braid_error_null("braid_device_open", "out_device");
    braid_status status = braid_process_watch();
    if (!status)
        status = hold_allocator(options->allocator, &allocator);
    if (status)
        return status;
    HOST_MEMORY(allocator);
    status = open_device(options, out_device);
    if (status)
        braid_host_allocator_let_go(allocator);
    return status;
}

braid_status braid_device_open_sized(const braid_device_options *options, braid_device **out_device,
                                     size_t size, size_t allocator_size)
{
    braid_device_options own;
    braid_allocator allocator;
    braid_status status =
        braid_sized_take("braid_device_open: options", options, size, &own, sizeof(own));
    if (!status)
        status = braid_sized_take("braid_device_open: allocator", own.allocator, allocator_size,
                                  &allocator, sizeof(allocator));
    own.allocator = own.allocator ? &allocator : NULL;
    return status ? status : device_open(&own, out_device);
}

void braid_device_empty_pools(braid_device *device)
{
    while (device->streams.idle.num) {
        braid_stream *stream = braid_pool_take(&device->streams);
        device->backend->ops->stream_destroy(device->backend, stream->backend);
        braid_free(stream);
    }
    while (device->events.idle.num) {
        braid_event *event = braid_pool_take(&device->events);
        device->backend->ops->event_destroy(device->backend, event->backend);
        braid_free(event);
    }
    braid_array_finish(&device->streams.idle);
    braid_array_finish(&device->events.idle);
}

void braid_device_hold(braid_device *device, uint64_t *count, int change)
{
    pthread_mutex_lock(&device->lock);
    if (change > 0 || *count > 0)
        *count = change > 0 ? *count + 1 : *count - 1;
    pthread_mutex_unlock(&device->lock);
}

void braid_device_count(braid_device *device, struct pool *pool, bool wrapped, int change)
{
    pthread_mutex_lock(&device->lock);
    if (wrapped) {
        pool->wrapped = change > 0 ? pool->wrapped + 1 : pool->wrapped - 1;
    } else if (change > 0) {
        pool->created++;
        pool->live++;
    } else {
        pool->live--;
    }
    pthread_mutex_unlock(&device->lock);
}
