// SPDX-License-Identifier: Apache-2.0
// One run of the run-time compiler: from source to an image and the name of its entry.
#include "backends/gpu/gpu_program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/error_details.h"

struct program {
    const struct gpu_backend *gpu;
    const struct gpu_compiler_api *api;
    const char *name; // the kernel's
    const struct gpu_code *code;
    const struct gpu_target *target;
    gpu_compilation handle;
};

// The message has the beginning of the log, the details have all of it.
static braid_status refuse_source(const struct program *program, gpu_result result)
{
    size_t bytes = 0;
    char *log =
        program->api->log_bytes(program->handle, &bytes) || bytes < 2 ? NULL : calloc(bytes + 1, 1);
    bool has_log = log && program->api->log(program->handle, log) == GPU_SUCCESS;
    braid_status status =
        braid_error(BRAID_DEVICE_ERROR, "compiling kernel '%s' (%s, %s) failed: %s: %.800s",
                    program->name, program->gpu->label, program->target->option,
                    program->api->error_string(result), has_log ? log : "");
    if (has_log)
        braid_error_set_details(" failed: ", log);
    free(log);
    return status;
}

static braid_status refuse(const struct program *program, const char *what, gpu_result result)
{
    return braid_error(BRAID_DEVICE_ERROR, "compiling kernel '%s' (%s) failed: %s%s", program->name,
                       program->gpu->label, what, program->api->error_string(result));
}

// The kernel's options, folders to look in, and the target; one allocation.
static const char **collect_options(const struct program *program, size_t *out_num)
{
    const struct gpu_build *build = &program->code->build;
    size_t num = build->num_options + build->num_folders + 1, bytes = num * sizeof(char *);
    for (size_t i = 0; i < build->num_folders; i++)
        bytes += strlen(build->folders[i]) + 3;
    const char **options = malloc(bytes);
    if (!options)
        return NULL;
    char *text = (char *)(options + num);
    for (size_t i = 0; i < build->num_options; i++)
        options[i] = build->options[i];
    for (size_t i = 0; i < build->num_folders; i++) {
        options[build->num_options + i] = text;
        text += sprintf(text, "-I%s", build->folders[i]) + 1;
    }
    options[num - 1] = program->target->option;
    *out_num = num;
    return options;
}

static gpu_result create(struct program *program)
{
    const struct gpu_build *build = &program->code->build;
    const char **texts = calloc(2 * build->num_headers + 1, sizeof(*texts));
    if (!texts)
        return GPU_OUT_OF_MEMORY;
    const char **names = texts + build->num_headers;
    for (size_t i = 0; i < build->num_headers; i++) {
        texts[i] = build->headers[i].text;
        names[i] = build->headers[i].name;
    }
    gpu_result result = program->api->create(
        &program->handle, program->code->source, program->name, (int)build->num_headers,
        build->num_headers ? texts : NULL, build->num_headers ? names : NULL);
    free(texts);
    return result;
}

static gpu_result code_bytes(const struct program *program, bool as_text, size_t *out_bytes)
{
    *out_bytes = 0;
    return as_text ? program->api->text_bytes(program->handle, out_bytes)
                   : program->api->code_bytes(program->handle, out_bytes);
}

static gpu_result find_entry(const struct program *program, const char **out_entry)
{
    const char *expression = program->code->build.expression;
    *out_entry = "";
    return expression ? program->api->lowered_name(program->handle, expression, out_entry)
                      : GPU_SUCCESS;
}

static braid_status read_block(const struct program *program, char **out_block, size_t *out_bytes)
{
    size_t bytes = 0;
    bool as_text = program->target->text;
    const char *entry = "";
    gpu_result result = find_entry(program, &entry);
    if (result)
        return refuse(program, "naming its entry: ", result);
    result = code_bytes(program, as_text, &bytes);
    // A compiler without an assembler says that there are no bytes, and gives text.
    if (result == GPU_SUCCESS && bytes == 0 && !as_text && program->api->text_bytes) {
        as_text = true;
        result = code_bytes(program, as_text, &bytes);
    }
    bool has_code = result == GPU_SUCCESS && bytes > 0;
    size_t all = bytes + 1 + strlen(entry) + 1;
    char *block = has_code ? calloc(all, 1) : NULL;
    if (has_code && !block)
        return braid_error_no_memory("a compiled kernel");
    if (block)
        result = as_text ? program->api->text(program->handle, block)
                         : program->api->code(program->handle, block);
    if (block && result == GPU_SUCCESS) {
        memcpy(block + bytes + 1, entry, strlen(entry));
        *out_block = block;
        *out_bytes = all;
        return BRAID_OK;
    }
    free(block);
    return braid_error(BRAID_DEVICE_ERROR, "compiling kernel '%s' gave no code: %s", program->name,
                       program->api->error_string(result));
}

static braid_status compile(const struct program *program, char **out_block, size_t *out_bytes)
{
    const char *expression = program->code->build.expression;
    gpu_result result =
        expression ? program->api->add_expression(program->handle, expression) : GPU_SUCCESS;
    if (result)
        return refuse(program, "naming its entry: ", result);
    size_t num = 0;
    const char **options = collect_options(program, &num);
    if (!options)
        return braid_error_no_memory("the options of a kernel");
    result = program->api->compile(program->handle, (int)num, options);
    free(options);
    return result ? refuse_source(program, result) : read_block(program, out_block, out_bytes);
}

// The code is there, or not: that does not change.
static void note_kept(const struct program *program, gpu_result result)
{
    struct error_attempt attempt;
    braid_error_begin_attempt(&attempt);
    braid_status status = braid_error(
        BRAID_DEVICE_ERROR, "compiling kernel '%s' (%s): the compiler keeps its memory: %s",
        program->name, program->gpu->label, program->api->error_string(result));
    braid_error_end_noted(&attempt, status);
}

braid_status braid_gpu_program_compile(const struct gpu_backend *gpu,
                                       const struct gpu_compiler_api *api, const char *name,
                                       const struct gpu_code *code, const struct gpu_target *target,
                                       char **out_block, size_t *out_bytes)
{
    struct program program = { gpu, api, name, code, target, NULL };
    gpu_result result = create(&program);
    if (result)
        return refuse(&program, "", result);
    braid_status status = compile(&program, out_block, out_bytes);
    result = api->destroy(&program.handle);
    if (result)
        note_kept(&program, result);
    return status;
}
