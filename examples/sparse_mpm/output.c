// SPDX-License-Identifier: Apache-2.0
// Writes the plan and the picture.
#include "output.h"

#include <errno.h>
#include <spawn.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "../check.h"
#include "picture.h"

extern char **environ;

static void stop(const char *what, const char *path)
{
    fprintf(stderr, "sparse_mpm: %s %s: %s\n", what, path, strerror(errno));
    exit(EXIT_FAILURE);
}

void mpm_output_make_folder(const char *folder)
{
    char path[4096];
    if (snprintf(path, sizeof(path), "%s/", folder) >= (int)sizeof(path))
        stop("cannot make", folder);
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(path, 0777) != 0 && errno != EEXIST)
            stop("cannot make", path);
        *slash = '/';
    }
}

static void file_path(const char *folder, const char *name, char *out_path, size_t size)
{
    if (snprintf(out_path, size, "%s/%s", folder, name) >= (int)size)
        stop("name too long:", folder);
}

// Runs `dot` without a shell, so that any folder name is fine.
static bool run_dot(const char *from, const char *to)
{
    char output[4200];
    snprintf(output, sizeof(output), "-o%s", to);
    char *const arguments[] = { "dot", "-Tsvg", output, (char *)(size_t)from, NULL };
    pid_t child;
    int status;
    if (posix_spawnp(&child, "dot", NULL, NULL, arguments, environ) != 0)
        return false;
    return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

void mpm_output_schedule(const char *folder, const braid_schedule *schedule)
{
    char dot[4096], svg[4096];
    file_path(folder, "schedule.dot", dot, sizeof(dot));
    file_path(folder, "schedule.svg", svg, sizeof(svg));
    FILE *file = fopen(dot, "w");
    if (!file)
        stop("cannot write", dot);
    braid_status status = braid_schedule_write(schedule, BRAID_DRAWING_DOT, NULL, file);
    if (fclose(file) != 0)
        stop("cannot write", dot);
    if (status == BRAID_UNSUPPORTED) { // Braid was built without reports
        printf("no plan:   %s\n", braid_error_get_message());
        remove(dot);
        return;
    }
    CHECK(status);
    printf("wrote      %s\n", dot);
    if (run_dot(dot, svg))
        printf("wrote      %s\n", svg);
    else
        printf("no SVG:    Graphviz' dot is not installed, or failed\n");
}

#ifdef MPM_HAVE_PNG
void mpm_output_picture(const char *folder, const struct mpm_world *world)
{
    char path[4096];
    struct mpm_state state;
    struct mpm_picture picture;
    file_path(folder, "splash.png", path, sizeof(path));
    mpm_world_read(world, &state);
    mpm_picture_draw(&picture, world->scene, state.particles, state.foam);
    if (!mpm_picture_write(&picture, path))
        stop("cannot write", path);
    mpm_picture_finish(&picture);
    mpm_state_finish(&state);
    printf("wrote      %s\n", path);
}
#else
void mpm_output_picture(const char *folder, const struct mpm_world *world)
{
    (void)folder;
    (void)world;
    printf("no picture: built without libpng\n");
}
#endif
