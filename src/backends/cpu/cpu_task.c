// SPDX-License-Identifier: Apache-2.0
// Tasks into work: every kind becomes a function of the form of a CPU kernel, with its arguments.
#include <string.h>

#include "backends/cpu/cpu.h"
#include "base/error.h"
#include "base/host_memory.h"
#include "base/inside.h"

// ---- kernels: on the CPU, a pointer to the program's function ----

struct cpu_kernel {
    struct backend_kernel base;
    braid_cpu_function *call;
    void *user;
    _Atomic uint64_t block_ns;
};

// Fills in the call of a work of this kernel, and the place for the time of its blocks.
static void cpu_kernel_fill_work(struct backend_kernel *base, struct cpu_work *work)
{
    struct cpu_kernel *kernel = (struct cpu_kernel *)base;
    work->call = kernel->call;
    work->blocks.user = kernel->user;
    work->block_ns = &kernel->block_ns;
}

braid_status braid_cpu_kernel_load(struct backend *base, const braid_kernel *kernel,
                                   unsigned changes, const struct backend_change *change,
                                   const uint32_t *arg_bytes, uint32_t num_args,
                                   struct backend_kernel **out_kernel)
{
    (void)base;
    (void)changes; // a launch tells of its grid
    (void)change;
    (void)arg_bytes;
    (void)num_args;
    if (!kernel->cpu)
        return braid_error(BRAID_UNSUPPORTED, "cpu: kernel '%s' has no CPU function", kernel->name);
    struct cpu_kernel *loaded = braid_allocate_zeroed(1, sizeof(*loaded));
    if (!loaded)
        return braid_error_no_memory("a kernel");
    loaded->call = kernel->cpu;
    loaded->user = kernel->user;
    *out_kernel = &loaded->base;
    return BRAID_OK;
}

void braid_cpu_kernel_unload(struct backend *base, struct backend_kernel *kernel)
{
    (void)base;
    braid_free(kernel);
}

// ---- tasks ----

enum {
    MAX_ALIGNMENT = 64,     // an argument's bytes have no larger one
    PART_BYTES = 256 * 1024 // a copy or fill has blocks of so many bytes
};

// The data behind args[0] of all works except kernels.
struct arguments {
    void *self; // args points here
    union work work;
};

static const union work *work_of(void *const *args)
{
    return &((const struct arguments *)args[0])->work;
}

const struct work_loop *braid_cpu_task_loop(void *const *args)
{
    return &work_of(args)->loop;
}

static void run_copy(const braid_blocks *blocks, void *const *args)
{
    const struct work_copy *copy = &work_of(args)->copy;
    for (uint64_t row = blocks->begin; copy->rows.num && row < blocks->end; row++)
        memcpy((char *)copy->to + work_row_at(&copy->rows, false, row),
               (const char *)copy->from + work_row_at(&copy->rows, true, row), copy->bytes);
    if (copy->rows.num)
        return;
    uint64_t begin = blocks->begin * PART_BYTES;
    uint64_t end = blocks->end * PART_BYTES;
    if (end > copy->bytes)
        end = copy->bytes;
    memcpy((char *)copy->to + begin, (const char *)copy->from + begin, end - begin);
}

// memcpy, because the memory may hold objects of any type, at any address.
static void fill_2(unsigned char *to, uint16_t value, uint64_t num_values)
{
    for (uint64_t i = 0; i < num_values; i++)
        memcpy(to + i * sizeof(value), &value, sizeof(value));
}

static void fill_4(unsigned char *to, uint32_t value, uint64_t num_values)
{
    for (uint64_t i = 0; i < num_values; i++)
        memcpy(to + i * sizeof(value), &value, sizeof(value));
}

static void fill_values(const struct work_fill *fill, uint64_t begin, uint64_t num_values)
{
    unsigned char *to = (unsigned char *)fill->to + begin;
    if (fill->value_bytes == 4)
        fill_4(to, fill->value, num_values);
    else if (fill->value_bytes == 2)
        fill_2(to, (uint16_t)fill->value, num_values);
    else
        memset(to, (int)(unsigned char)fill->value, num_values);
}

static void run_fill(const braid_blocks *blocks, void *const *args)
{
    const struct work_fill *fill = &work_of(args)->fill;
    for (uint64_t row = blocks->begin; fill->rows.num && row < blocks->end; row++)
        fill_values(fill, work_row_at(&fill->rows, false, row), fill->num_values);
    if (fill->rows.num)
        return;
    uint64_t begin = blocks->begin * PART_BYTES;
    uint64_t end = blocks->end * PART_BYTES;
    if (end > fill->num_values * fill->value_bytes)
        end = fill->num_values * fill->value_bytes;
    fill_values(fill, begin, (end - begin) / fill->value_bytes);
}

static void run_host(const braid_blocks *blocks, void *const *args)
{
    (void)blocks;
    const struct work_host *host = &work_of(args)->host;
    host->call(host->user);
}

static void run_post(const braid_blocks *blocks, void *const *args)
{
    (void)blocks;
    const struct work_post *post = &work_of(args)->post;
    post->operation->ops->post(post->operation, post->from, post->to);
}

// The size of a type is a multiple of its alignment, so this is never too small for one that malloc
// could have aligned.
static size_t argument_alignment(size_t bytes)
{
    size_t alignment = bytes & (~bytes + 1);
    return !alignment || alignment > MAX_ALIGNMENT ? MAX_ALIGNMENT : alignment;
}

static unsigned char *align_up(unsigned char *pointer, size_t alignment)
{
    return pointer + (alignment - (uintptr_t)pointer % alignment) % alignment;
}

size_t braid_cpu_task_bytes(const struct backend_task *task)
{
    if (task->kind != WORK_KERNEL)
        return sizeof(struct arguments) + _Alignof(struct arguments);
    const struct backend_launch *launch = &task->launch;
    size_t bytes = _Alignof(void *) + launch->num_args * sizeof(void *);
    for (uint32_t i = 0; i < launch->num_args; i++)
        bytes += launch->arg_bytes[i] + argument_alignment(launch->arg_bytes[i]);
    return bytes;
}

// The call of a disabled task.
static void run_nothing(const braid_blocks *blocks, void *const *args)
{
    (void)blocks;
    (void)args;
}

// Works are described in place: a compiler copies a struct that a function returns with wide loads,
// which wait for the narrow stores before them.
static void describe_one_block(struct cpu_work *work, braid_cpu_function *call, void *const *args)
{
    memset(work, 0, sizeof(*work));
    work->call = call;
    work->blocks.end = 1;
    work->blocks.grid = work->blocks.block = (braid_dim3){ 1, 1, 1 };
    work->args = args;
}

static void describe_launch(const struct backend_task *task, void *const *args,
                            struct cpu_work *out_work)
{
    const struct backend_launch *launch = &task->launch;
    if (task->disabled) {
        describe_one_block(out_work, run_nothing, args);
        return;
    }
    memset(out_work, 0, sizeof(*out_work));
    out_work->blocks.end = (uint64_t)launch->grid.x * launch->grid.y * launch->grid.z;
    out_work->blocks.grid = launch->grid;
    out_work->blocks.block = launch->block;
    out_work->args = args;
    out_work->note = task->note;
    out_work->cancelled = task->cancelled;
    out_work->is_whole = launch->cooperative;
    if (launch->grid_from) {
        out_work->grid_from = &args[launch->num_args - 1];
        out_work->most = launch->grid;
    }
    cpu_kernel_fill_work(launch->kernel, out_work);
}

static unsigned char *capture_launch(const struct backend_task *task, unsigned char *memory,
                                     struct cpu_work *out_work)
{
    const struct backend_launch *launch = &task->launch;
    void **pointers = (void **)(void *)align_up(memory, _Alignof(void *));
    memory = (unsigned char *)(pointers + launch->num_args);
    for (uint32_t i = 0; i < launch->num_args; i++) {
        size_t bytes = launch->arg_bytes[i];
        memory = align_up(memory, argument_alignment(bytes));
        memcpy(memory, launch->args[i], bytes);
        pointers[i] = memory;
        memory += bytes;
    }
    describe_launch(task, pointers, out_work);
    return memory;
}

// The blocks of several rows are these rows.
static uint64_t num_parts(const struct backend_task *task)
{
    if (task->kind == WORK_COPY && task->copy.rows.num)
        return work_num_rows(&task->copy.rows);
    if (task->kind == WORK_FILL && task->fill.rows.num)
        return work_num_rows(&task->fill.rows);
    uint64_t bytes = task->kind == WORK_COPY   ? task->copy.bytes
                     : task->kind == WORK_FILL ? task->fill.num_values * task->fill.value_bytes
                                               : 0;
    return bytes ? (bytes - 1) / PART_BYTES + 1 : 1;
}

static void describe_other(const struct backend_task *task, void *const *args,
                           struct cpu_work *out_work)
{
    static braid_cpu_function *const calls[] = { [WORK_COPY] = run_copy,
                                                 [WORK_FILL] = run_fill,
                                                 [WORK_HOST] = run_host,
                                                 [WORK_POST] = run_post,
                                                 [WORK_AWAIT] = run_nothing };
    bool is_nothing = task->disabled || task->kind == WORK_QUEUE || task->kind == WORK_EMPTY ||
                      work_has_body(task->kind);
    describe_one_block(out_work, is_nothing ? run_nothing : calls[task->kind], args);
    if (is_nothing)
        return;
    out_work->blocks.end = num_parts(task);
    out_work->note = task->note;
    out_work->cancelled = task->cancelled;
    out_work->is_blocking =
        (task->kind == WORK_HOST && task->host.is_blocking) || task->kind == WORK_AWAIT;
    out_work->awaits = task->kind == WORK_AWAIT ? task->await.operation : NULL;
}

static unsigned char *capture_other(const struct backend_task *task, unsigned char *memory,
                                    struct cpu_work *out_work)
{
    memory = align_up(memory, _Alignof(struct arguments));
    struct arguments *stored = (struct arguments *)(void *)memory;
    *stored = (struct arguments){ .self = stored, .work = task->work };
    describe_other(task, &stored->self, out_work);
    return memory + sizeof(*stored);
}

unsigned char *braid_cpu_task_capture(const struct backend_task *task, unsigned char *memory,
                                      struct cpu_work *out_work)
{
    return task->kind == WORK_KERNEL ? capture_launch(task, memory, out_work)
                                     : capture_other(task, memory, out_work);
}

struct cpu_values braid_cpu_task_values(const struct backend_task *task,
                                        const struct cpu_work *captured)
{
    static const uint32_t other_bytes = sizeof(struct arguments);
    if (task->kind == WORK_KERNEL)
        return (struct cpu_values){ captured->args, task->launch.arg_bytes, task->launch.num_args };
    return (struct cpu_values){ captured->args, &other_bytes, 1 };
}

void braid_cpu_task_describe(const struct backend_task *task, const struct cpu_values *values,
                             struct cpu_work *out_work)
{
    if (task->kind == WORK_KERNEL)
        describe_launch(task, values->pointers, out_work);
    else
        describe_other(task, values->pointers, out_work);
}

void braid_cpu_task_recapture(const struct backend_task *task, const struct cpu_values *values,
                              unsigned char *bytes)
{
    if (task->kind != WORK_KERNEL) {
        // In use by frames that start, which write `self` anew, too: only its address is taken.
        struct arguments arguments = { .self = (void *)values->pointers, .work = task->work };
        memcpy(bytes, &arguments, sizeof(arguments));
        return;
    }
    for (uint32_t i = 0; i < values->num; i++) {
        memcpy(bytes, task->launch.args[i], values->bytes[i]);
        bytes += values->bytes[i];
    }
}

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

// The thread that begins the work is the only one that looks at it.
void braid_cpu_work_read_grid(struct cpu_work *work)
{
    const void *words = *(const void *const *)*work->grid_from;
    braid_dim3 grid;
    memcpy(&grid, words, sizeof(grid));
    grid = work_grid(grid);
    work->blocks.grid.x = least(grid.x, work->most.x);
    work->blocks.grid.y = least(grid.y, work->most.y);
    work->blocks.grid.z = least(grid.z, work->most.z);
    work->blocks.end = (uint64_t)work->blocks.grid.x * work->blocks.grid.y * work->blocks.grid.z;
}

// Threads that look for work, or that start, touch memory in which a caller may watch accesses. So
// they sleep first, unless there is other work.
static void await_idle_threads(struct cpu_backend *backend)
{
    cpu_lock(backend);
    while (!backend->num_heads &&
           backend->num_parked - backend->num_waking < backend->num_threads) {
        cpu_unlock(backend);
        braid_cpu_give_way();
        cpu_lock(backend);
    }
    cpu_unlock(backend);
}

braid_status braid_cpu_run_here(struct backend *backend, const struct backend_task *task)
{
    await_idle_threads(cpu_backend_of(backend));
    unsigned char *memory = braid_allocate(braid_cpu_task_bytes(task));
    if (!memory)
        return braid_error_no_memory("a task");
    struct cpu_work work;
    struct inside inside;
    braid_cpu_task_capture(task, memory, &work);
    braid_inside_begin(&inside, "a kernel or host call", NULL);
    if (work.grid_from)
        braid_cpu_work_read_grid(&work);
    if (work.blocks.end)
        braid_cpu_work_call(&work, &work.blocks);
    braid_inside_end(&inside);
    braid_free(memory);
    return BRAID_OK;
}
