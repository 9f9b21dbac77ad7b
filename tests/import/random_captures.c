// SPDX-License-Identifier: Apache-2.0
// Random streams of random kernels, with loops and branches, captured on the stand-in for CUDA.
#include "import/random_captures.h"

enum {
    MOST_STEPS = 16,
    MOST_DEPTH = 3, // bodies nest so deep
};

CUcontext random_contexts[DEVICES];
CUevent random_events[DEVICES];
CUstream random_streams[STREAMS];
unsigned char *buffers[BUFFERS];
uint32_t num_called;
uint64_t num_allocations, num_conditionals;

static void enter(const struct trial *trial, uint32_t device)
{
    if (trial->num_devices > 1)
        must(cuCtxSetCurrent(random_contexts[device]));
}

// Each kernel has a name of its own. None compares addresses: allocations of a graph and transient
// buffers have others.
static void make_kernel(struct random *random, struct trial *trial, int index)
{
    char *text = trial->texts[index], name[] = "k0";
    do
        random_kernel_write(random, 1, text, TEXT_BYTES - 1);
    while (strstr(text, "max.u64") || strstr(text, "min.u64"));
    char *entry = strstr(text, ".entry k(");
    assert_non_null(entry);
    entry += strlen(".entry k");
    memmove(entry + 1, entry, strlen(entry) + 1);
    *entry = name[1] = (char)('0' + index);
    for (uint32_t i = 0; i < trial->num_devices; i++) {
        enter(trial, i);
        must(cuModuleLoadData(&trial->modules[i][index], trial->texts[index]));
        must(cuModuleGetFunction(&trial->functions[i][index], trial->modules[i][index], name));
    }
    enter(trial, 0);
    if (!random_chance(random, 10))
        trial->given[trial->num_given++] = trial->texts[index];
}

// An allocation of the graph, or a buffer.
static uint64_t choose_pointer(struct random *random, const struct trial *trial)
{
    const CUdeviceptr allocation = trial->allocations[random_below(random, ALLOCATIONS)];
    if (allocation && random_chance(random, 50))
        return allocation + KERNEL_FIRST;
    return (uintptr_t)(buffers[trial->map[random_below(random, TABLE)]] + KERNEL_FIRST);
}

static void launch(struct random *random, struct trial *trial, uint32_t which)
{
    const uint32_t device = which % trial->num_devices;
    uint64_t own[KERNEL_POINTERS], pointer;
    unsigned char all[KERNEL_STRUCT_BYTES] = { 0 };
    uint32_t number = random_below(random, 8) ^ trial->shift;
    memcpy(all, &number, sizeof(number));
    for (int i = 0; i < 3; i++) {
        own[i] = choose_pointer(random, trial);
        pointer =
            i == 2 ? (uintptr_t)(buffers[TABLE] + KERNEL_FIRST) : choose_pointer(random, trial);
        memcpy(all + kernel_struct_places[i], &pointer, sizeof(pointer));
    }
    void *args[] = { &own[0], &own[1], &own[2], all, &number };
    must(cuLaunchKernel(trial->functions[device][random_below(random, KERNELS)], 1, 1, 1, 1, 1, 1,
                        0, random_streams[which], args, NULL));
}

// A pointer to memory of the device.
static CUdeviceptr choose_own(struct random *random, const struct trial *trial, uint32_t device)
{
    if (trial->num_devices == 1)
        return choose_pointer(random, trial);
    const uint32_t buffer = device + trial->num_devices * random_below(random, TABLE / DEVICES);
    return (uintptr_t)(buffers[buffer] + KERNEL_FIRST);
}

static void fill(struct random *random, const struct trial *trial, uint32_t which)
{
    const CUstream stream = random_streams[which];
    const CUdeviceptr to =
        choose_own(random, trial, which % trial->num_devices) + 4 * random_below(random, 8);
    switch (random_below(random, 4)) {
    case 0:
        must(cuMemsetD8Async(to, (unsigned char)random_below(random, 256), 64, stream));
        break;
    case 1:
        must(cuMemsetD16Async(to, (unsigned short)random_below(random, 999), 32, stream));
        break;
    default:
        must(cuMemsetD32Async(to, random_below(random, 99) + trial->shift,
                              1 + random_below(random, 64), stream));
    }
}

static void copy(struct random *random, const struct trial *trial, CUstream stream)
{
    const CUdeviceptr from = choose_pointer(random, trial), to = choose_pointer(random, trial);
    const uint32_t bytes = 8 + random_below(random, 256);
    if (to != from)
        must(cuMemcpyDtoDAsync_v2(to, from, bytes, stream));
}

static void copy_rows(struct random *random, const struct trial *trial, uint32_t which)
{
    const CUstream stream = random_streams[which];
    const uint32_t num = trial->num_devices;
    const uint32_t from = which % num + num * random_below(random, TABLE / num);
    const CUDA_MEMCPY2D rows = {
        .srcMemoryType = CU_MEMORYTYPE_DEVICE,
        .srcDevice = (uintptr_t)buffers[from],
        .srcPitch = 64,
        .dstMemoryType = CU_MEMORYTYPE_DEVICE,
        .dstDevice = (uintptr_t)buffers[(from + num) % TABLE],
        .dstPitch = 128,
        .WidthInBytes = 24,
        .Height = 5,
    };
    if (random_chance(random, 50))
        must(cuMemcpy2DAsync_v2(&rows, stream));
    else
        must(cuMemsetD2D16Async((uintptr_t)buffers[from], 64, 7, 16, 9, stream));
}

static void call_host(void *user)
{
    ++*(uint32_t *)user;
}

static void wait_for(const struct trial *trial, uint32_t which, uint32_t before)
{
    const uint32_t device = before % trial->num_devices;
    const CUevent event = trial->num_devices > 1 ? random_events[device] : here.event;
    enter(trial, device);
    must(cuEventRecord(event, random_streams[before]));
    enter(trial, which % trial->num_devices);
    must(cuStreamWaitEvent(random_streams[which], event, 0));
}

static void capture_step(struct random *random, struct trial *trial, int depth);

static void capture_body(struct random *random, struct trial *trial, int depth)
{
    for (uint32_t i = random_below(random, 4); i > 0; i--)
        capture_step(random, trial, depth + 1);
}

static void capture_loop(struct random *random, struct trial *trial, int depth)
{
    const CUdeviceptr word = here.memory[depth];
    must(cuMemsetD32Async(word, (random_below(random, 4) + trial->shift) % 4, 1, here.stream));
    struct conditional loop = begin_conditional(BRAID_IMPORT_WHILE, word);
    capture_body(random, trial, depth);
    LAUNCH("down", word);
    capture_body(random, trial, depth);
    end_conditional(&loop);
}

// Its word is any that kernels write, or one that says which arm.
static void capture_branch(struct random *random, struct trial *trial, int depth)
{
    const int arms = 1 + (int)random_below(random, 3);
    CUdeviceptr word = here.memory[MOST_DEPTH];
    if (random_chance(random, 40))
        word = choose_pointer(random, trial) + 4 * random_below(random, 8);
    else
        must(cuMemsetD32Async(word, random_below(random, 2), 1, here.stream));
    struct conditional branch = begin_branch(word, arms, arms == 3 && random_chance(random, 50));
    for (int i = 0; i < 2; i++) {
        if (!(arms >> i & 1))
            continue;
        enter_body(&branch, i);
        capture_body(random, trial, depth);
        leave_body(&branch);
    }
}

static bool has_room(int depth)
{
    return depth < MOST_DEPTH && there.num_told < MOST_CONDITIONALS;
}

static void capture_conditional(struct random *random, struct trial *trial, int depth)
{
    if (!has_room(depth))
        return;
    num_conditionals++;
    if (random_chance(random, 50))
        capture_loop(random, trial, depth);
    else
        capture_branch(random, trial, depth);
}

static void fill_allocation(struct random *random, CUdeviceptr memory)
{
    must(cuMemsetD8Async(memory, (unsigned char)random_below(random, 256), KERNEL_BUFFER_BYTES,
                         here.stream));
}

// Each arm fills it before others use it.
static void fill_by_arms(struct random *random, struct trial *trial, CUdeviceptr memory,
                         CUdeviceptr *out_slot)
{
    must(cuMemsetD32Async(here.memory[MOST_DEPTH], random_below(random, 2), 1, here.stream));
    struct conditional branch = begin_branch(here.memory[MOST_DEPTH], 3, random_chance(random, 50));
    for (int i = 0; i < 2; i++) {
        *out_slot = 0;
        enter_body(&branch, i);
        capture_body(random, trial, 0);
        fill_allocation(random, memory);
        *out_slot = memory;
        capture_body(random, trial, 0);
        leave_body(&branch);
    }
}

// Contents of an allocation are nothing that a kernel may read.
static void allocate(struct random *random, struct trial *trial, CUstream stream)
{
    CUdeviceptr *slot = &trial->allocations[random_below(random, ALLOCATIONS)], memory;
    if (*slot) {
        must(cuMemFreeAsync(*slot, stream));
        *slot = 0;
        return;
    }
    must(cuMemAllocAsync(&memory, KERNEL_BUFFER_BYTES, stream));
    num_allocations++;
    if (!trial->has_conditionals || !has_room(0) || random_chance(random, 50)) {
        fill_allocation(random, memory);
        *slot = memory;
    } else {
        fill_by_arms(random, trial, memory, slot);
    }
}

// Allocations are on the first stream, and only there used, unless there is one stream.
static void capture_step(struct random *random, struct trial *trial, int depth)
{
    const uint32_t which = random_below(random, trial->num_streams);
    const CUstream stream = random_streams[which];
    const uint32_t chance = random_below(random, 100);
    if (trial->is_serial)
        wait_for(trial, which, trial->last);
    else if (trial->num_streams > 1 && random_chance(random, 40))
        wait_for(trial, which, random_below(random, trial->num_streams));
    trial->last = which;
    enter(trial, which % trial->num_devices);
    if (trial->has_conditionals && random_chance(random, 25))
        capture_conditional(random, trial, depth);
    else if (chance < 60)
        launch(random, trial, which);
    else if (chance < 70)
        fill(random, trial, which);
    else if (chance < 80)
        copy(random, trial, stream);
    else if (depth > 0)
        return; // bodies have no others
    else if (chance < 84)
        copy_rows(random, trial, which);
    else if (chance < 87)
        must(cuLaunchHostFunc(stream, call_host, &num_called));
    else if (trial->num_streams == 1)
        allocate(random, trial, stream);
}

void capture(struct random *random, struct trial *trial)
{
    memset(trial->allocations, 0, sizeof(trial->allocations));
    begin();
    trial->last = 0;
    for (uint32_t i = 1; i < trial->num_streams; i++)
        wait_for(trial, i, 0);
    enter(trial, 0);
    for (uint32_t i = 2 + random_below(random, MOST_STEPS); i > 0; i--)
        capture_step(random, trial, 0);
    for (int i = 0; i < ALLOCATIONS; i++) {
        if (trial->allocations[i])
            must(cuMemFreeAsync(trial->allocations[i], random_streams[0]));
    }
    for (uint32_t i = 1; i < trial->num_streams; i++)
        wait_for(trial, 0, i);
    enter(trial, 0);
    must(cuStreamEndCapture(random_streams[0], &trial->graph));
}

static void make_kernels(struct random *random, struct trial *trial, uint32_t num_devices)
{
    memset(trial, 0, sizeof(*trial));
    trial->num_devices = num_devices;
    for (int i = 0; i < KERNELS; i++)
        make_kernel(random, trial, i);
    for (uint32_t i = 0; i < TABLE; i++)
        trial->map[i] = i;
}

void make_trial_of_two(struct random *random, struct trial *trial)
{
    make_kernels(random, trial, DEVICES);
    trial->num_streams = 2 + random_below(random, 2);
    trial->is_serial = random_chance(random, 70);
}

void make_trial(struct random *random, struct trial *trial)
{
    make_kernels(random, trial, 1);
    trial->given[trial->num_given++] = conditional_text;
    trial->num_streams = random_chance(random, 60) ? 1 : 2 + random_below(random, 2);
    trial->has_conditionals = trial->num_streams == 1 && random_chance(random, 50);
}

void make_later(struct random *random, struct trial *trial)
{
    trial->shift = random_below(random, 8);
    for (uint32_t i = 0; i + 1 < TABLE; i++) {
        const uint32_t other = i + random_below(random, TABLE - i), kept = trial->map[i];
        trial->map[i] = trial->map[other];
        trial->map[other] = kept;
    }
    if (random_chance(random, 30))
        trial->map[0] = trial->map[1];
}

void finish_trial(struct trial *trial)
{
    for (uint32_t i = 0; i < trial->num_devices; i++) {
        enter(trial, i);
        for (int k = 0; k < KERNELS; k++)
            must(cuModuleUnload(trial->modules[i][k]));
    }
    enter(trial, 0);
}
