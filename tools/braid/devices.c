// SPDX-License-Identifier: Apache-2.0
// braid devices: lists each backend, its devices, or why there are none.
#include <inttypes.h>
#include <stdio.h>

#include <braid/device.h>
#include <jansson.h>

#include "arguments.h"
#include "commands.h"
#include "output.h"
#include "plan_json.h"

static const char help[] =
    "usage: braid devices [--json OUT]\n"
    "\n"
    "Lists each backend with its devices, or what was tried and why it is not there. Opens none.\n"
    "\n"
    "  --json OUT        write the list as JSON ('-': standard output, in place of the text)\n"
    "  --help            print this text\n";

// A device as text, or why nothing is known of it.
static void print_device(const char *backend, uint32_t ordinal, const braid_found_device *device)
{
    printf("%-5s %" PRIu32 ": ", backend, ordinal);
    if (!device)
        printf("%s\n", braid_error_get_message());
    else
        printf("%s, %" PRIu32 " %s, %.1f GiB%s%s\n", device->name, device->num_units,
               device->max_threads_per_block ? "multiprocessors" : "workers",
               (double)device->memory_bytes / (1024.0 * 1024.0 * 1024.0),
               *device->bus_id ? ", " : "", device->bus_id);
}

// The same as JSON.
static json_t *device_to_json(uint32_t ordinal, const braid_found_device *device)
{
    if (!device)
        return json_pack("{s:I, s:o}", "ordinal", (json_int_t)ordinal, "error",
                         plan_json_text(braid_error_get_message()));
    return json_pack("{s:I, s:s, s:I, s:I, s:s}", "ordinal", (json_int_t)ordinal, "name",
                     device->name, "units", (json_int_t)device->num_units, "memory_bytes",
                     (json_int_t)device->memory_bytes, "bus_id", device->bus_id);
}

// Lists one backend; into `list` if there is one, else on standard output.
static void list_backend(const braid_backend_info *backend, json_t *list)
{
    json_t *devices = json_array();
    if (backend->num_devices == 0 && !list)
        printf("%-5s not here: %s\n", backend->name, backend->reason);
    for (uint32_t i = 0; i < backend->num_devices; i++) {
        braid_found_device found;
        bool is_told = braid_backend_get_device(backend->name, i, &found) == BRAID_OK;
        if (list)
            json_array_append_new(devices, device_to_json(i, is_told ? &found : NULL));
        else
            print_device(backend->name, i, is_told ? &found : NULL);
    }
    if (list)
        json_array_append_new(list, json_pack("{s:s, s:o, s:O}", "name", backend->name, "reason",
                                              plan_json_text(backend->reason), "devices", devices));
    json_decref(devices);
}

static enum exit_status list_all(json_t *list)
{
    const char *name;
    for (size_t i = 0; (name = braid_backend_get_name(i)); i++) {
        braid_backend_info backend;
        if (braid_backend_get_info(name, &backend) != BRAID_OK)
            return fail_in_library();
        list_backend(&backend, list);
    }
    return EXIT_DONE;
}

static enum exit_status write_list(const char *path)
{
    json_t *json = output_start_json("devices");
    json_t *list = json_array();
    if (!json || json_object_set_new(json, "backends", list) != 0)
        return fail(EXIT_FAILED, "out of memory for the list of devices");
    enum exit_status status = list_all(list);
    if (status == EXIT_DONE)
        status = output_write_json(path, json);
    json_decref(json);
    return status;
}

enum exit_status command_devices(int argc, char **argv)
{
    static const struct argument known_options[] = { { "json", ARGUMENT_IS_TEXT, 0, 0, 0, NULL },
                                                     { .name = NULL } };
    const char *path = NULL;
    bool is_help;
    enum exit_status status =
        arguments_read("devices", help, argc, argv, known_options, &path, &is_help);
    if (status != EXIT_DONE || is_help)
        return status;
    if (optind < argc)
        return fail(EXIT_BAD_FILE, "braid devices takes no '%s'", argv[optind]);
    return path ? write_list(path) : list_all(NULL);
}
