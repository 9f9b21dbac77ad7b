// SPDX-License-Identifier: Apache-2.0
// Which backend to open: the one that the program names, or the first that has a device; of those
// that BRAID_BACKENDS leaves.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "device/device.h"

braid_status braid_device_find_driver(const char *function, const char *name,
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

braid_status braid_device_query(const struct backend_driver *driver, uint32_t *out_num,
                                char *out_reason, size_t size)
{
    braid_status status = BRAID_OK;
    struct error_attempt attempt;
    braid_error_begin_attempt(&attempt);
    if (check_allowed(driver->name))
        snprintf(out_reason, size, "%s", braid_error_message());
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
        if (braid_device_query(braid_drivers[i], &num_devices, reason, sizeof(reason)))
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

// A backend that is named is not asked for its devices: opening it says more.
braid_status braid_device_choose(const char *name, const struct backend_driver **out_driver)
{
    if (!name)
        return choose_first(out_driver);
    braid_status status = braid_device_find_driver("braid_device_open", name, out_driver);
    return status ? status : check_allowed(name);
}
