// SPDX-License-Identifier: Apache-2.0
// Replaying a plan as the driver's own graph: instantiated once, launched on the caller's stream.
//
// The ordering laws come from the driver: a launch of an executable graph starts after earlier work
// on its stream, and later work on the stream starts after it. On CUDA it also starts after the
// executable's last launch, whatever stream that was on; on HIP it does not (programs_overlap).
// Changes to an executable's node touch later launches only.
#include "backends/gpu/gpu_program.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"

static void destroy_handles(const struct gpu_backend *gpu, struct backend_program *program)
{
    static const char what[] = "destruction of a program";
    const struct gpu_api *api = gpu->api;
    if (program->executable)
        braid_gpu_check_freed(gpu, api->executable_destroy(program->executable),
                              &api->executable_destroy, what);
    if (program->graph)
        braid_gpu_check_freed(gpu, api->graph_destroy(program->graph), &api->graph_destroy, what);
}

static void free_program(struct backend_program *program)
{
    free(program->tasks);
    free(program);
}

// The first launch uploads the graph. A graph that was uploaded before and is not launched yet
// slows every other graph of the process down: on an H200 with driver 580 a chain of 1000 empty
// kernels then takes 680 instead of 502 us, until the uploaded graph has been launched
// (docs/cuda.md).
static braid_status instantiate(const struct gpu_backend *gpu, struct backend_program *program)
{
    char what[96];
    snprintf(what, sizeof(what), "instantiation of a graph of %u nodes", program->num_nodes);
    gpu_result result = gpu->api->graph_instantiate(&program->executable, program->graph, 0);
    if (result)
        program->executable = NULL;
    return braid_gpu_check(gpu, result, &gpu->api->graph_instantiate, what);
}

static bool has_native_calls(const struct backend_plan *plan)
{
    for (uint32_t i = 0; i < plan->num_tasks; i++) {
        if (plan->tasks[i].kind == BACKEND_TASK_NATIVE)
            return true;
    }
    return false;
}

// Native calls are captured on a stream of its own, so that no stream of the program's is touched.
static braid_status build(struct gpu_backend *gpu, const struct backend_plan *plan,
                          struct backend_program *program)
{
    gpu_stream stream = NULL;
    if (has_native_calls(plan)) {
        gpu_result result = gpu->api->stream_create(&stream, GPU_STREAM_NON_BLOCKING, 0);
        if (result)
            return braid_gpu_check(gpu, result, &gpu->api->stream_create, "creation of a program");
    }
    braid_status status = braid_gpu_program_build(gpu, plan, program, stream);
    if (stream)
        braid_gpu_check_freed(gpu, gpu->api->stream_destroy(stream), &gpu->api->stream_destroy,
                              "destruction of a stream for captures");
    return status;
}

static braid_status fill_program(struct gpu_backend *gpu, const struct backend_plan *plan,
                                 struct backend_program *program)
{
    program->tasks = calloc(plan->num_tasks ? plan->num_tasks : 1, sizeof(*program->tasks));
    if (!program->tasks)
        return braid_error_no_memory("a program");
    program->num_tasks = plan->num_tasks;
    gpu_result result = gpu->api->graph_create(&program->graph, 0);
    if (result) {
        program->graph = NULL;
        return braid_gpu_check(gpu, result, &gpu->api->graph_create, "creation of a graph");
    }
    braid_status status = build(gpu, plan, program);
    return status ? status : instantiate(gpu, program);
}

// The largest number of edges that leave one task: its successor in the lane and the waits for it.
static braid_status find_max_fan_out(const struct backend_plan *plan, uint32_t *out_max)
{
    uint32_t max = 0;
    uint32_t *num_waits = calloc((size_t)plan->num_records + 1, sizeof(*num_waits));
    if (!num_waits)
        return braid_error_no_memory("a program");
    for (size_t i = 0; i < plan->num_order; i++) {
        const struct backend_step *step = &plan->order[i];
        if (step->kind == BRAID_STEP_WAIT && ++num_waits[step->index] > max)
            max = num_waits[step->index];
    }
    free(num_waits);
    *out_max = max + 1;
    return BRAID_OK;
}

braid_status braid_gpu_program_create(struct backend *backend, const struct backend_plan *plan,
                                      struct backend_program **out_program)
{
    struct gpu_backend *gpu = gpu_from(backend);
    uint32_t max_fan_out = 0;
    braid_status status = find_max_fan_out(plan, &max_fan_out);
    if (!status)
        status = gpu->vendor->check_plan(gpu, plan, max_fan_out);
    if (status)
        return status;
    struct backend_program *program = calloc(1, sizeof(*program));
    if (!program)
        return braid_error_no_memory("a program");
    struct backend_scope scope;
    status = braid_gpu_enter(gpu, &scope, "creation of a program");
    if (status) {
        free(program);
        return status;
    }
    status = fill_program(gpu, plan, program);
    if (status)
        destroy_handles(gpu, program);
    braid_gpu_leave(gpu, &scope);
    if (status)
        free_program(program);
    else
        *out_program = program;
    return status;
}

braid_status braid_gpu_program_set_args(struct backend *backend, struct backend_program *program,
                                        uint32_t task, void *const *args)
{
    struct gpu_backend *gpu = gpu_from(backend);
    struct program_task *changed = &program->tasks[task];
    struct backend_scope scope;
    braid_status status = braid_gpu_enter(gpu, &scope, "change of arguments");
    if (status)
        return status;
    gpu_result result = gpu->vendor->set_kernel(gpu, program->executable, changed->node,
                                                &changed->task.launch, args);
    braid_gpu_leave(gpu, &scope);
    return braid_gpu_check_task(gpu, result, &gpu->api->executable_set_kernel, &changed->task,
                                NULL);
}

braid_status braid_gpu_program_launch(struct backend *backend, struct backend_program *program,
                                      struct backend_stream *stream)
{
    struct gpu_backend *gpu = gpu_from(backend);
    struct backend_scope scope;
    braid_status status = braid_gpu_enter(gpu, &scope, "launch of a graph");
    if (status)
        return status;
    braid_gpu_note_stream(gpu, gpu_stream_of(stream));
    gpu_result result = gpu->api->executable_launch(program->executable, gpu_stream_of(stream));
    braid_gpu_leave(gpu, &scope);
    return braid_gpu_check(gpu, result, &gpu->api->executable_launch, "launch of a graph");
}

void braid_gpu_program_destroy(struct backend *backend, struct backend_program *program)
{
    struct gpu_backend *gpu = gpu_from(backend);
    struct backend_scope scope;
    if (!program)
        return;
    // Where the device cannot be made current, the driver's graph is kept: Braid's part has ended.
    if (braid_gpu_enter_to_free(gpu, &scope, "destruction of a program")) {
        destroy_handles(gpu, program);
        braid_gpu_leave(gpu, &scope);
    }
    free_program(program);
}
