// SPDX-License-Identifier: Apache-2.0
// The exec's plan divided into islands, or as one.
#include "exec/exec_islands.h"
#include "exec/exec_plan.h"

#include <string.h>

#include "backends/driver_graph/driver_graph_islands.h"
#include "backends/gpu/gpu_backend.h"
#include "base/array.h"
#include "base/error.h"
#include "base/host_memory.h"
#include "graph/regions.h"
#include "islands/gpu_island.h"
#include "islands/gpu_island_kernel.h"
#include "islands/gpu_island_move.h"
#include "islands/plan_divide.h"

// ---- which tasks can be inside ----

static braid_status fit_call(struct gpu_backend *gpu, const struct backend_task *task,
                             struct island_fit *fit)
{
    struct island_move move;
    const struct gpu_callable *callable;
    const struct backend_launch *launch = braid_island_launch_of(task, ISLAND_LEAST_GROUP, &move);
    braid_dim3 grid = launch->grid, block = launch->block;
    fit->is_move = task->kind != WORK_KERNEL;
    fit->threads = block.x * block.y * block.z;
    fit->blocks = fit->is_move ? braid_island_move_warps(task) : (uint64_t)grid.x * grid.y * grid.z;
    fit->arg_bytes = braid_island_arg_bytes(launch);
    braid_status status = braid_gpu_find_callable(gpu, gpu_kernel_from(launch->kernel), &callable);
    if (status)
        return status;
    fit->why_not = braid_gpu_callable_refuse(callable, launch);
    fit->runs_alone = braid_gpu_callable_shared(callable, launch) > ISLAND_MOST_SHARED;
    return BRAID_OK;
}

// Reads each kernel once. Errors: BRAID_NO_MEMORY, BRAID_DEVICE_ERROR, and as of braid_gpu_compile.
static braid_status fit_tasks(struct gpu_backend *gpu, const struct backend_task *tasks,
                              uint32_t num, struct island_fit *out_fits)
{
    braid_status status = BRAID_OK;
    for (uint32_t i = 0; i < num && !status; i++) {
        const struct backend_task *task = &tasks[i];
        out_fits[i] = (struct island_fit){ .is_empty = task->kind == WORK_EMPTY };
        if (out_fits[i].is_empty)
            continue;
        status = braid_gpu_island_refuse_task(gpu, task, &out_fits[i].why_not);
        if (!out_fits[i].why_not &&
            (task->may_idle || task->varies & ISLAND_SHAPE_TARGETS)) // its length is not known
            out_fits[i].why_not = "a parameter changes its grid or disables it";
        if (!status && !out_fits[i].why_not)
            status = fit_call(gpu, task, &out_fits[i]);
    }
    return status;
}

// ---- shapes of a whole graph's island ----

struct shape {
    struct island_shape base;
    // The room inside for these tasks, all of a graph. Corrects the model by the needs of the
    // tasks. False: another shape is as good for them.
    bool (*get_room)(struct backend *backend, const struct island_fit *fits, uint32_t num,
                     braid_cost_model *model, struct plan_room *out_room);
};

// In an island a node is a call. A lane that is not alone looks for waits and publications. The
// warps of one block see each other's progress in shared memory; lanes of several blocks see it in
// the device's second cache.

enum {
    // From the end of a call to the start of one on another lane that waits for it, in the same
    // block or in another. Measured by bench_gpu_islands.
    LANE_WAIT_NS = 140,
    BLOCK_WAIT_NS = 1200,
    // Fitted to bench_gpu_island_lanes, whose 38 plans of several lanes these predict within 3 %
    // (root mean square). CALL is a call's time beyond that of a chain's call. BUSY is the lane's
    // extra time for a call that waits. LANE is for one block, BLOCK for several.
    LANE_CALL_NS = 36,
    LANE_BUSY_NS = 115,
    BLOCK_CALL_NS = 60,
    BLOCK_BUSY_NS = 500,
    LANES_OF_A_BLOCK = 32,
    MOST_LANES = 128,
};

static void get_model(struct backend *backend, uint32_t num_lanes, bool in_a_block,
                      braid_cost_model *out_model)
{
    const struct gpu_backend *gpu = gpu_from(backend);
    braid_cost_model graph;
    gpu->vendor->graph_cost_model(gpu, &graph);
    *out_model = (braid_cost_model){
        .default_cost_ns = graph.default_cost_ns,
        .node_ns = graph.island_call_ns,
        .wait_ns = in_a_block ? LANE_WAIT_NS : BLOCK_WAIT_NS,
        .root_ns = 20,
        .max_concurrent = num_lanes,
        .island_start_ns = graph.island_start_ns,
        .iteration_ns = PLAN_ITERATION_INSIDE_NS,
    };
    if (num_lanes > 1)
        out_model->node_ns += in_a_block ? LANE_CALL_NS : BLOCK_CALL_NS;
}

static void get_room(struct backend *backend, uint32_t groups, uint64_t wait_busy_ns,
                     struct plan_room *out_room)
{
    const struct gpu_backend *gpu = gpu_from(backend);
    braid_cost_model graph;
    gpu->vendor->graph_cost_model(gpu, &graph);
    *out_room = (struct plan_room){ .groups = groups,
                                    .round_ns = graph.island_round_ns,
                                    .max_threads = graph.max_threads,
                                    .wait_busy_ns = wait_busy_ns };
}

// A chain is one lane, whose block runs several blocks of a call side by side.
static void get_chain_model(struct backend *backend, braid_cost_model *out_model)
{
    get_model(backend, 1, true, out_model);
}

static bool get_chain_room(struct backend *backend, const struct island_fit *fits, uint32_t num,
                           braid_cost_model *model, struct plan_room *out_room)
{
    (void)model;
    get_room(backend, braid_plan_groups_of(fits, num), 0, out_room);
    return true;
}

// Narrow: lanes share one block.
static void get_narrow_model(struct backend *backend, braid_cost_model *out_model)
{
    get_model(backend, LANES_OF_A_BLOCK, true, out_model);
}

// As many lanes as the threads of a block hold. So many leave none for other blocks of a call.
static bool get_narrow_room(struct backend *backend, const struct island_fit *fits, uint32_t num,
                            braid_cost_model *model, struct plan_room *out_room)
{
    get_room(backend, 1, LANE_BUSY_NS, out_room);
    out_room->shares_unit = true;
    model->max_concurrent = braid_plan_groups_of(fits, num);
    return model->max_concurrent > 1;
}

// Wide: lanes are spread over blocks, each with room for the blocks of its calls. Any graph can be
// such an island.
static void get_wide_model(struct backend *backend, braid_cost_model *out_model)
{
    get_model(backend, MOST_LANES, false, out_model);
}

static bool get_wide_room(struct backend *backend, const struct island_fit *fits, uint32_t num,
                          braid_cost_model *model, struct plan_room *out_room)
{
    bool has_blocks = false;
    (void)model;
    for (uint32_t i = 0; i < num && !has_blocks; i++)
        has_blocks = !fits[i].is_empty && fits[i].blocks > 1;
    get_room(backend, has_blocks ? braid_plan_groups_of(fits, num) : 1, BLOCK_BUSY_NS, out_room);
    return true;
}

static const struct shape shapes[] = {
    { { "island of one lane", ISLAND_CLOSE, get_chain_model }, get_chain_room },
    { { "island", ISLAND_CLOSE, get_narrow_model }, get_narrow_room },
    { { "wide island", ISLAND_SPREAD, get_wide_model }, get_wide_room },
};
enum { NUM_SHAPES = sizeof(shapes) / sizeof(shapes[0]) };

// ---- plans ----

static const char what_islands[] = "the islands of an exec";

// Finds which nodes can be inside. The player gets the works of copies and fills as the graph was
// made. Addresses that each frame has of its own are NULL there.
static braid_status find_fits(const braid_exec *exec, struct island_fit **out_fits)
{
    const struct tasks *from = &exec->tasks;
    struct backend_task *tasks = braid_allocate_zeroed(from->num, sizeof(*tasks));
    struct island_fit *fits = braid_allocate_zeroed(from->num, sizeof(*fits));
    braid_status status = tasks && fits ? BRAID_OK : braid_error_no_memory(what_islands);
    for (uint32_t i = 0; i < from->num && !status; i++) {
        tasks[i] = from->items[i];
        if (tasks[i].kind == WORK_COPY || tasks[i].kind == WORK_FILL)
            memcpy(&tasks[i].work, from->slot_bytes[TASK_SLOT_WORKS] + from->offsets[i],
                   sizeof(tasks[i].work));
    }
    if (!status)
        status = fit_tasks(gpu_from(exec->device->backend), tasks, from->num, fits);
    braid_free(tasks);
    if (status)
        braid_free(fits);
    else
        *out_fits = fits;
    return status;
}

// The player knows which tasks can be inside, and the costs of islands.
static braid_status divide(braid_exec *exec, const braid_exec_options *options)
{
    struct island_fit *fits = NULL;
    braid_cost_model model;
    exec->player->get_cost_model(exec->device->backend, &model);
    if (exec->shape || !exec->player->makes_islands || options->islands == BRAID_ISLANDS_NEVER ||
        !model.island_call_ns)
        return BRAID_OK;
    braid_status status = find_fits(exec, &fits);
    if (!status)
        status = braid_plan_divide(exec->schedule, &model, fits,
                                   options->islands == BRAID_ISLANDS_ALWAYS);
    braid_free(fits);
    return status;
}

// As one island of a shape.
static braid_status plan_whole(const braid_exec *exec, const braid_graph *graph,
                               const struct plan_options *plan, const struct shape *shape,
                               struct plan_inside *inside, braid_schedule **out_schedule)
{
    braid_cost_model model;
    shape->base.get_cost_model(exec->device->backend, &model);
    shape->get_room(exec->device->backend, inside->fits, exec->tasks.num, &model, &inside->room);
    struct plan_options options = *plan;
    options.places = NULL;
    options.costs.island_call_ns = 0; // nothing of it is divided further
    return braid_schedule_create_inside(graph, &options, inside, out_schedule);
}

// A plan and the expected time of its frame.
struct prediction {
    braid_schedule *schedule; // NULL: there is none
    uint64_t ns;              // UINT64_MAX: none
    uint64_t most_ns;         // a longer one is of no use
};

// Ends an attempt to plan. The plan that is made in earnest says why a graph is refused. Without
// memory another way would seem shorter.
static braid_status end_plan(const struct error_attempt *attempt, braid_status status)
{
    status = status == BRAID_NO_MEMORY ? status : BRAID_OK;
    braid_error_end_attempt(attempt, status);
    return status;
}

// The expected time of a frame with the plan of the exec's player; UINT64_MAX if the graph is
// refused. Errors: BRAID_NO_MEMORY.
static braid_status predict_plain(const braid_exec *exec, const braid_graph *graph,
                                  const braid_exec_options *options, uint64_t *out_ns)
{
    struct plan_options plan = braid_exec_plan_options(options);
    braid_schedule *schedule = NULL;
    struct error_attempt attempt;
    exec->player->get_cost_model(exec->device->backend, &plan.costs);
    braid_error_begin_attempt(&attempt);
    braid_status status = braid_schedule_plan(graph, &plan, &schedule);
    *out_ns = status ? UINT64_MAX : schedule->info.expected_ns;
    braid_schedule_destroy(schedule);
    return end_plan(&attempt, status);
}

// Plans the graph as an island of a shape on up to `max_lanes` lanes; 0: as many as pay.
static braid_status plan_shape(const braid_exec *exec, const braid_graph *graph,
                               const struct shape *shape, struct plan_options *plan,
                               struct plan_inside *inside, uint32_t max_lanes,
                               braid_schedule **out_schedule)
{
    struct error_attempt attempt;
    const uint32_t own = plan->max_lanes;
    plan->max_lanes = max_lanes;
    braid_error_begin_attempt(&attempt);
    braid_status status = plan_whole(exec, graph, plan, shape, inside, out_schedule);
    plan->max_lanes = own;
    return end_plan(&attempt, status);
}

// By over one part in a hundred: less is not worth a search for a plan.
static bool is_shorter(uint64_t ns, uint64_t than_ns)
{
    return ns < than_ns - than_ns / 100;
}

// Takes the plan as an island of a shape if that is shorter than the one at hand. A plan with more
// lanes than the shape's costs allow for is not taken. A plan on one lane takes next to no time to
// make, and has the longest path, which no number of lanes makes shorter. Errors: BRAID_NO_MEMORY.
static braid_status predict(const braid_exec *exec, const braid_graph *graph,
                            const braid_exec_options *options, const struct shape *shape,
                            const struct island_fit *fits, struct prediction *best, bool *out_is)
{
    struct backend *backend = exec->device->backend;
    struct plan_options plan = braid_exec_plan_options(options);
    struct plan_inside inside = { .fits = fits };
    braid_schedule *schedule = NULL;
    *out_is = false;
    shape->base.get_cost_model(backend, &plan.costs);
    if (!shape->get_room(backend, fits, exec->tasks.num, &plan.costs, &inside.room))
        return BRAID_OK;
    const uint64_t start_ns = plan.costs.island_start_ns;
    braid_status status = plan_shape(exec, graph, shape, &plan, &inside, 1, &schedule);
    const uint64_t least_ns = schedule ? schedule->info.critical_path_ns + start_ns : UINT64_MAX;
    bool may_be = is_shorter(least_ns, best->ns) && least_ns <= best->most_ns;
    braid_schedule_destroy(schedule);
    schedule = NULL;
    if (!status && may_be)
        status = plan_shape(exec, graph, shape, &plan, &inside, plan.max_lanes, &schedule);
    if (schedule && schedule->info.num_lanes <= plan.costs.max_concurrent &&
        schedule->info.expected_ns + start_ns < best->ns) {
        braid_schedule_destroy(best->schedule);
        best->schedule = schedule;
        best->ns = schedule->info.expected_ns + start_ns;
        *out_is = true;
    } else {
        braid_schedule_destroy(schedule);
    }
    return status;
}

// The shape whose plan is shortest; where none has costed it, the last one, which takes any. The
// plan is the caller's, also where it fails. No plan that takes more than most_ns is looked for.
static braid_status find_best(const braid_exec *exec, const braid_graph *graph,
                              const braid_exec_options *options, const struct island_fit *fits,
                              uint64_t most_ns, const struct shape **out_best,
                              struct prediction *out_plan)
{
    *out_best = &shapes[NUM_SHAPES - 1];
    *out_plan = (struct prediction){ NULL, UINT64_MAX, most_ns };
    for (int i = 0; i < NUM_SHAPES; i++) {
        bool is_best;
        braid_status status = predict(exec, graph, options, &shapes[i], fits, out_plan, &is_best);
        if (status)
            return status;
        if (is_best)
            *out_best = &shapes[i];
    }
    return BRAID_OK;
}

// All of it can be inside, and how long it takes there can be told.
static bool are_known(const struct braid_exec *exec, const braid_graph *graph,
                      const braid_exec_options *options, const struct island_fit *fits)
{
    // More have no room, or hardly any: they are not worth planning.
    enum { MOST_NODES = 16384, MOST_ARG_BYTES = 256 << 10 };
    uint64_t arg_bytes = 0;
    if (exec->tasks.num == 0 || exec->tasks.num > MOST_NODES || options->ignore_costs)
        return false;
    for (uint32_t i = 0; i < exec->tasks.num; i++) {
        if (!fits[i].is_empty && (fits[i].why_not || graph_nodes(graph)[i].cost_ns == 0))
            return false;
        arg_bytes += fits[i].is_empty ? 0 : fits[i].arg_bytes;
    }
    return arg_bytes <= MOST_ARG_BYTES;
}

// By how much the frame must be shorter, of 100. Launching a graph of many nodes takes the host two
// to four times as long as launching an island, so there less will do.
static uint64_t find_least_gain(const braid_exec *exec)
{
    enum { MANY_NODES = 256 };
    return exec->tasks.num >= MANY_NODES ? 1 : 3;
}

// One island, if it is expected to be clearly shorter than the other ways.
static braid_status find_shorter(const braid_exec *exec, const braid_graph *graph,
                                 const braid_exec_options *options, const struct island_fit *fits,
                                 const struct shape **out_shape, struct prediction *out_plan)
{
    const struct shape *shape = NULL;
    uint64_t ns = UINT64_MAX;
    if (!are_known(exec, graph, options, fits))
        return BRAID_OK;
    braid_status status = predict_plain(exec, graph, options, &ns);
    if (!status)
        status = find_best(exec, graph, options, fits, ns - ns / 100 * find_least_gain(exec),
                           &shape, out_plan);
    if (!status && out_plan->ns < ns && out_plan->ns <= out_plan->most_ns)
        *out_shape = shape;
    return status;
}

// Plans the exec as one island of a shape, if the program gave no schedule. The plan at hand is for
// the shape's own costs, and may be taken.
static braid_status plan_as_one(braid_exec *exec, const braid_graph *graph,
                                const braid_exec_options *options, const struct shape *shape,
                                const struct island_fit *fits, struct prediction *at_hand)
{
    struct plan_inside inside = { .fits = fits };
    struct backend *backend = exec->device->backend;
    braid_cost_model model;
    exec->shape = &shape->base;
    shape->base.get_cost_model(backend, &model);
    exec->has_lone_calls = shape->get_room(backend, fits, exec->tasks.num, &model, &inside.room) &&
                           plan_room_is_lone(&inside.room);
    if (options->schedule)
        return BRAID_OK;
    struct plan_options plan = braid_exec_plan_options(options);
    if (!options->costs) {
        plan.costs = model;
        exec->schedule = at_hand->schedule;
        at_hand->schedule = NULL;
        if (exec->schedule)
            return BRAID_OK;
    }
    return plan_whole(exec, graph, &plan, shape, &inside, &exec->schedule);
}

static braid_status choose(braid_exec *exec, const braid_graph *graph,
                           const braid_exec_options *options)
{
    bool must = options->islands == BRAID_ISLANDS_WHOLE;
    const struct shape *shape = NULL;
    struct island_fit *fits = NULL;
    struct prediction at_hand = { NULL, UINT64_MAX, UINT64_MAX };
    if (!must && (options->islands != BRAID_ISLANDS_AUTO || options->schedule || exec->placed ||
                  options->mode == BRAID_MODE_STREAMS))
        return BRAID_OK;
    braid_status status = must ? braid_graph_refuse_regions(graph, "an island") : BRAID_OK;
    if (!status)
        status = find_fits(exec, &fits);
    if (!status && must)
        status = find_best(exec, graph, options, fits, UINT64_MAX, &shape, &at_hand);
    else if (!status)
        status = find_shorter(exec, graph, options, fits, &shape, &at_hand);
    if (!status && shape)
        status = plan_as_one(exec, graph, options, shape, fits, &at_hand);
    braid_schedule_destroy(at_hand.schedule);
    braid_free(fits);
    return status;
}

static const struct exec_islands islands = { .choose = choose, .divide = divide };
const struct exec_islands *const braid_exec_islands = &islands;
