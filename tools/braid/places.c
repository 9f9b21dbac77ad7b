// SPDX-License-Identifier: Apache-2.0
// The devices that a graph is planned for, from options or a file.
#include "places.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "arguments.h"
#include "json_file.h"

// In the file's unit.
struct link {
    double copy_cost, copy_rate, edge_cost;
};

static uint64_t clamp(double number)
{
    return number > 0x1p62 ? (uint64_t)1 << 62 : (uint64_t)number;
}

// A rate below what the planner can say is the least that it can.
static braid_place_link make_link(const struct link *link, uint64_t unit_ns)
{
    double rate = link->copy_rate * 1000 / (double)unit_ns;
    braid_place_link made = { .latency_ns = clamp(link->copy_cost * (double)unit_ns + 0.5),
                              .wait_ns = clamp(link->edge_cost * (double)unit_ns + 0.5) };
    if (rate > 0)
        made.bytes_per_us = rate < 1 ? 1 : clamp(rate);
    return made;
}

static enum exit_status allocate(uint32_t num, struct places *places)
{
    places->model.num_places = num;
    places->speeds = calloc(num, sizeof(*places->speeds));
    places->links = calloc((size_t)num * num, sizeof(*places->links));
    places->model.speeds = places->speeds;
    places->model.links = places->links;
    for (uint32_t i = 0; i < num && places->speeds; i++)
        places->speeds[i] = 1000;
    return places->speeds && places->links ? EXIT_DONE
                                           : fail(EXIT_FAILED, "out of memory for the devices");
}

// What a link in a file says beside what is known; false: no number that makes sense.
static bool read_link(const json_t *json, struct link *link)
{
    struct {
        const char *key;
        double *value;
    } parts[] = { { "copy_cost", &link->copy_cost },
                  { "copy_rate", &link->copy_rate },
                  { "edge_cost", &link->edge_cost } };
    bool is_read = json_is_object(json);
    for (size_t i = 0; i < 3 && is_read; i++) {
        const json_t *value = json_object_get(json, parts[i].key);
        double number = json_number_value(value);
        is_read = !value || (json_is_number(value) && number >= 0 && number <= 0x1p50);
        if (value && is_read)
            *parts[i].value = number;
    }
    return is_read;
}

static enum exit_status read_speeds(const char *path, const json_t *speeds, struct places *places)
{
    size_t num = json_array_size(speeds);
    if (num == 0 || num > DOT_MOST_PLACES)
        return fail_in_file(path, 1, "\"speeds\" is not an array of 1 to %d numbers",
                            DOT_MOST_PLACES);
    enum exit_status status = allocate((uint32_t)num, places);
    for (size_t i = 0; i < num && status == EXIT_DONE; i++) {
        const json_t *speed = json_array_get(speeds, i);
        double factor = json_number_value(speed);
        if (!json_is_number(speed) || !(factor >= 0.001 && factor <= 1000))
            return fail_in_file(path, 1,
                                "the speed of place %zu is not a number from 0.001 to 1000", i + 1);
        places->speeds[i] = (uint32_t)(factor * 1000 + 0.5);
    }
    return status;
}

static enum exit_status read_links(const char *path, const json_t *json, const struct link *given,
                                   uint64_t unit_ns, struct places *places)
{
    uint32_t num = places->model.num_places;
    struct link all = *given;
    const json_t *link = json_object_get(json, "link"), *links = json_object_get(json, "links");
    if (link && !read_link(link, &all))
        return fail_in_file(path, 1, "\"link\" is not an object of costs");
    for (size_t i = 0; i < (size_t)num * num; i++)
        places->links[i] = make_link(&all, unit_ns);
    if (links && !json_is_array(links))
        return fail_in_file(path, 1, "\"links\" is not an array");
    for (size_t i = 0; i < json_array_size(links); i++) {
        struct link own = all;
        link = json_array_get(links, i);
        json_int_t from = json_integer_value(json_object_get(link, "from_place"));
        json_int_t to = json_integer_value(json_object_get(link, "to_place"));
        if (json_object_get(link, "from") || json_object_get(link, "to"))
            return fail_in_file(path, 1,
                                "link %zu has \"from\" and \"to\", which counted places from 0: "
                                "write \"from_place\" and \"to_place\", which count them from 1",
                                i);
        if (!read_link(link, &own) || from < 1 || from > num || to < 1 || to > num)
            return fail_in_file(
                path, 1,
                "link %zu does not go from a \"from_place\" to a \"to_place\", 1 to "
                "%" PRIu32 ", or its costs are no numbers",
                i, num);
        places->links[(size_t)(from - 1) * num + (size_t)(to - 1)] = make_link(&own, unit_ns);
    }
    return EXIT_DONE;
}

static enum exit_status read_file(const char *path, const struct link *given, uint64_t unit_ns,
                                  struct places *places)
{
    json_error_t error;
    json_t *json = json_file_load(path, &error);
    path = json_file_name(path);
    if (!json)
        return error.line > 0
                   ? fail_in_file(path, (unsigned long)error.line, "%s", error.text)
                   : fail(EXIT_BAD_FILE, "--places takes a number of devices or a file: %s",
                          error.text);
    enum exit_status status = read_speeds(path, json_object_get(json, "speeds"), places);
    if (status == EXIT_DONE)
        status = read_links(path, json, given, unit_ns, places);
    json_decref(json);
    return status;
}

enum exit_status places_create(const struct place_arguments *arguments, uint64_t unit_ns,
                               struct places *out_places)
{
    struct places places = { 0 };
    const struct link given = { (double)arguments->copy_cost, (double)arguments->copy_rate,
                                (double)arguments->edge_cost };
    enum exit_status status = EXIT_DONE;
    uint64_t num = 0;
    const char *text = arguments->devices;
    if (!text && (arguments->copy_cost || arguments->copy_rate || arguments->edge_cost))
        return fail(EXIT_BAD_FILE, "--copy-cost, --copy-rate and --edge-cost are of several "
                                   "devices: give --places");
    if (text && text[strspn(text, "0123456789")] == '\0') {
        status = argument_read_number("--places", text, 1, DOT_MOST_PLACES, &num);
        if (status == EXIT_DONE)
            status = allocate((uint32_t)num, &places);
        for (size_t i = 0; i < num * num && status == EXIT_DONE; i++)
            places.links[i] = make_link(&given, unit_ns);
    } else if (text) {
        status = read_file(text, &given, unit_ns, &places);
    }
    if (status == EXIT_DONE)
        *out_places = places;
    else
        places_finish(&places);
    return status;
}

void places_finish(struct places *places)
{
    free(places->speeds);
    free(places->links);
    *places = (struct places){ 0 };
}
