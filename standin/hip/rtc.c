// SPDX-License-Identifier: Apache-2.0
// hiprtc over NVRTC, so that HIP C++ source compiles for the GPU, or the stand-in, below.
#include "cuda_driver.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// NVRTC's types: a program is opaque, a result is an enum, and 0 to 11 mean what they mean in
// hiprtc.
typedef int nvrtc_result;
typedef void *nvrtc_program;

struct nvrtc {
    nvrtc_result (*nvrtcVersion)(int *out_major, int *out_minor);
    nvrtc_result (*nvrtcCreateProgram)(nvrtc_program *out_program, const char *source,
                                       const char *name, int num_headers,
                                       const char *const *headers,
                                       const char *const *include_names);
    nvrtc_result (*nvrtcDestroyProgram)(nvrtc_program *program);
    nvrtc_result (*nvrtcCompileProgram)(nvrtc_program program, int num_options,
                                        const char *const *options);
    nvrtc_result (*nvrtcGetPTXSize)(nvrtc_program program, size_t *out_num_bytes);
    nvrtc_result (*nvrtcGetPTX)(nvrtc_program program, char *code);
    nvrtc_result (*nvrtcGetProgramLogSize)(nvrtc_program program, size_t *out_num_bytes);
    nvrtc_result (*nvrtcGetProgramLog)(nvrtc_program program, char *log);
    // Older compilers have none of the next two.
    nvrtc_result (*nvrtcAddNameExpression)(nvrtc_program program, const char *expression);
    nvrtc_result (*nvrtcGetLoweredName)(nvrtc_program program, const char *expression,
                                        const char **out_name);
};

struct row {
    const char *name;
    size_t offset;
    bool optional;
};

static const struct row rows[] = {
    { "nvrtcVersion", offsetof(struct nvrtc, nvrtcVersion), false },
    { "nvrtcCreateProgram", offsetof(struct nvrtc, nvrtcCreateProgram), false },
    { "nvrtcDestroyProgram", offsetof(struct nvrtc, nvrtcDestroyProgram), false },
    { "nvrtcCompileProgram", offsetof(struct nvrtc, nvrtcCompileProgram), false },
    { "nvrtcGetPTXSize", offsetof(struct nvrtc, nvrtcGetPTXSize), false },
    { "nvrtcGetPTX", offsetof(struct nvrtc, nvrtcGetPTX), false },
    { "nvrtcGetProgramLogSize", offsetof(struct nvrtc, nvrtcGetProgramLogSize), false },
    { "nvrtcGetProgramLog", offsetof(struct nvrtc, nvrtcGetProgramLog), false },
    { "nvrtcAddNameExpression", offsetof(struct nvrtc, nvrtcAddNameExpression), true },
    { "nvrtcGetLoweredName", offsetof(struct nvrtc, nvrtcGetLoweredName), true },
};

static const char *const library_names[] = { "libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2",
                                             "libnvrtc.so" };

static pthread_once_t open_once = PTHREAD_ONCE_INIT;
static struct nvrtc nvrtc; // constant after open_once
static bool nvrtc_found;   // constant after open_once

static void open_nvrtc(void)
{
    void *library = NULL;
    for (size_t i = 0; !library && i < sizeof(library_names) / sizeof(library_names[0]); i++)
        library = dlopen(library_names[i], RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        void *address = dlsym(library, rows[i].name);
        if (!address && !rows[i].optional)
            return;
        memcpy((char *)&nvrtc + rows[i].offset, &address, sizeof(address));
    }
    nvrtc_found = true;
}

static bool have_nvrtc(void)
{
    pthread_once(&open_once, open_nvrtc);
    return nvrtc_found;
}

static hiprtcResult translate(nvrtc_result result)
{
    return result <= (int)HIPRTC_ERROR_INTERNAL_ERROR ? (hiprtcResult)result
                                                      : HIPRTC_ERROR_INTERNAL_ERROR;
}

const char *hiprtcGetErrorString(hiprtcResult result)
{
    switch ((int)result) {
#define NAME(name, value)                                                                          \
    case value:                                                                                    \
        return #name;
        HIP_ABI_RTC_RESULTS(NAME)
#undef NAME
    default:
        return "HIPRTC_ERROR_UNKNOWN";
    }
}

hiprtcResult hiprtcVersion(int *out_major, int *out_minor)
{
    if (!have_nvrtc())
        return HIPRTC_ERROR_INTERNAL_ERROR;
    return translate(nvrtc.nvrtcVersion(out_major, out_minor));
}

// hiprtc knows HIP's own header without being given it. What portable kernels need of it, NVRTC has
// built in, so here the header is empty.
static const char runtime_header_name[] = "hip/hip_runtime.h";

hiprtcResult hiprtcCreateProgram(hiprtcProgram *out_program, const char *source, const char *name,
                                 int num_headers, const char **headers, const char **include_names)
{
    if (!out_program || !source || num_headers < 0)
        return HIPRTC_ERROR_INVALID_INPUT;
    if (!have_nvrtc())
        return HIPRTC_ERROR_PROGRAM_CREATION_FAILURE;
    size_t count = (size_t)num_headers;
    const char **texts = calloc(2 * (count + 1), sizeof(*texts));
    if (!texts)
        return HIPRTC_ERROR_OUT_OF_MEMORY;
    const char **names = texts + count + 1;
    for (size_t i = 0; i < count; i++) {
        texts[i] = headers[i];
        names[i] = include_names[i];
    }
    texts[count] = "\n";
    names[count] = runtime_header_name;
    nvrtc_program program = NULL;
    nvrtc_result result =
        nvrtc.nvrtcCreateProgram(&program, source, name, num_headers + 1, texts, names);
    free(texts);
    if (result == 0)
        *out_program = program;
    return translate(result);
}

hiprtcResult hiprtcDestroyProgram(hiprtcProgram *program)
{
    if (!program || !*program)
        return HIPRTC_ERROR_INVALID_PROGRAM;
    nvrtc_program destroyed = *program;
    *program = NULL;
    return translate(nvrtc.nvrtcDestroyProgram(&destroyed));
}

hiprtcResult hiprtcAddNameExpression(hiprtcProgram program, const char *expression)
{
    if (!program)
        return HIPRTC_ERROR_INVALID_PROGRAM;
    if (!nvrtc.nvrtcAddNameExpression)
        return HIPRTC_ERROR_INTERNAL_ERROR;
    return translate(nvrtc.nvrtcAddNameExpression(program, expression));
}

static bool begins_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

// Options that name an AMD GPU or mean nothing to NVRTC.
static bool is_dropped(const char *option)
{
    return begins_with(option, "--offload-arch") || begins_with(option, "-O") ||
           begins_with(option, "--gpu-max-threads-per-block");
}

// Writes the option that asks for PTX of the current device's kind. Without a device NVRTC's own
// default stands.
static bool device_option(char *option, size_t num_bytes)
{
    int major = 0;
    int minor = 0;
    if (cuda_open() != CUDA_SUCCESS ||
        cuda.cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
                                  cuda_current_device()) != CUDA_SUCCESS ||
        cuda.cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
                                  cuda_current_device()) != CUDA_SUCCESS)
        return false;
    snprintf(option, num_bytes, "--gpu-architecture=compute_%d%d", major, minor);
    return true;
}

hiprtcResult hiprtcCompileProgram(hiprtcProgram program, int num_options, const char **options)
{
    if (!program)
        return HIPRTC_ERROR_INVALID_PROGRAM;
    if (num_options < 0 || (num_options > 0 && !options))
        return HIPRTC_ERROR_INVALID_INPUT;
    const char **kept = calloc((size_t)num_options + 1, sizeof(*kept));
    if (!kept)
        return HIPRTC_ERROR_OUT_OF_MEMORY;
    char architecture[64];
    int num_kept = 0;
    for (int i = 0; i < num_options; i++)
        if (!is_dropped(options[i]))
            kept[num_kept++] = options[i];
    if (device_option(architecture, sizeof(architecture)))
        kept[num_kept++] = architecture;
    nvrtc_result result = nvrtc.nvrtcCompileProgram(program, num_kept, kept);
    free(kept);
    return translate(result);
}

hiprtcResult hiprtcGetProgramLogSize(hiprtcProgram program, size_t *out_num_bytes)
{
    if (!program)
        return HIPRTC_ERROR_INVALID_PROGRAM;
    return translate(nvrtc.nvrtcGetProgramLogSize(program, out_num_bytes));
}

hiprtcResult hiprtcGetProgramLog(hiprtcProgram program, char *log)
{
    if (!program)
        return HIPRTC_ERROR_INVALID_PROGRAM;
    return translate(nvrtc.nvrtcGetProgramLog(program, log));
}

hiprtcResult hiprtcGetCodeSize(hiprtcProgram program, size_t *out_num_bytes)
{
    if (!program)
        return HIPRTC_ERROR_INVALID_PROGRAM;
    return translate(nvrtc.nvrtcGetPTXSize(program, out_num_bytes));
}

hiprtcResult hiprtcGetCode(hiprtcProgram program, char *code)
{
    if (!program)
        return HIPRTC_ERROR_INVALID_PROGRAM;
    return translate(nvrtc.nvrtcGetPTX(program, code));
}

hiprtcResult hiprtcGetLoweredName(hiprtcProgram program, const char *expression,
                                  const char **out_name)
{
    if (!program)
        return HIPRTC_ERROR_INVALID_PROGRAM;
    if (!nvrtc.nvrtcGetLoweredName)
        return HIPRTC_ERROR_INTERNAL_ERROR;
    return translate(nvrtc.nvrtcGetLoweredName(program, expression, out_name));
}
