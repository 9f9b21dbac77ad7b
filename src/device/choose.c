// SPDX-License-Identifier: Apache-2.0
// Which backend to open: by the program's list of names, and by BRAID_BACKENDS.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "device/device.h"

// A piece of a list of names.
struct name {
    const char *begin;
    size_t length;
};

// Names end at a comma; spaces round them do not count.
static bool next_name(const char **list, struct name *out_name)
{
    *list += strspn(*list, ", ");
    *out_name = (struct name){ .begin = *list, .length = strcspn(*list, ",") };
    *list += out_name->length;
    while (out_name->length > 0 && out_name->begin[out_name->length - 1] == ' ')
        out_name->length--;
    return out_name->length > 0;
}

static const struct backend_driver *find_driver(struct name name)
{
    for (size_t i = 0; i < braid_num_drivers; i++) {
        const char *known = braid_drivers[i]->name;
        if (strlen(known) == name.length && strncmp(known, name.begin, name.length) == 0)
            return braid_drivers[i];
    }
    return NULL;
}

static const char *allowed_names(void)
{
    const char *names = secure_getenv("BRAID_BACKENDS");
    return names && *names ? names : NULL;
}

// Errors: BRAID_INVALID_ARGUMENT where the list is empty or names what does not exist.
static braid_status check_list(const char *list, const char *from)
{
    const char *rest = list;
    struct name name;
    size_t num = 0;
    for (; next_name(&rest, &name); num++) {
        if (!find_driver(name))
            return braid_error(BRAID_INVALID_ARGUMENT,
                               "%s: there is no backend named '%.*s', only cuda, hip and cpu", from,
                               (int)(name.length < 150 ? name.length : 150), name.begin);
    }
    return num ? BRAID_OK
               : braid_error(BRAID_INVALID_ARGUMENT, "%s: '%s' names no backend", from, list);
}

braid_status braid_device_check_allowed(const char *name)
{
    const char *allowed = allowed_names(), *rest = allowed;
    if (!allowed)
        return BRAID_OK;
    braid_status status = check_list(allowed, "BRAID_BACKENDS");
    if (status)
        return status;
    struct name other;
    while (next_name(&rest, &other)) {
        if (strcmp(find_driver(other)->name, name) == 0)
            return BRAID_OK;
    }
    return braid_error(BRAID_UNAVAILABLE, "%s is left out by BRAID_BACKENDS=%.150s", name, allowed);
}

// Adds why a backend is not the one.
static void add_reason(char *reasons, size_t size, const char *name, const char *reason)
{
    size_t used = strlen(reasons);
    snprintf(reasons + used, size - used, "%s%s: %s", used ? "; " : "", name, reason);
}

// Whoever has a GPU whose driver fails is told that it is passed over: the program asked for what
// there is, so it gets that.
static void note_passed_over(const struct backend_driver *driver, const char *reason)
{
    struct error_attempt attempt;
    braid_error_begin_attempt(&attempt);
    braid_error_end_noted(&attempt, braid_error(BRAID_DEVICE_ERROR,
                                                "%s is passed over: its driver failed: %s",
                                                driver->name, reason));
}

static bool has_device(const struct backend_driver *driver, char *reasons, size_t size)
{
    uint32_t num_devices = 0;
    char reason[512] = "";
    braid_status status = BRAID_OK;
    struct error_attempt attempt;
    braid_error_begin_attempt(&attempt);
    if (braid_device_check_allowed(driver->name))
        snprintf(reason, sizeof(reason), "%s", braid_error_message());
    else
        status = driver->query(driver, &num_devices, reason, sizeof(reason));
    braid_error_end_attempt(&attempt, BRAID_OK);
    if (status)
        note_passed_over(driver, reason);
    if (!num_devices)
        add_reason(reasons, size, driver->name, reason);
    return num_devices > 0;
}

// The first of several that has a device.
static braid_status choose_first(const char *list, const struct backend_driver **out_driver)
{
    char reasons[900] = "";
    struct name name;
    while (next_name(&list, &name)) {
        const struct backend_driver *driver = find_driver(name);
        if (has_device(driver, reasons, sizeof(reasons))) {
            *out_driver = driver;
            return BRAID_OK;
        }
    }
    return braid_error(BRAID_UNAVAILABLE, "no backend has a device: %s", reasons);
}

// One backend alone is not asked for its devices: opening it says more.
static braid_status choose_one(struct name name, const struct backend_driver **out_driver)
{
    const struct backend_driver *driver = find_driver(name);
    braid_status status = braid_device_check_allowed(driver->name);
    if (!status)
        *out_driver = driver;
    return status;
}

braid_status braid_device_choose(const char *names, const struct backend_driver **out_driver)
{
    const char *allowed = allowed_names();
    braid_status status = allowed ? check_list(allowed, "BRAID_BACKENDS") : BRAID_OK;
    if (!status && names)
        status = check_list(names, "braid_device_options.backend");
    if (status)
        return status;
    const char *list = names ? names : allowed ? allowed : "cuda,hip,cpu", *rest = list;
    struct name first, second;
    next_name(&rest, &first);
    return next_name(&rest, &second) ? choose_first(list, out_driver)
                                     : choose_one(first, out_driver);
}
