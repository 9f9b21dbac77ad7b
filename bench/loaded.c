// SPDX-License-Identifier: Apache-2.0
// Frames on the CPU beside other programs: Braid, plain C on one thread, OpenMP, and oneTBB and
// Taskflow where they are installed. Each way is a process of its own, since OpenMP reads its
// policy of waiting once. All others are stopped while one plays. The ways take turns in an order
// of chance, since the way before changes how soon the system lets the next one run.
// bench_loaded [FRAMES [WORK [LOAD]]]
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "loaded.h"
#include "replay.h"

static const struct loaded_way *const ways[] = {
    &loaded_plain,
    &loaded_braid,
    &loaded_braid_streams,
#ifdef LOADED_OPENMP
    &loaded_openmp_passive,
    &loaded_openmp_active,
#endif
#ifdef LOADED_TBB
    &loaded_tbb,
#endif
#ifdef LOADED_TASKFLOW
    &loaded_taskflow,
#endif
};
enum { NUM_WAYS = sizeof(ways) / sizeof(ways[0]), MOST_FRAMES = 1000, WARM_UP = 3 };
enum { PLAIN, BRAID, BRAID_STREAMS };

struct reply {
    uint64_t ns, cpu_ns, result;
};

// ---- the process of a way ----

static int play(const char *way_text, const char *work_text, const char *steps_text)
{
    const struct loaded_way *way = ways[atoi(way_text)];
    struct loaded_work *work =
        loaded_work_create((uint32_t)atoi(work_text), strtoull(steps_text, NULL, 10));
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    void *state = way->create(work);
    char word;
    while (read(STDIN_FILENO, &word, 1) == 1) {
        uint64_t cpu = replay_process_cpu_ns(), begin = replay_now_ns();
        way->play(state);
        struct reply reply = { .ns = replay_now_ns() - begin };
        reply.cpu_ns = replay_process_cpu_ns() - cpu;
        reply.result = loaded_work_result(work);
        if (write(STDOUT_FILENO, &reply, sizeof(reply)) != sizeof(reply))
            return 1;
    }
    return 0;
}

// ---- the bench ----

struct child {
    pid_t process;
    int to, from;
    double ns[MOST_FRAMES], cpu_ns[MOST_FRAMES];
};

static struct child children[NUM_WAYS];

static void end(const char *what)
{
    perror(what);
    loaded_load_stop();
    exit(EXIT_FAILURE);
}

static void start_child(uint32_t way, uint32_t work, uint64_t steps)
{
    int to[2], from[2];
    char texts[3][24];
    snprintf(texts[0], sizeof(texts[0]), "%u", way);
    snprintf(texts[1], sizeof(texts[1]), "%u", work);
    snprintf(texts[2], sizeof(texts[2]), "%llu", (unsigned long long)steps);
    if (pipe(to) || pipe(from))
        end("pipe");
    pid_t process = fork();
    if (process < 0)
        end("fork");
    if (process == 0) {
        if (ways[way]->wait_policy)
            setenv("OMP_WAIT_POLICY", ways[way]->wait_policy, 1);
        dup2(to[0], STDIN_FILENO);
        dup2(from[1], STDOUT_FILENO);
        close(to[1]);
        close(from[0]);
        execl("/proc/self/exe", "bench_loaded", "--play", texts[0], texts[1], texts[2],
              (char *)NULL);
        _exit(1);
    }
    close(to[0]);
    close(from[1]);
    children[way].process = process;
    children[way].to = to[1];
    children[way].from = from[0];
}

static struct reply play_frame(struct child *child)
{
    struct reply reply = { 0 };
    if (kill(child->process, SIGCONT) || write(child->to, "f", 1) != 1 ||
        read(child->from, &reply, sizeof(reply)) != sizeof(reply) || kill(child->process, SIGSTOP))
        end("a way");
    return reply;
}

static void stop_child(struct child *child)
{
    close(child->to);
    close(child->from);
    kill(child->process, SIGKILL);
    waitpid(child->process, NULL, 0);
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, uint32_t num)
{
    qsort(values, num, sizeof(*values), compare);
    return num % 2 ? values[num / 2] : (values[num / 2 - 1] + values[num / 2]) / 2;
}

static void shuffle(uint32_t *turns)
{
    static uint64_t state = 1;
    for (uint32_t i = NUM_WAYS - 1; i > 0; i--) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        uint32_t other = (uint32_t)((state >> 33) % (i + 1)), turn = turns[i];
        turns[i] = turns[other];
        turns[other] = turn;
    }
}

// All ways compute the same, frame by frame.
static void play_round(uint32_t *turns, uint32_t frame)
{
    uint64_t result = 0;
    shuffle(turns);
    for (uint32_t i = 0; i < NUM_WAYS; i++) {
        uint32_t way = turns[i];
        struct reply reply = play_frame(&children[way]);
        children[way].ns[frame] = (double)reply.ns;
        children[way].cpu_ns[frame] = (double)reply.cpu_ns;
        if (i && reply.result != result) {
            fprintf(stderr, "%s computes something else\n", ways[way]->name);
            loaded_load_stop();
            exit(EXIT_FAILURE);
        }
        result = reply.result;
    }
}

static void tell(uint32_t work, uint32_t load, uint32_t num_frames)
{
    double ns[NUM_WAYS], cpu_ns[NUM_WAYS], best = 0;
    for (uint32_t i = 0; i < NUM_WAYS; i++) {
        ns[i] = median(children[i].ns, num_frames);
        cpu_ns[i] = median(children[i].cpu_ns, num_frames);
        best = i && ns[i] >= best ? best : ns[i];
    }
    printf("| %s | %s |", loaded_work_names[work], loaded_load_names[load]);
    for (uint32_t i = 0; i < NUM_WAYS; i++)
        printf(" %.2f |", ns[i] / 1e6);
    printf(" %.2f | %.2f | %.2f |\n", ns[BRAID] / best, ns[BRAID_STREAMS] / best,
           cpu_ns[BRAID] / cpu_ns[PLAIN]);
    fflush(stdout);
}

static void measure(uint32_t work, uint32_t load, uint32_t num_frames, uint64_t steps)
{
    uint32_t turns[NUM_WAYS];
    for (uint32_t i = 0; i < NUM_WAYS; i++) {
        turns[i] = i;
        start_child(i, work, steps);
    }
    loaded_load_start(load);
    for (uint32_t i = 0; i < WARM_UP; i++)
        play_round(turns, 0);
    for (uint32_t i = 0; i < num_frames; i++)
        play_round(turns, i);
    loaded_load_stop();
    for (uint32_t i = 0; i < NUM_WAYS; i++)
        stop_child(&children[i]);
    tell(work, load, num_frames);
}

static bool is_asked_for(const char *const *names, uint32_t index, int argc, char **argv, int at)
{
    return argc <= at || strcmp(names[index], argv[at]) == 0 || strcmp(argv[at], "all") == 0;
}

int main(int argc, char **argv)
{
    if (argc == 5 && strcmp(argv[1], "--play") == 0)
        return play(argv[2], argv[3], argv[4]);
    int num = argc > 1 ? atoi(argv[1]) : 40;
    if (num < 1 || num > MOST_FRAMES)
        num = 40;
    signal(SIGPIPE, SIG_IGN);
    uint64_t steps = loaded_steps_of_10us();
    printf("Milliseconds of a frame, medians of %d. The last three columns: Braid and its streams "
           "beside the "
           "best,\nand Braid's processor time beside plain C's.\n\n"
           "<!-- default: Braid/best | streams/best; by: work | beside -->\n| work | beside |",
           num);
    for (uint32_t i = 0; i < NUM_WAYS; i++)
        printf(" %s |", ways[i]->name);
    printf(" Braid/best | streams/best | processor |\n|---|---|");
    for (uint32_t i = 0; i < NUM_WAYS + 3; i++)
        printf("---:|");
    printf("\n");
    for (uint32_t work = 0; work < loaded_num_works; work++) {
        for (uint32_t load = 0; load < loaded_num_loads; load++) {
            if (is_asked_for(loaded_work_names, work, argc, argv, 2) &&
                is_asked_for(loaded_load_names, load, argc, argv, 3))
                measure(work, load, (uint32_t)num, steps);
        }
    }
    return 0;
}
