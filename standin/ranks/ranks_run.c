// SPDX-License-Identifier: Apache-2.0
// ranks_run NUM PROGRAM [ARGUMENT...]: starts ranks over the stand-in. It fails where one of them
// does, but for one that is killed: the others have to cope.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "standin/ranks/ranks_shared.h"

static struct ranks_shared *create(int file, uint32_t num)
{
    if (file < 0 || ftruncate(file, sizeof(struct ranks_shared)))
        return NULL;
    struct ranks_shared *shared =
        mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (shared == MAP_FAILED)
        return NULL;
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&shared->lock, &attributes);
    pthread_mutexattr_destroy(&attributes);
    shared->num = num;
    return shared;
}

static pid_t start(int file, uint32_t rank, char **command)
{
    char place[32];
    pid_t child = fork();
    if (child)
        return child;
    snprintf(place, sizeof(place), "%d %u", file, rank);
    setenv("BRAID_STANDIN_RANKS", place, 1);
    execvp(command[0], command);
    perror(command[0]);
    _exit(127);
}

int main(int argc, char **argv)
{
    unsigned long num = argc > 2 ? strtoul(argv[1], NULL, 10) : 0;
    if (num < 1 || num > RANKS_MOST) {
        fprintf(stderr, "usage: ranks_run NUM PROGRAM [ARGUMENT...]\n");
        return 2;
    }
    int file = memfd_create("ranks", 0);
    if (!create(file, (uint32_t)num)) {
        perror("ranks_run: shared memory");
        return EXIT_FAILURE;
    }
    for (uint32_t i = 0; i < num; i++) {
        if (start(file, i, argv + 2) < 0)
            return EXIT_FAILURE;
    }
    int status, failed = 0;
    while (wait(&status) > 0)
        failed |= WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status) != SIGKILL;
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
