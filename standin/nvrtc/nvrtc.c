// SPDX-License-Identifier: Apache-2.0
// A stand-in for the run-time compiler: PTX whose entries the stand-in driver understands.
#include "nvrtc_abi.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "expression.h"
#include "includes.h"
#include "kernels.h"

struct _nvrtcProgram {
    char *source, *name;
    struct headers headers;
    char *expression; // NULL: none; the stand-in takes one
    char lowered[256];
    struct text ptx, log;
    bool compiled;
};

const char *nvrtcGetErrorString(nvrtcResult result)
{
#define NAME(name, number) { name, #name },
    static const struct {
        nvrtcResult result;
        const char *name;
    } names[] = { NVRTC_ABI_RESULTS(NAME) };
#undef NAME
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (names[i].result == result)
            return names[i].name;
    return "NVRTC_ERROR unknown";
}

// BRAID_STANDIN_NVRTC_FAIL=function=code: every call of the function fails and does nothing.
static nvrtcResult failure_of(const char *function)
{
    const char *rule = getenv("BRAID_STANDIN_NVRTC_FAIL");
    size_t length = strlen(function);
    if (rule == NULL || strncmp(rule, function, length) != 0 || rule[length] != '=')
        return NVRTC_SUCCESS;
    return (nvrtcResult)atoi(rule + length + 1);
}

nvrtcResult nvrtcVersion(int *out_major, int *out_minor)
{
    if (out_major == NULL || out_minor == NULL)
        return NVRTC_ERROR_INVALID_INPUT;
    *out_major = 13;
    *out_minor =
        getenv("BRAID_STANDIN_NVRTC_MINOR") ? atoi(getenv("BRAID_STANDIN_NVRTC_MINOR")) : 0;
    return NVRTC_SUCCESS;
}

static const int architectures[] = { 75, 80, 86, 89, 90 };

nvrtcResult nvrtcGetNumSupportedArchs(int *out_count)
{
    nvrtcResult failure = failure_of(__func__);
    if (failure != NVRTC_SUCCESS)
        return failure;
    if (out_count == NULL)
        return NVRTC_ERROR_INVALID_INPUT;
    *out_count = (int)(sizeof(architectures) / sizeof(architectures[0]));
    return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetSupportedArchs(int *into)
{
    nvrtcResult failure = failure_of(__func__);
    if (failure != NVRTC_SUCCESS)
        return failure;
    if (into == NULL)
        return NVRTC_ERROR_INVALID_INPUT;
    memcpy(into, architectures, sizeof(architectures));
    return NVRTC_SUCCESS;
}

static bool copy_headers(struct headers *headers, int num, const char *const *texts,
                         const char *const *names)
{
    headers->texts = calloc((size_t)num + 1, sizeof(char *));
    headers->names = calloc((size_t)num + 1, sizeof(char *));
    bool copied = headers->texts != NULL && headers->names != NULL;
    for (; copied && headers->num < num; headers->num++) {
        headers->texts[headers->num] = strdup(texts[headers->num]);
        headers->names[headers->num] = strdup(names[headers->num]);
        copied = headers->texts[headers->num] != NULL && headers->names[headers->num] != NULL;
    }
    return copied;
}

nvrtcResult nvrtcCreateProgram(nvrtcProgram *out_program, const char *source, const char *name,
                               int num_headers, const char *const *headers,
                               const char *const *include_names)
{
    nvrtcResult failure = failure_of(__func__);
    if (failure != NVRTC_SUCCESS)
        return failure;
    if (out_program == NULL || source == NULL || num_headers < 0 ||
        (num_headers > 0 && (headers == NULL || include_names == NULL)))
        return NVRTC_ERROR_INVALID_INPUT;
    nvrtcProgram program = calloc(1, sizeof(*program));
    if (program == NULL)
        return NVRTC_ERROR_OUT_OF_MEMORY;
    program->source = strdup(source);
    program->name = strdup(name == NULL ? "default_program" : name);
    bool copied = copy_headers(&program->headers, num_headers, headers, include_names);
    if (program->source == NULL || program->name == NULL || !copied) {
        nvrtcDestroyProgram(&program);
        return NVRTC_ERROR_OUT_OF_MEMORY;
    }
    *out_program = program;
    return NVRTC_SUCCESS;
}

nvrtcResult nvrtcDestroyProgram(nvrtcProgram *program)
{
    if (program == NULL || *program == NULL)
        return NVRTC_ERROR_INVALID_PROGRAM;
    text_finish(&(*program)->ptx);
    text_finish(&(*program)->log);
    struct headers *headers = &(*program)->headers;
    for (int i = 0; headers->texts && headers->names && (headers->texts[i] || headers->names[i]);
         i++) {
        free(headers->texts[i]);
        free(headers->names[i]);
    }
    free(headers->texts);
    free(headers->names);
    free((*program)->expression);
    free((*program)->source);
    free((*program)->name);
    free(*program);
    *program = NULL;
    return NVRTC_SUCCESS;
}

// Options begin with a dash, except the value of one that takes it as the next word.
static bool options_valid(int num_options, const char *const *options)
{
    for (int i = 0; i < num_options; i++)
        if (options[i] == NULL || (options[i][0] != '-' && (i == 0 || options[i - 1][0] != '-')))
            return false;
    return true;
}

// 80 of -arch=sm_80 and --gpu-architecture=compute_80; 75 where nothing is said.
static int target_of(int num_options, const char *const *options)
{
    int target = 75;
    for (int i = 0; i < num_options; i++) {
        const char *underscore = strrchr(options[i], '_');
        if (underscore != NULL && strstr(options[i], "arch") != NULL)
            sscanf(underscore + 1, "%d", &target);
    }
    return target;
}

// BRAID_STANDIN_NVRTC_LOG=path: a line for each compilation, the name and the options, in one
// write, for several processes.
static void log_compilation(const char *name, int num_options, const char *const *options)
{
    const char *path = getenv("BRAID_STANDIN_NVRTC_LOG");
    struct text line = { 0 };
    FILE *file = path ? fopen(path, "a") : NULL;
    if (file == NULL)
        return;
    text_add(&line, "%.100s", name);
    for (int i = 0; i < num_options; i++)
        text_add(&line, " %s", options[i]);
    text_add(&line, "\n");
    setvbuf(file, NULL, _IONBF, 0);
    if (!line.failed)
        fputs(line.bytes, file);
    fclose(file);
    text_finish(&line);
}

nvrtcResult nvrtcAddNameExpression(nvrtcProgram program, const char *expression)
{
    nvrtcResult failure = failure_of(__func__);
    if (failure != NVRTC_SUCCESS)
        return failure;
    if (program == NULL)
        return NVRTC_ERROR_INVALID_PROGRAM;
    if (program->compiled)
        return NVRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION;
    if (expression == NULL || program->expression != NULL)
        return NVRTC_ERROR_INVALID_INPUT;
    program->expression = strdup(expression);
    return program->expression ? NVRTC_SUCCESS : NVRTC_ERROR_OUT_OF_MEMORY;
}

nvrtcResult nvrtcGetLoweredName(nvrtcProgram program, const char *expression, const char **out_name)
{
    nvrtcResult failure = failure_of(__func__);
    if (failure != NVRTC_SUCCESS)
        return failure;
    if (program == NULL)
        return NVRTC_ERROR_INVALID_PROGRAM;
    if (!program->compiled)
        return NVRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION;
    if (expression == NULL || out_name == NULL)
        return NVRTC_ERROR_INVALID_INPUT;
    if (program->expression == NULL || strcmp(program->expression, expression) != 0)
        return NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID;
    kernels_lower(expression_base(expression), program->lowered, sizeof(program->lowered));
    *out_name = program->lowered;
    return NVRTC_SUCCESS;
}

// BRAID_STANDIN_NVRTC_PTX=text: it is what every source gives that is no error.
static void take_given_text(struct text *ptx)
{
    const char *given = getenv("BRAID_STANDIN_NVRTC_PTX");
    if (given == NULL)
        return;
    text_finish(ptx);
    text_add(ptx, "%s", given);
}

nvrtcResult nvrtcCompileProgram(nvrtcProgram program, int num_options, const char *const *options)
{
    nvrtcResult failure = failure_of(__func__);
    if (failure != NVRTC_SUCCESS)
        return failure;
    if (program == NULL)
        return NVRTC_ERROR_INVALID_PROGRAM;
    if (num_options < 0 || (num_options > 0 && options == NULL))
        return NVRTC_ERROR_INVALID_INPUT;
    log_compilation(program->name, num_options, options);
    text_finish(&program->ptx);
    text_finish(&program->log);
    program->compiled = false;
    if (!options_valid(num_options, options)) {
        text_add(&program->log, "nvrtc: error: unrecognized option found\n");
        return NVRTC_ERROR_INVALID_OPTION;
    }
    text_add(&program->ptx, ".version 8.0\n.target sm_%d\n.address_size 64\n",
             target_of(num_options, options));
    struct text source = { 0 };
    program->headers.num_options = num_options;
    program->headers.options = options;
    includes_expand(&program->headers, program->source, 0, &source);
    bool translated = kernels_translate(source.bytes ? source.bytes : "", program->name,
                                        program->expression, &program->ptx, &program->log);
    take_given_text(&program->ptx);
    bool failed = source.failed || program->ptx.failed || program->log.failed;
    text_finish(&source);
    if (failed)
        return NVRTC_ERROR_OUT_OF_MEMORY;
    program->compiled = translated;
    return translated ? NVRTC_SUCCESS : NVRTC_ERROR_COMPILATION;
}

nvrtcResult nvrtcGetPTXSize(nvrtcProgram program, size_t *out_bytes)
{
    nvrtcResult failure = failure_of(__func__);
    if (failure != NVRTC_SUCCESS)
        return failure;
    if (program == NULL || !program->compiled)
        return NVRTC_ERROR_INVALID_PROGRAM;
    if (out_bytes == NULL)
        return NVRTC_ERROR_INVALID_INPUT;
    *out_bytes = program->ptx.length + 1;
    return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetPTX(nvrtcProgram program, char *ptx)
{
    nvrtcResult failure = failure_of(__func__);
    if (failure != NVRTC_SUCCESS)
        return failure;
    if (program == NULL || !program->compiled)
        return NVRTC_ERROR_INVALID_PROGRAM;
    if (ptx == NULL)
        return NVRTC_ERROR_INVALID_INPUT;
    memcpy(ptx, program->ptx.bytes, program->ptx.length + 1);
    return NVRTC_SUCCESS;
}

// Machine code is not made here: there is none of it, as for a virtual architecture.
nvrtcResult nvrtcGetCUBINSize(nvrtcProgram program, size_t *out_bytes)
{
    nvrtcResult failure = failure_of(__func__);
    if (failure != NVRTC_SUCCESS)
        return failure;
    if (program == NULL || !program->compiled)
        return NVRTC_ERROR_INVALID_PROGRAM;
    if (out_bytes == NULL)
        return NVRTC_ERROR_INVALID_INPUT;
    *out_bytes = 0;
    return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetCUBIN(nvrtcProgram program, char *cubin)
{
    nvrtcResult failure = failure_of(__func__);
    if (failure != NVRTC_SUCCESS)
        return failure;
    (void)program, (void)cubin;
    return NVRTC_ERROR_INVALID_PROGRAM;
}

nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram program, size_t *out_bytes)
{
    if (program == NULL)
        return NVRTC_ERROR_INVALID_PROGRAM;
    if (out_bytes == NULL)
        return NVRTC_ERROR_INVALID_INPUT;
    *out_bytes = program->log.length + 1;
    return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetProgramLog(nvrtcProgram program, char *log)
{
    if (program == NULL)
        return NVRTC_ERROR_INVALID_PROGRAM;
    if (log == NULL)
        return NVRTC_ERROR_INVALID_INPUT;
    log[0] = '\0';
    if (program->log.bytes != NULL)
        memcpy(log, program->log.bytes, program->log.length + 1);
    return NVRTC_SUCCESS;
}
