// SPDX-License-Identifier: Apache-2.0
// Conjugate gradients until the residual is small. The loop is in the graph: the host launches one
// frame, and learns afterwards how many iterations it took. A loop of the host, which launches the
// body and reads the condition after each iteration, solves the same for comparison.
#include <math.h>
#include <string.h>
#include <time.h>

#include "../check.h"
#include "system.h"

static const double zeros[NUM];
static double right[NUM], x[NUM], plain[NUM];
static struct scalars scalars;

static void start(const struct system *system)
{
    for (int i = 0; i < NUM; i++) {
        bool is_inside = i % STEP % (STEP - 1) && i >= STEP && i < NUM - STEP;
        right[i] = is_inside ? sin(i) : 0;
    }
    scalars.square = dot(right, right), scalars.least = 1e-12 * scalars.square;
    put(system, X, zeros);
    put(system, IMAGE, zeros);
    put(system, RESIDUAL, right);
    put(system, DIRECTION, right);
    put(system, SCALARS, &scalars);
    CHECK(braid_stream_wait(braid_device_get_default_stream(system->device)));
}

static uint64_t solve_by_graph(const struct system *system)
{
    uint64_t num;
    CHECK(braid_exec_launch(system->exec, NULL)); // one frame, however many iterations
    CHECK(braid_exec_wait(system->exec));
    CHECK(braid_exec_get_iterations(system->exec, system->loop, &num));
    return num;
}

static uint64_t solve_from_host(const struct system *system)
{
    uint64_t num = 0;
    uint32_t left;
    do {
        CHECK(braid_exec_launch(system->exec, NULL));
        get(system, LEFT, &left);
        num++;
    } while (left && num < MOST);
    return num;
}

// The time of the second run, in which nothing is new to the device.
static double measure(const struct system *system, uint64_t (*solve)(const struct system *system),
                      uint64_t *out_num)
{
    struct timespec begin, end;
    for (int i = 0; i < 2; i++) {
        start(system);
        clock_gettime(CLOCK_MONOTONIC, &begin);
        *out_num = solve(system);
        clock_gettime(CLOCK_MONOTONIC, &end);
    }
    double us =
        1e6 * (double)(end.tv_sec - begin.tv_sec) + 1e-3 * (double)(end.tv_nsec - begin.tv_nsec);
    return us / (double)*out_num;
}

// Sums are in another order on a GPU, where the last iteration may be one sooner or later.
static bool is_right(uint64_t num, uint64_t num_plain, bool is_cpu)
{
    double worst = 0, most = is_cpu ? 1e-9 : 1e-4;
    uint64_t apart = num > num_plain ? num - num_plain : num_plain - num;
    for (int i = 0; i < NUM; i++)
        worst = fmax(worst, fabs(x[i] - plain[i]));
    printf("%d unknowns: %llu iterations, %llu without a graph, which differs by %g at most\n",
           SIDE * SIDE, (unsigned long long)num, (unsigned long long)num_plain, worst);
    return apart <= !is_cpu && num < MOST && worst < most;
}

int main(int argc, char **argv)
{
    const char *backend = "cpu";
    struct system system = { 0 };
    if (argc > 2 && strcmp(argv[1], "--device") == 0) {
        backend = argv[2];
        argv[2] = argv[0]; // the rest is read as without the option
        argv += 2;
        argc -= 2;
    }
    check_arguments(argc, argv, 1, "[--device BACKEND] [PICTURE]");
    CHECK(braid_device_open(&(braid_device_options){ .backend = backend }, &system.device));
    allocate_buffers(&system);
    struct system alone = system;
    make_exec(&system, true);
    make_exec(&alone, false);
    write_picture(braid_exec_get_schedule(system.exec), argc > 1 ? argv[1] : NULL);

    uint64_t num_alone, num;
    double alone_us = measure(&alone, solve_from_host, &num_alone);
    double us = measure(&system, solve_by_graph, &num);
    get(&system, X, x);
    bool done = is_right(num, solve_plainly(right, plain, MOST), strcmp(backend, "cpu") == 0);
    printf("%.1f us an iteration; %.1f if the host launches each and reads the condition\n", us,
           alone_us);

    braid_exec_destroy(system.exec);
    braid_exec_destroy(alone.exec);
    free_buffers(&system);
    braid_device_close(system.device);
    return done && num == num_alone ? EXIT_SUCCESS : EXIT_FAILURE;
}
