// SPDX-License-Identifier: Apache-2.0
// Compiling CUDA C, which is also HIP C++, at load time through NVRTC or hiprtc. Outputs are kept
// on disk.
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "backends/gpu/gpu_backend.h"
#include "backends/gpu/gpu_disk_cache.h"
#include "base/array.h"
#include "base/error.h"
#include "base/error_details.h"
#include "base/host_memory.h"

// The target of a compilation: a device's own code, or text that the driver compiles further.
struct gpu_target {
    char option[96];
    bool text;
};

// All that the result of a compilation depends on.
struct gpu_code_inputs {
    const char *compiler; // which one it is, and which version; "": not known
    const char *option, *name, *source;
    const struct gpu_build *build;
    bool is_text; // the result is text, which no driver and no device has a part in
};

// Its key in a disk cache.
struct gpu_code_key {
    char *bytes; // NULL: it has none, and is neither looked for nor kept
    size_t num;
};

// ---- which files a compilation may read besides its source ----

// No run-time compiler lists them. So they come from every #include in the source, in headers given
// as text and in files so found, even if the preprocessor skips it. A name stands for each file
// that it may mean, in each folder that the compiler looks in.

enum { MOST_FILES = 4096, MOST_FILE_BYTES = 16 << 20 };

struct reads {
    FILE *key;
    const struct gpu_build *build;
    struct array folders; // const char *, where names are looked for
    struct array paths;   // char *, of files that were found
    bool knows_own, failed;
    const char *reason;
};

// Writes a part of a key that may hold anything: behind its length, so that no two keys read alike.
static void put_part(FILE *key, const char *what, const char *value)
{
    fprintf(key, "%s %zu %s\n", what, strlen(value), value);
}

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

// ---- options ----

static void add_folder(struct reads *reads, const char *folder)
{
    const char **slot = braid_array_append(&reads->folders, 1, sizeof(*slot));
    reads->failed |= !slot;
    if (slot)
        *slot = folder;
}

// The beginnings of options that name no file.
static bool names_no_file(const char *option)
{
    static const char *const known[] = {
        "-D",
        "--define-macro",
        "-U",
        "--undefine-macro",
        "-std",
        "--std",
        "-O",
        "-use_fast_math",
        "-G",
        "--use_fast_math",
        "-lineinfo",
        "--generate-line-info",
        "-ftz",
        "--device-debug",
        "-maxrregcount",
        "--maxrregcount",
        "--ftz",
        "-prec-",
        "--prec-",
        "-fmad",
        "--fmad",
        "-w",
        "-W",
        "--disable-warnings",
        "-restrict",
        "--restrict",
        "--device-as-default-execution-space",
        "-dopt",
        "--dopt",
        "-default-device",
        "--extra-device-vectorization",
        "-rdc",
        "--relocatable-device-code",
        "--diag-",
        "-diag-",
        "-ffast-math",
        "-fno-",
        "-munsafe-fp-atomics",
        "-ffp-contract",
    };
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (begins(option, known[i]))
            return true;
    }
    return option[0] != '-' && option[0] != '@'; // the value of the one before
}

static void read_options(struct reads *reads)
{
    static const char *const folder[] = { "-I", "--include-path=", "--include-path" };
    const struct gpu_build *build = reads->build;
    for (size_t i = 0; i < build->num_options && !reads->reason; i++) {
        const char *option = build->options[i], *value = NULL;
        put_part(reads->key, "option", option);
        for (size_t j = 0; j < 3 && !value; j++)
            value = begins(option, folder[j]) ? option + strlen(folder[j]) : NULL;
        if (value && !*value && i + 1 < build->num_options) {
            value = build->options[++i];
            put_part(reads->key, "option", value);
        }
        if (value)
            add_folder(reads, value);
        else if (!names_no_file(option))
            reads->reason = "an option may name a file";
    }
}

// ---- files ----

// The content of a regular file, for the caller to free; NULL: there is none, or `failed`.
static char *read_file(struct reads *reads, const char *path)
{
    struct stat status;
    if (stat(path, &status) || !S_ISREG(status.st_mode))
        return NULL;
    FILE *file = fopen(path, "rbe");
    if (!file)
        return NULL;
    bool fits = status.st_size <= MOST_FILE_BYTES;
    char *text = fits ? braid_allocate_zeroed((size_t)status.st_size + 1, 1) : NULL;
    reads->failed |= fits && !text;
    if (text && fread(text, 1, (size_t)status.st_size + 1, file) != (size_t)status.st_size) {
        braid_free(text);
        text = NULL;
    }
    if (!text)
        reads->reason = "a file that it may include cannot be read";
    fclose(file);
    return text;
}

// True if there is such a file, which is remembered.
static bool find_file(struct reads *reads, const char *folder, size_t folder_length,
                      const char *name, size_t length)
{
    struct stat status;
    char *path = braid_allocate(folder_length + 1 + length + 1);
    if (!path) {
        reads->failed = true;
        return false;
    }
    memcpy(path, folder, folder_length);
    path[folder_length] = '/';
    memcpy(path + folder_length + 1, name, length);
    path[folder_length + 1 + length] = '\0';
    bool found = !stat(path, &status) && S_ISREG(status.st_mode), is_new = found;
    for (size_t i = 0; i < reads->paths.num && is_new; i++)
        is_new = strcmp(((char **)reads->paths.items)[i], path) != 0;
    char **slot = is_new ? braid_array_append(&reads->paths, 1, sizeof(*slot)) : NULL;
    reads->failed |= is_new && !slot;
    if (reads->paths.num > MOST_FILES)
        reads->reason = "it may include too many files";
    if (slot)
        *slot = path;
    else
        braid_free(path);
    return found;
}

// Every file and header that the name may mean, included by a file in `folder`.
static void look_up(struct reads *reads, const char *folder, size_t folder_length, const char *name,
                    size_t length)
{
    bool found = false;
    for (size_t i = 0; i < reads->build->num_headers && !found; i++) {
        const char *header = reads->build->headers[i].name;
        found = strlen(header) == length && memcmp(header, name, length) == 0;
    }
    if (length > 0 && *name == '/')
        found |= find_file(reads, "", 0, name, length);
    found |= find_file(reads, folder, folder_length, name, length);
    found |= find_file(reads, ".", 1, name, length);
    for (size_t i = 0; i < reads->folders.num; i++) {
        const char *other = ((const char **)reads->folders.items)[i];
        found |= find_file(reads, other, strlen(other), name, length);
    }
    if (!found && !reads->knows_own)
        reads->reason = "it may include a file that is in no folder Braid knows of";
}

// ---- texts ----

static const char *skip_space_and_comments(const char *at)
{
    for (;;) {
        at += strspn(at, " \t\v\f\r\n");
        if (at[0] != '/' || at[1] != '*')
            return at;
        const char *end = strstr(at + 2, "*/");
        at = end ? end + 2 : at + strlen(at);
    }
}

// Lines that go on in the next one, joined; "\r\n" counts as one end.
static char *join_lines(const char *source)
{
    char *text = braid_allocate(strlen(source) + 1), *to = text;
    if (!text)
        return NULL;
    while (*source) {
        if (source[0] == '\\' && source[1] == '\n')
            source += 2;
        else if (source[0] == '\\' && source[1] == '\r' && source[2] == '\n')
            source += 3;
        else
            *to++ = *source++;
    }
    *to = '\0';
    return text;
}

// "name" or <name> at `at`.
static void read_name(struct reads *reads, const char *folder, size_t folder_length, const char *at)
{
    const char *name = skip_space_and_comments(at);
    const char *end = *name == '"'   ? strchr(name + 1, '"')
                      : *name == '<' ? strchr(name + 1, '>')
                                     : NULL;
    if (!end || strcspn(name, "\n") < (size_t)(end - name))
        reads->reason = "it may include a file whose name is not written out";
    else
        look_up(reads, folder, folder_length, name + 1, (size_t)(end - name - 1));
}

// Also where the directive stands in a comment or a string.
static void read_directive(struct reads *reads, const char *folder, size_t folder_length,
                           const char *word)
{
    static const char *const words[] = { "include_next", "include" };
    if (begins(word, "import") || begins(word, "embed"))
        reads->reason = "it may import or embed a file";
    for (size_t i = 0; i < 2; i++) {
        if (!begins(word, words[i]))
            continue;
        read_name(reads, folder, folder_length, word + strlen(words[i]));
        return;
    }
}

// The last sign is another way to write a backslash.
static const char *find_other_reads(const char *text)
{
    static const struct {
        const char *sign, *reason;
    } others[] = { { "__has_embed", "it asks which files there are" },
                   { "__DATE__", "it asks for the date" },
                   { "__TIME__", "it asks for the time" },
                   { "__TIMESTAMP__", "it asks for the time" },
                   { "\?\?/", "it has trigraphs" } };
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        if (strstr(text, others[i].sign))
            return others[i].reason;
    }
    return NULL;
}

// `path`: of the text, whose folder is looked in first.
static void read_text(struct reads *reads, const char *path, const char *source)
{
    static const char asks[] = "__has_include";
    const char *slash = strrchr(path, '/');
    size_t length = slash ? (size_t)(slash - path) : 1;
    const char *folder = slash ? path : ".";
    char *text = join_lines(source);
    reads->failed |= !text;
    if (!text)
        return;
    const char *other = find_other_reads(text);
    if (other)
        reads->reason = other;
    for (const char *at = text; *at && !reads->reason && !reads->failed; at++) {
        size_t sign = *at == '#' ? 1 : at[0] == '%' && at[1] == ':' ? 2 : 0;
        if (sign)
            read_directive(reads, folder, length, skip_space_and_comments(at + sign));
        if (*at != '_' || !begins(at, asks))
            continue;
        const char *behind = at + sizeof(asks) - 1;
        behind += begins(behind, "_next") ? 5 : 0;
        behind = skip_space_and_comments(behind);
        if (*behind == '(')
            read_name(reads, folder, length, behind + 1);
    }
    braid_free(text);
}

static void read_all(struct reads *reads, const char *source)
{
    const struct gpu_build *build = reads->build;
    read_options(reads);
    for (size_t i = 0; i < build->num_folders; i++) {
        put_part(reads->key, "folder", build->folders[i]);
        add_folder(reads, build->folders[i]);
    }
    read_text(reads, "", source);
    for (size_t i = 0; i < build->num_headers && !reads->reason; i++) {
        put_part(reads->key, "header", build->headers[i].name);
        put_part(reads->key, "text", build->headers[i].text);
        read_text(reads, build->headers[i].name, build->headers[i].text);
    }
    for (size_t i = 0; i < reads->paths.num && !reads->reason && !reads->failed; i++) {
        const char *path = ((char **)reads->paths.items)[i];
        char *text = read_file(reads, path);
        if (!text)
            continue;
        put_part(reads->key, "file", path);
        put_part(reads->key, "text", text);
        read_text(reads, path, text);
        braid_free(text);
    }
}

// Writes the included files, the options and the headers into a key. False: something cannot be
// known, and *out_reason says why (a constant, without the name of the source); NULL: memory ran
// out. `knows_own`: names that are nowhere else are headers inside of the compiler.
static bool put_reads(FILE *key, const char *source, const struct gpu_build *build, bool knows_own,
                      const char **out_reason)
{
    struct reads reads = { .key = key, .build = build, .knows_own = knows_own };
    read_all(&reads, source);
    for (size_t i = 0; i < reads.paths.num; i++)
        braid_free(((char **)reads.paths.items)[i]);
    braid_array_finish(&reads.paths);
    braid_array_finish(&reads.folders);
    *out_reason = reads.failed ? NULL : reads.reason;
    return !reads.failed && !reads.reason;
}

// ---- keys of outputs, which are kept on disk from process to process ----

// Counted up whenever Braid uses its inputs in another way.
#define KEY_FORMAT "braid code 3"

static const char *environment(const char *name)
{
    const char *value = secure_getenv(name);
    return value ? value : "";
}

// hiprtc and NVRTC add the contents of these to their options.
static const char *const more_options[GPU_NUM_VENDORS][2] = {
    [GPU_CUDA] = { "NVRTC_APPEND_FLAGS" },
    [GPU_HIP] = { "HIPRTC_COMPILE_OPTIONS_APPEND", "HIPRTC_LINK_OPTIONS_APPEND" },
};

static void note_reason(const char *name, const char *reason)
{
    struct error_attempt attempt;
    braid_error_begin_attempt(&attempt);
    braid_status status = braid_error(
        BRAID_UNSUPPORTED, "the compiled code of kernel '%s' is not kept: %s", name, reason);
    braid_error_end_noted(&attempt, status);
}

// All parts of the key; false: it has none, and *out_reason may say why.
static bool put_key(FILE *file, const struct gpu_backend *gpu, const struct gpu_code_inputs *inputs,
                    const char **out_reason)
{
    enum gpu_vendor_index vendor = gpu->vendor->index;
    for (int i = 0; i < 2 && more_options[vendor][i]; i++) {
        if (*environment(more_options[vendor][i])) {
            *out_reason = "the environment adds options to it";
            return false;
        }
    }
    fprintf(file, "%s\n%s\n", KEY_FORMAT, gpu->vendor->name);
    if (!inputs->is_text)
        fprintf(file, "driver %d\n", gpu->version);
    put_part(file, "compiler", inputs->compiler);
    put_part(file, "device", inputs->is_text ? "any" : gpu->architecture);
    put_part(file, "target", inputs->option);
    put_part(file, "name", inputs->name);
    put_part(file, "source", inputs->source);
    if (inputs->build->expression)
        put_part(file, "entry", inputs->build->expression);
    return put_reads(file, inputs->source, inputs->build, vendor == GPU_CUDA, out_reason);
}

// The files that the source may include are part of it. A source that may read something else has
// no key, and the log tells why, once for each text.
static struct gpu_code_key make_key(const struct gpu_backend *gpu,
                                    const struct gpu_code_inputs *inputs)
{
    struct gpu_code_key key = { 0 };
    FILE *file = gpu->cache && *inputs->compiler ? braid_open_text(&key.bytes, &key.num) : NULL;
    if (!file)
        return key;
    const char *reason = NULL;
    bool known = put_key(file, gpu, inputs, &reason), failed = ferror(file);
    if (reason)
        note_reason(inputs->name, reason);
    if (fclose(file) || failed || !known) {
        braid_free(key.bytes);
        key = (struct gpu_code_key){ 0 };
    }
    return key;
}

// ---- one run of the compiler: from source to an image and the name of its entry ----

struct program {
    const struct gpu_backend *gpu;
    const struct gpu_compiler_api *api;
    const char *name; // the kernel's
    const struct gpu_code *code;
    const struct gpu_target *target;
    gpu_compilation handle;
};

// The message has the beginning of the log, the details have all of it.
static braid_status refuse_source(const struct program *program, gpu_result result)
{
    size_t bytes = 0;
    char *log = program->api->log_bytes(program->handle, &bytes) || bytes < 2
                    ? NULL
                    : braid_allocate_zeroed(bytes + 1, 1);
    bool has_log = log && program->api->log(program->handle, log) == GPU_SUCCESS;
    braid_status status =
        braid_error(BRAID_DEVICE_ERROR, "compiling kernel '%s' (%s, %s) failed: %s: %.800s",
                    program->name, program->gpu->label, program->target->option,
                    program->api->error_string(result), has_log ? log : "");
    if (has_log)
        braid_error_set_details(" failed: ", log);
    braid_free(log);
    return status;
}

static braid_status refuse(const struct program *program, const char *what, gpu_result result)
{
    return braid_error(BRAID_DEVICE_ERROR, "compiling kernel '%s' (%s) failed: %s%s", program->name,
                       program->gpu->label, what, program->api->error_string(result));
}

// The kernel's options, folders to look in, and the target; one allocation.
static const char **collect_options(const struct program *program, size_t *out_num)
{
    const struct gpu_build *build = &program->code->build;
    size_t num = build->num_options + build->num_folders + 1, bytes = num * sizeof(char *);
    for (size_t i = 0; i < build->num_folders; i++)
        bytes += strlen(build->folders[i]) + 3;
    const char **options = braid_allocate(bytes);
    if (!options)
        return NULL;
    char *text = (char *)(options + num);
    for (size_t i = 0; i < build->num_options; i++)
        options[i] = build->options[i];
    for (size_t i = 0; i < build->num_folders; i++) {
        options[build->num_options + i] = text;
        text += sprintf(text, "-I%s", build->folders[i]) + 1;
    }
    options[num - 1] = program->target->option;
    *out_num = num;
    return options;
}

static braid_status create(struct program *program)
{
    const struct gpu_build *build = &program->code->build;
    const char **texts = braid_allocate_zeroed(2 * build->num_headers + 1, sizeof(*texts));
    if (!texts)
        return braid_error_no_memory("the headers of a kernel");
    const char **names = texts + build->num_headers;
    for (size_t i = 0; i < build->num_headers; i++) {
        texts[i] = build->headers[i].text;
        names[i] = build->headers[i].name;
    }
    gpu_result result = program->api->create(
        &program->handle, program->code->source, program->name, (int)build->num_headers,
        build->num_headers ? texts : NULL, build->num_headers ? names : NULL);
    braid_free(texts);
    return result ? refuse(program, "", result) : BRAID_OK;
}

static gpu_result code_bytes(const struct program *program, bool as_text, size_t *out_bytes)
{
    *out_bytes = 0;
    return as_text ? program->api->text_bytes(program->handle, out_bytes)
                   : program->api->code_bytes(program->handle, out_bytes);
}

static gpu_result find_entry(const struct program *program, const char **out_entry)
{
    const char *expression = program->code->build.expression;
    *out_entry = "";
    return expression ? program->api->lowered_name(program->handle, expression, out_entry)
                      : GPU_SUCCESS;
}

static braid_status read_block(const struct program *program, char **out_block, size_t *out_bytes)
{
    size_t bytes = 0;
    bool as_text = program->target->text;
    const char *entry = "";
    gpu_result result = find_entry(program, &entry);
    if (result)
        return refuse(program, "naming its entry: ", result);
    result = code_bytes(program, as_text, &bytes);
    // A compiler without an assembler says that there are no bytes, and gives text.
    if (result == GPU_SUCCESS && bytes == 0 && !as_text && program->api->text_bytes) {
        as_text = true;
        result = code_bytes(program, as_text, &bytes);
    }
    bool has_code = result == GPU_SUCCESS && bytes > 0;
    size_t all = bytes + 1 + strlen(entry) + 1;
    char *block = has_code ? braid_allocate_zeroed(all, 1) : NULL;
    if (has_code && !block)
        return braid_error_no_memory("a compiled kernel");
    if (block)
        result = as_text ? program->api->text(program->handle, block)
                         : program->api->code(program->handle, block);
    if (block && result == GPU_SUCCESS) {
        memcpy(block + bytes + 1, entry, strlen(entry));
        *out_block = block;
        *out_bytes = all;
        return BRAID_OK;
    }
    braid_free(block);
    return braid_error(BRAID_DEVICE_ERROR, "compiling kernel '%s' gave no code: %s", program->name,
                       program->api->error_string(result));
}

static braid_status compile(const struct program *program, char **out_block, size_t *out_bytes)
{
    const char *expression = program->code->build.expression;
    gpu_result result =
        expression ? program->api->add_expression(program->handle, expression) : GPU_SUCCESS;
    if (result)
        return refuse(program, "naming its entry: ", result);
    size_t num = 0;
    const char **options = collect_options(program, &num);
    if (!options)
        return braid_error_no_memory("the options of a kernel");
    result = program->api->compile(program->handle, (int)num, options);
    braid_free(options);
    return result ? refuse_source(program, result) : read_block(program, out_block, out_bytes);
}

// The code is there, or not: that does not change.
static void note_kept(const struct program *program, gpu_result result)
{
    struct error_attempt attempt;
    braid_error_begin_attempt(&attempt);
    braid_status status = braid_error(
        BRAID_DEVICE_ERROR, "compiling kernel '%s' (%s): the compiler keeps its memory: %s",
        program->name, program->gpu->label, program->api->error_string(result));
    braid_error_end_noted(&attempt, status);
}

// *out_block, for the caller to free: the image, a zero byte, the entry named by the code's
// expression ("" without one), a zero byte. Errors: as for braid_gpu_compile.
static braid_status run_compiler(const struct gpu_backend *gpu, const struct gpu_compiler_api *api,
                                 const char *name, const struct gpu_code *code,
                                 const struct gpu_target *target, char **out_block,
                                 size_t *out_bytes)
{
    struct program program = { gpu, api, name, code, target, NULL };
    braid_status status = create(&program);
    if (status)
        return status;
    status = compile(&program, out_block, out_bytes);
    gpu_result result = api->destroy(&program.handle);
    if (result)
        note_kept(&program, result);
    return status;
}

// ---- the compiler, and its target ----

// The compiler's library, loaded once for the process.
struct compiler {
    pthread_mutex_t lock;
    bool tried, loaded;          // guarded by lock
    struct gpu_compiler_api api; // constant once loaded
    char reason[512];            // why it could not be loaded
    char identity[96];           // for keys of its results; "": not known; constant once loaded
};

static struct compiler compilers[GPU_NUM_VENDORS] = {
    [GPU_CUDA] = { .lock = PTHREAD_MUTEX_INITIALIZER },
    [GPU_HIP] = { .lock = PTHREAD_MUTEX_INITIALIZER },
};

static bool load_compiler(const struct gpu_backend *gpu, struct compiler *compiler)
{
    // HIP's runtime has hiprtc inside up to version 6: no second library then.
    const char *missing = NULL;
    enum gpu_vendor_index vendor = gpu->vendor->index;
    const struct gpu_symbol_table *table = &braid_gpu_compiler_symbols;
    if (vendor == GPU_HIP && braid_gpu_fill(table, vendor, gpu->library, &compiler->api, &missing))
        return true;
    return braid_gpu_load(table, vendor, gpu->vendor->compiler_libraries, &compiler->api,
                          compiler->reason, sizeof(compiler->reason)) != NULL;
}

// The version, and the date and size of its file: a bug fix does not change the version.
static void identify(struct compiler *compiler)
{
    int major = 0, minor = 0;
    Dl_info info;
    struct stat file;
    void *address = NULL;
    memcpy(&address, &compiler->api.compile, sizeof(address));
    if (!compiler->api.version || compiler->api.version(&major, &minor) ||
        !dladdr(address, &info) || stat(info.dli_fname, &file) != 0)
        return;
    snprintf(compiler->identity, sizeof(compiler->identity), "%d.%d, %lld bytes of %lld", major,
             minor, (long long)file.st_size, (long long)file.st_mtime);
}

static const struct compiler *find_compiler(const struct gpu_backend *gpu, const char *name)
{
    struct compiler *compiler = &compilers[gpu->vendor->index];
    pthread_mutex_lock(&compiler->lock);
    if (!compiler->tried)
        compiler->loaded = load_compiler(gpu, compiler);
    if (!compiler->tried && compiler->loaded)
        identify(compiler);
    compiler->tried = true;
    bool loaded = compiler->loaded;
    pthread_mutex_unlock(&compiler->lock);
    if (loaded)
        return compiler;
    braid_error(BRAID_UNSUPPORTED,
                "kernel '%s' has only source for %s and there is no run-time compiler: %s", name,
                gpu->label, compiler->reason);
    return NULL;
}

// The newest architecture that the compiler knows and the device runs. A compiler too old to list
// its architectures is asked for the device's.
static gpu_result best_architecture(const struct gpu_compiler_api *api, int wanted, int *out_best)
{
    int known[128], num = 0, best = 0;
    *out_best = wanted;
    if (!api->num_architectures || !api->architectures)
        return GPU_SUCCESS;
    gpu_result result = api->num_architectures(&num);
    if (result || num < 1 || num > (int)(sizeof(known) / sizeof(known[0])))
        return result;
    result = api->architectures(known);
    for (int i = 0; i < num && !result; i++) {
        if (known[i] <= wanted && known[i] > best)
            best = known[i];
    }
    *out_best = best ? best : wanted;
    return result;
}

// A compiler older than the device gives text for the newest architecture it knows, which the
// driver compiles for the device.
static gpu_result choose_target(const struct gpu_backend *gpu, const struct gpu_compiler_api *api,
                                bool as_text, struct gpu_target *target)
{
    *target = (struct gpu_target){ .text = false };
    if (gpu->vendor->index == GPU_HIP) {
        snprintf(target->option, sizeof(target->option), "--offload-arch=%s", gpu->architecture);
        return GPU_SUCCESS;
    }
    int wanted = atoi(gpu->architecture), best = wanted;
    gpu_result result = best_architecture(api, wanted, &best);
    target->text = as_text || best != wanted || !api->code || !api->code_bytes;
    snprintf(target->option, sizeof(target->option), "--gpu-architecture=%s_%d",
             target->text ? "compute" : "sm", best);
    return result;
}

static braid_status find_or_compile(const struct gpu_backend *gpu, const struct compiler *compiler,
                                    const char *name, const struct gpu_code *code,
                                    const struct gpu_target *target, char **out_block,
                                    size_t *out_bytes)
{
    const struct gpu_code_inputs inputs = { compiler->identity, target->option, name,
                                            code->source,       &code->build,   target->text };
    struct gpu_code_key key = make_key(gpu, &inputs);
    *out_block =
        key.bytes ? braid_disk_cache_read(gpu->cache, key.bytes, key.num, out_bytes) : NULL;
    if (*out_block) {
        braid_free(key.bytes);
        return BRAID_OK;
    }
    braid_status status =
        run_compiler(gpu, &compiler->api, name, code, target, out_block, out_bytes);
    // A file that changed meanwhile may have been compiled as it was before or after.
    struct gpu_code_key now =
        key.bytes && !status ? make_key(gpu, &inputs) : (struct gpu_code_key){ 0 };
    if (now.bytes && now.num == key.num && memcmp(now.bytes, key.bytes, key.num) == 0)
        braid_disk_cache_write(gpu->cache, key.bytes, key.num, *out_block, *out_bytes);
    braid_free(now.bytes);
    braid_free(key.bytes);
    return status;
}

braid_status braid_gpu_compile(const struct gpu_backend *gpu, const char *name,
                               const struct gpu_code *code, bool as_text,
                               struct gpu_compiled *out_compiled)
{
    const struct compiler *compiler = find_compiler(gpu, name);
    if (!compiler)
        return BRAID_UNSUPPORTED;
    struct gpu_target target;
    gpu_result result = choose_target(gpu, &compiler->api, as_text, &target);
    if (result)
        return braid_error(
            BRAID_DEVICE_ERROR,
            "compiling kernel '%s' (%s) failed: %s from asking for the compiler's targets", name,
            gpu->label, compiler->api.error_string(result));
    char *block = NULL;
    size_t bytes = 0;
    braid_status status = find_or_compile(gpu, compiler, name, code, &target, &block, &bytes);
    if (status)
        return status;
    const char *entry = block + bytes - 1; // the last of its strings
    while (entry[-1])
        entry--;
    *out_compiled = (struct gpu_compiled){ block, entry };
    return BRAID_OK;
}
