// SPDX-License-Identifier: Apache-2.0
// A report of a recorded frame, with a plan in which each node takes one step.
#include "report_record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <braid/import.h>
#include <braid/record.h>
#include <braid/schedule.h>

#include "output.h"
#include "report_frame.h"

enum { STEP_NS = 1000 };

struct reporting {
    const struct report_record *report;
    braid_record *record;
    const braid_record_contents *contents;
    uint32_t frame;
    braid_import *import;
    braid_schedule *schedule;
    braid_schedule_info plan;
    braid_import_info info;
};

static enum exit_status fail_by_library(const struct reporting *reporting, braid_status status)
{
    return fail(status == BRAID_NO_MEMORY ? EXIT_FAILED : EXIT_BAD_FILE, "%s: %s",
                reporting->report->path, braid_error_get_message());
}

bool report_is_record(const char *path)
{
    char magic[8] = "";
    if (output_is_stdout(path))
        return false;
    FILE *file = fopen(path, "re");
    const bool is_read = file && fread(magic, sizeof(magic), 1, file) == 1;
    if (file)
        (void)fclose(file);
    return is_read && memcmp(magic, "braidrec", sizeof(magic)) == 0;
}

// ---- what is found ----

static enum exit_status choose_frame(struct reporting *reporting)
{
    const uint64_t frame = reporting->report->frame;
    const uint32_t num = reporting->contents->num_frames;
    reporting->frame = frame == REPORT_LAST_FRAME ? num - 1 : (uint32_t)frame;
    if (num == 0)
        reporting->frame = BRAID_RECORD_NONE; // all operations
    if (frame != REPORT_LAST_FRAME && frame >= num)
        return fail(EXIT_BAD_FILE, "%s has %u frame%s, and none is number %llu",
                    reporting->report->path, num, output_plural(num), (unsigned long long)frame);
    return EXIT_DONE;
}

static braid_status plan(struct reporting *reporting)
{
    const braid_cost_model costs = { .default_cost_ns = STEP_NS };
    braid_graph *graph = braid_import_get_graph(reporting->import);
    braid_status status = braid_schedule_create(graph, &(braid_schedule_options){ .costs = &costs },
                                                &reporting->schedule);
    if (status == BRAID_OK)
        status = braid_schedule_verify(reporting->schedule, graph);
    if (status == BRAID_OK)
        braid_schedule_get_info(reporting->schedule, &reporting->plan);
    return status;
}

static braid_status import(struct reporting *reporting)
{
    const struct report_record *report = reporting->report;
    const braid_import_options options = { .is_unwatched = report->is_unwatched,
                                           .follows_pointers = true,
                                           .setters = &report->setter,
                                           .num_setters = report->setter ? 1 : 0 };
    braid_status status = braid_import_create_recorded(reporting->contents, reporting->frame,
                                                       &options, &reporting->import);
    braid_import_get_info(reporting->import, &reporting->info);
    return status == BRAID_OK ? plan(reporting) : status;
}

// ---- outputs ----

static unsigned long long steps(uint64_t ns)
{
    return (unsigned long long)(ns / STEP_NS);
}

static braid_status write_text(const struct reporting *reporting, FILE *file)
{
    const braid_schedule_info *of = &reporting->plan;
    const braid_record_contents *contents = reporting->contents;
    fprintf(file, "frame %u of %u: %s\n", contents->num_frames ? reporting->frame : 0,
            contents->num_frames, contents->program);
    const braid_status status = braid_import_write(reporting->import, BRAID_IMPORT_TEXT, file);
    if (reporting->info.device_ns) {
        fprintf(file, "plan: %u lane%s, %.1f us by the measured times; one lane takes %.1f us\n",
                of->num_lanes, output_plural(of->num_lanes), (double)of->makespan_ns / 1e3,
                (double)of->one_lane_ns / 1e3);
        return status;
    }
    fprintf(file,
            "plan: %u lane%s, %llu step%s of one node each; one lane takes %llu. Times of kernels "
            "are not known\n",
            of->num_lanes, output_plural(of->num_lanes), steps(of->makespan_ns),
            output_plural(steps(of->makespan_ns)), steps(of->one_lane_ns));
    return status;
}

static braid_status write_page(FILE *file, const void *user)
{
    static const char end[] = "</body></html>\n"; // the timelines stand before it
    const struct reporting *reporting = user;
    const braid_record_contents *contents = reporting->contents;
    struct report_frame frame = { .contents = contents,
                                  .end = contents->num_operations,
                                  .schedule = reporting->schedule,
                                  .is_measured = reporting->info.device_ns > 0 };
    char *text = NULL;
    size_t num = 0;
    FILE *page = open_memstream(&text, &num);
    if (!page)
        return BRAID_NO_MEMORY;
    if (reporting->frame != BRAID_RECORD_NONE) {
        frame.first = contents->frames[reporting->frame].first_operation;
        frame.end = frame.first + contents->frames[reporting->frame].num_operations;
    }
    braid_status status = braid_import_write(reporting->import, BRAID_IMPORT_PAGE, page);
    if (fclose(page) != 0 && status == BRAID_OK)
        status = BRAID_NO_MEMORY;
    if (status == BRAID_OK) {
        fwrite(text, 1, num - strlen(end), file);
        status = report_frame_write(&frame, file);
        fputs(end, file);
    }
    free(text);
    return status;
}

static bool add_plan(const struct reporting *reporting, json_t *json)
{
    const braid_schedule_info *of = &reporting->plan;
    const bool is_measured = reporting->info.device_ns > 0;
    const json_int_t made = (json_int_t)(is_measured ? of->makespan_ns : steps(of->makespan_ns));
    const json_int_t alone = (json_int_t)(is_measured ? of->one_lane_ns : steps(of->one_lane_ns));
    json_t *plan = json_pack("{s:i, s:I, s:I, s:I}", "lanes", (int)of->num_lanes, "waits",
                             (json_int_t)of->num_waits, is_measured ? "makespan_ns" : "steps", made,
                             is_measured ? "one_lane_ns" : "steps_on_one_lane", alone);
    return json_object_set_new(json, "plan", plan) == 0 &&
           json_object_set_new(json, "frame", json_integer(reporting->frame)) == 0 &&
           json_object_set_new(json, "frames", json_integer(reporting->contents->num_frames)) == 0;
}

static enum exit_status write_json(const struct reporting *reporting)
{
    char *text = NULL;
    size_t num = 0;
    FILE *file = open_memstream(&text, &num);
    if (!file)
        return fail(EXIT_FAILED, "out of memory");
    braid_status status = braid_import_write(reporting->import, BRAID_IMPORT_JSON, file);
    const bool is_whole = fclose(file) == 0 && status == BRAID_OK;
    json_t *json = output_start_json("record");
    json_t *found = is_whole ? json_loadb(text, num, 0, NULL) : NULL;
    free(text);
    const bool is_made =
        json && found && json_object_update(json, found) == 0 && add_plan(reporting, json);
    const enum exit_status result = is_made ? output_write_json(reporting->report->json, json)
                                            : fail(EXIT_FAILED, "out of memory");
    json_decref(found);
    json_decref(json);
    return result;
}

static enum exit_status write_all(const struct reporting *reporting)
{
    const struct report_record *report = reporting->report;
    enum exit_status status = EXIT_DONE;
    if (report->page)
        status = output_write(report->page, write_page, reporting);
    if (status == EXIT_DONE && report->json)
        status = write_json(reporting);
    if (status != EXIT_DONE || report->page || report->json)
        return status;
    const braid_status written = write_text(reporting, stdout);
    return written == BRAID_OK ? EXIT_DONE : fail_by_library(reporting, written);
}

enum exit_status report_record_write(const struct report_record *report)
{
    struct reporting reporting = { .report = report };
    braid_status opened = braid_record_load(report->path, &reporting.record);
    if (opened != BRAID_OK)
        return fail_by_library(&reporting, opened);
    reporting.contents = braid_record_get_contents(reporting.record);
    enum exit_status status = choose_frame(&reporting);
    if (status == EXIT_DONE) {
        const braid_status imported = import(&reporting);
        status =
            imported == BRAID_OK ? write_all(&reporting) : fail_by_library(&reporting, imported);
    }
    braid_schedule_destroy(reporting.schedule);
    braid_import_destroy(reporting.import);
    braid_record_destroy(reporting.record);
    return status;
}
