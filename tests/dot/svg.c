// SPDX-License-Identifier: Apache-2.0
// Hands drawings to Graphviz and gives back what it made of them.
#include "dot/svg.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

// Runs a program to its end with its output and errors in files; true if its exit status was 0.
static bool run(char *const *arguments, const char *output, const char *errors)
{
    posix_spawn_file_actions_t actions;
    pid_t child;
    int status = -1;
    if (posix_spawn_file_actions_init(&actions) != 0)
        return false;
    int flags = O_WRONLY | O_CREAT | O_TRUNC;
    bool started = posix_spawn_file_actions_addopen(&actions, 1, output, flags, 0600) == 0 &&
                   posix_spawn_file_actions_addopen(&actions, 2, errors, flags, 0600) == 0 &&
                   posix_spawnp(&child, arguments[0], &actions, NULL, arguments, environ) == 0;
    posix_spawn_file_actions_destroy(&actions);
    if (!started || waitpid(child, &status, 0) < 0)
        return false;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool svg_can_render(void)
{
    char *const arguments[] = { "dot", "-V", NULL };
    return run(arguments, "/dev/null", "/dev/null");
}

static char *read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return NULL;
    char *text = NULL;
    size_t length = 0;
    FILE *copy = open_memstream(&text, &length);
    for (int c = 0; copy && (c = getc(file)) != EOF;)
        putc(c, copy);
    if (copy)
        fclose(copy);
    fclose(file);
    return text;
}

static bool write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "wb");
    if (!file)
        return false;
    bool done = fputs(text, file) >= 0;
    return fclose(file) == 0 && done;
}

char *svg_render(const char *drawing)
{
    char folder[] = "/tmp/braid-dot-XXXXXX";
    if (!mkdtemp(folder))
        return NULL;
    char input[64], output[64], errors[64];
    snprintf(input, sizeof(input), "%s/in.dot", folder);
    snprintf(output, sizeof(output), "%s/out.svg", folder);
    snprintf(errors, sizeof(errors), "%s/errors", folder);
    char *const arguments[] = { "dot", "-Tsvg", input, NULL };
    char *svg = NULL;
    bool done = write_file(input, drawing) && run(arguments, output, errors);
    char *complaints = read_file(errors);
    if (complaints && *complaints)
        fprintf(stderr, "dot says: %s\n", complaints);
    if (done && complaints && !*complaints)
        svg = read_file(output);
    free(complaints);
    unlink(input);
    unlink(output);
    unlink(errors);
    rmdir(folder);
    return svg;
}

char *svg_escape(const char *text)
{
    char *escaped = NULL;
    size_t length = 0;
    FILE *file = open_memstream(&escaped, &length);
    for (const char *next = text; file && *next; next++) {
        switch (*next) {
        case '&':
            fputs("&amp;", file);
            break;
        case '<':
            fputs("&lt;", file);
            break;
        case '>':
            fputs("&gt;", file);
            break;
        case '"':
            fputs("&quot;", file);
            break;
        case '\'':
            fputs("&#39;", file);
            break;
        case '-':
            fputs("&#45;", file);
            break;
        default:
            putc(*next, file);
        }
    }
    if (file)
        fclose(file);
    return escaped;
}
