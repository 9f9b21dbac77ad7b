// SPDX-License-Identifier: Apache-2.0
// A stand-in for the run-time compiler: PTX whose entries the stand-in driver understands.
#include "nvrtc_abi.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels.h"

struct _nvrtcProgram {
    char *source, *name;
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
    if (program->source == NULL || program->name == NULL) {
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

// BRAID_STANDIN_NVRTC_LOG=path: a line for each compilation, in one write, for several processes.
static void log_compilation(const char *name)
{
    const char *path = getenv("BRAID_STANDIN_NVRTC_LOG");
    char line[128];
    FILE *file = path ? fopen(path, "a") : NULL;
    if (file == NULL)
        return;
    snprintf(line, sizeof(line), "%.100s\n", name);
    setvbuf(file, NULL, _IONBF, 0);
    fputs(line, file);
    fclose(file);
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
    log_compilation(program->name);
    text_finish(&program->ptx);
    text_finish(&program->log);
    program->compiled = false;
    if (!options_valid(num_options, options)) {
        text_add(&program->log, "nvrtc: error: unrecognized option found\n");
        return NVRTC_ERROR_INVALID_OPTION;
    }
    text_add(&program->ptx, ".version 8.0\n.target sm_%d\n.address_size 64\n",
             target_of(num_options, options));
    bool translated =
        kernels_translate(program->source, program->name, &program->ptx, &program->log);
    if (program->ptx.failed || program->log.failed)
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
