// SPDX-License-Identifier: Apache-2.0
// braid record: runs a program with a recorder before its CUDA driver, and tells what it recorded.
#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <braid/braid.h>
#include <braid/record.h>

#include "arguments.h"
#include "commands.h"
#include "output.h"

static const char help[] =
    "usage: braid record [options] -- PROGRAM ...\n"
    "\n"
    "Runs a CUDA program, and writes down what some frames of it hand to the driver: launches,\n"
    "copies, fills, events, graphs, and the code and memory of the kernels. A frame is a part\n"
    "of the launches that repeats, or what stands between two marks of the program.\n"
    "\n"
    "  --out FILE        the record (default: braid.braidrec)\n"
    "  --from N          leave out N frames first (default: 1)\n"
    "  --frames K        record K frames (default: 2)\n"
    "  --marks           frames are those that the program marks; nothing is noted before\n"
    "  --frames-by-range NAME  frames are the ranges of NVTX with that name, as with --marks\n"
    "  --memory WHEN:N   begin: keep the memory of the program where the last frame begins, for\n"
    "                    'braid run'; over N bytes, none; with --marks. end: keep the first N\n"
    "                    bytes of each allocation, as they are in the end\n"
    "  --times           measure when work runs on the device, by events beside it; with --marks\n"
    "  --copy-bytes N    keep the bytes of copies from the host up to N (default: 1048576)\n"
    "  --help            print this text\n";

enum { PATH_BYTES = 4096 };

struct options {
    const char *out, *range;
    uint64_t from, frames, copy_bytes;
    struct kept {
        uint64_t begin, end;
    } kept;
    bool by_marks, has_times;
};

static enum exit_status read_kept(char *text, void *place)
{
    struct kept *kept = place;
    if (strncmp(text, "begin:", 6) == 0)
        return argument_read_number("--memory begin:N", text + 6, 1, UINT64_MAX, &kept->begin);
    if (strncmp(text, "end:", 4) == 0)
        return argument_read_number("--memory end:N", text + 4, 1, UINT64_MAX, &kept->end);
    return fail(EXIT_BAD_FILE, "--memory takes begin:N or end:N, with N bytes, and not '%s'", text);
}

// ---- where the libraries are ----

// A link to the recorder leads to it from any folder.
static bool find_file(const char *name, char *path)
{
    char *found = realpath(name, NULL);
    const bool is_file = found && access(found, R_OK) == 0;
    if (is_file)
        snprintf(path, PATH_BYTES, "%s", found);
    free(found);
    return is_file;
}

static enum exit_status find_recorder(char *path)
{
    static const char *const beside[] = { "libbraid_record.so", "braid/libbraid_record.so" };
    const char *given = secure_getenv("BRAID_RECORDER");
    char name[PATH_BYTES];
    Dl_info library;
    if (given && *given)
        return find_file(given, path)
                   ? EXIT_DONE
                   : fail(EXIT_FAILED, "there is no recorder '%s': %s", given, strerror(errno));
    if (dladdr((const void *)(uintptr_t)braid_get_version, &library) != 0 &&
        strrchr(library.dli_fname, '/')) {
        const int length = (int)(strrchr(library.dli_fname, '/') - library.dli_fname) + 1;
        for (int i = 0; i < 2; i++) {
            snprintf(name, sizeof(name), "%.*s%s", length, library.dli_fname, beside[i]);
            if (find_file(name, path))
                return EXIT_DONE;
        }
    }
    return find_file(BRAID_RECORDER, path)
               ? EXIT_DONE
               : fail(EXIT_FAILED, "there is no recorder '%s'", BRAID_RECORDER);
}

// The driver that the program would get.
static enum exit_status find_driver(char *path)
{
    struct link_map *map = NULL;
    void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
    if (!driver)
        return fail(EXIT_FAILED, "there is no CUDA driver: %s", dlerror());
    if (dlinfo(driver, RTLD_DI_LINKMAP, (void *)&map) != 0 || !map)
        return fail(EXIT_FAILED, "the CUDA driver has no path");
    snprintf(path, PATH_BYTES, "%s", map->l_name);
    return EXIT_DONE;
}

// ---- the program ----

static void set_number(const char *name, uint64_t number)
{
    char text[32];
    snprintf(text, sizeof(text), "%" PRIu64, number);
    setenv(name, text, 1);
}

static void set_environment(const struct options *options, const char *folder, const char *driver)
{
    char path[2 * PATH_BYTES];
    const char *before = secure_getenv("LD_LIBRARY_PATH");
    snprintf(path, sizeof(path), "%s%s%s", folder, before && *before ? ":" : "",
             before ? before : "");
    setenv("LD_LIBRARY_PATH", path, 1);
    setenv("BRAID_RECORD_REAL", driver, 1);
    setenv("BRAID_RECORD_BY", options->by_marks ? "marks" : "launches", 1);
    if (options->range)
        setenv("BRAID_RECORD_RANGE", options->range, 1);
    set_number("BRAID_RECORD_FROM", options->from);
    set_number("BRAID_RECORD_FRAMES", options->frames);
    set_number("BRAID_RECORD_BYTES", options->copy_bytes);
    set_number("BRAID_RECORD_MEMORY_AT_BEGIN", options->kept.begin);
    set_number("BRAID_RECORD_MEMORY_AT_END", options->kept.end);
    set_number("BRAID_RECORD_TIMES", options->has_times);
}

// The program may go to another folder before it ends.
static void set_file(const char *out)
{
    char folder[PATH_BYTES], path[2 * PATH_BYTES];
    if (*out == '/' || !getcwd(folder, sizeof(folder)))
        snprintf(path, sizeof(path), "%s", out);
    else
        snprintf(path, sizeof(path), "%s/%s", folder, out);
    setenv("BRAID_RECORD_FILE", path, 1);
}

static enum exit_status run_program(char **program)
{
    int status = 0;
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        execvp(program[0], program);
        fprintf(stderr, "braid: '%s': %s\n", program[0], strerror(errno));
        _exit(127);
    }
    if (child < 0)
        return fail(EXIT_FAILED, "no process for '%s': %s", program[0], strerror(errno));
    // Ctrl-C is the program's: it may end in order, and its record be written.
    signal(SIGINT, SIG_IGN);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    signal(SIGINT, SIG_DFL);
    if (WIFSIGNALED(status))
        return fail(EXIT_FAILED, "'%s' ended by signal %d", program[0], WTERMSIG(status));
    if (WEXITSTATUS(status) != 0)
        return fail(EXIT_FAILED, "'%s' ended with status %d", program[0], WEXITSTATUS(status));
    return EXIT_DONE;
}

// A folder in which the recorder has the names of the driver.
static enum exit_status run_recorded(const struct options *options, char **program)
{
    static const char *const names[] = { "libcuda.so.1", "libcuda.so" };
    char recorder[PATH_BYTES], driver[PATH_BYTES], folder[PATH_BYTES], links[2][PATH_BYTES + 16];
    const char *where = secure_getenv("TMPDIR");
    enum exit_status status = find_recorder(recorder);
    if (status == EXIT_DONE)
        status = find_driver(driver);
    if (status != EXIT_DONE)
        return status;
    snprintf(folder, sizeof(folder), "%s/braid-record-XXXXXX", where && *where ? where : "/tmp");
    if (!mkdtemp(folder))
        return fail(EXIT_FAILED, "no folder '%s': %s", folder, strerror(errno));
    for (int i = 0; i < 2; i++) {
        snprintf(links[i], sizeof(links[i]), "%s/%s", folder, names[i]);
        if (symlink(recorder, links[i]) != 0)
            status = fail(EXIT_FAILED, "'%s': %s", links[i], strerror(errno));
    }
    if (status == EXIT_DONE) {
        set_environment(options, folder, driver);
        set_file(options->out);
        if (options->range)
            setenv("NVTX_INJECTION64_PATH", links[0], 1);
        status = run_program(program);
    }
    for (int i = 0; i < 2; i++)
        unlink(links[i]);
    rmdir(folder);
    return status;
}

// ---- what was recorded ----

static void print_record(const char *path, const braid_record_contents *contents)
{
    uint32_t launches = 0, graphs = 0, copies = 0;
    for (uint32_t i = 0; i < contents->num_operations; i++) {
        const braid_record_work_kind kind = contents->operations[i].work.kind;
        launches += kind == BRAID_RECORD_KERNEL;
        graphs += kind == BRAID_RECORD_GRAPH;
        copies += kind == BRAID_RECORD_COPY || kind == BRAID_RECORD_FILL;
    }
    printf("%s: %" PRIu32 " frame%s, %" PRIu32 " operation%s\n", path, contents->num_frames,
           output_plural(contents->num_frames), contents->num_operations,
           output_plural(contents->num_operations));
    printf("  %" PRIu32 " launch%s of kernels, %" PRIu32 " of graphs, %" PRIu32
           " copies and fills, %" PRIu32 " stream%s\n",
           launches, launches == 1 ? "" : "es", graphs, copies, contents->num_streams,
           output_plural(contents->num_streams));
    for (uint32_t i = 0; i < contents->num_frames; i++)
        printf("  frame %" PRIu32 ": %" PRIu32 " operation%s\n", i,
               contents->frames[i].num_operations,
               output_plural(contents->frames[i].num_operations));
    if (contents->num_frames == 0)
        printf("  no part of the launches repeats: all operations are in the record\n");
    uint64_t bytes = 0;
    uint32_t num = 0;
    for (uint32_t i = 0; i < contents->num_memory; i++) {
        num += !contents->memory[i].is_of_end;
        bytes += contents->memory[i].is_of_end ? 0 : contents->memory[i].num_bytes;
    }
    if (num > 0)
        printf("  memory of the last frame: %" PRIu32 " block%s with %" PRIu64 " bytes\n", num,
               output_plural(num), bytes);
    for (uint32_t i = 0; i < contents->num_strangers; i++)
        printf("  not understood: %s, %" PRIu64 " call%s\n", contents->strangers[i].name,
               contents->strangers[i].num_calls, output_plural(contents->strangers[i].num_calls));
}

static enum exit_status tell(const char *path)
{
    braid_record *record;
    if (access(path, F_OK) != 0)
        return fail(EXIT_FAILED, "no record was written: the program did no work through the "
                                 "recorder, or reached no frame");
    if (braid_record_load(path, &record))
        return fail_in_library();
    print_record(path, braid_record_get_contents(record));
    braid_record_destroy(record);
    return EXIT_DONE;
}

enum exit_status command_record(int argc, char **argv)
{
    static const struct argument known_options[] = {
        ARGUMENT_TEXT("out", struct options, out),
        ARGUMENT_NUMBER("from", struct options, from, 0, UINT32_MAX),
        ARGUMENT_NUMBER("frames", struct options, frames, 1, UINT32_MAX),
        ARGUMENT_NUMBER("copy-bytes", struct options, copy_bytes, 0, UINT32_MAX),
        ARGUMENT_READ("memory", struct options, kept, read_kept),
        ARGUMENT_FLAG("times", struct options, has_times),
        ARGUMENT_TEXT("frames-by-range", struct options, range),
        ARGUMENT_FLAG("marks", struct options, by_marks),
        { .name = NULL },
    };
    struct options options = {
        .out = "braid.braidrec", .from = 1, .frames = 2, .copy_bytes = 1 << 20
    };
    bool is_help;
    enum exit_status status =
        arguments_read("record", help, argc, argv, known_options, &options, &is_help);
    if (status != EXIT_DONE || is_help)
        return status;
    options.by_marks = options.by_marks || options.range;
    if ((options.kept.begin || options.has_times) && !options.by_marks)
        return fail(EXIT_BAD_FILE, "%s needs --marks: nobody knows otherwise where a frame begins",
                    options.kept.begin ? "--memory begin:N" : "--times");
    if (optind == argc)
        return fail(EXIT_BAD_FILE, "which program? braid record -- PROGRAM ...");
    if (unlink(options.out) != 0 && errno != ENOENT)
        return fail(EXIT_FAILED, "'%s': %s", options.out, strerror(errno));
    status = run_recorded(&options, argv + optind);
    const enum exit_status told =
        status == EXIT_DONE || access(options.out, F_OK) == 0 ? tell(options.out) : status;
    return status == EXIT_DONE ? told : status;
}
