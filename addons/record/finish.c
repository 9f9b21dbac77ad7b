// SPDX-License-Identifier: Apache-2.0
// When the record begins and ends, and writing it.
//
// Without marks all operations are noted from the start. When the program ends, or has made many,
// the recorder looks for launches that repeat, and keeps those frames alone.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/hash.h"
#include "record/frames.h"
#include "record/notes.h"
#include "record/write.h"

enum {
    DEFAULT_FROM = 1,
    DEFAULT_FRAMES = 2,
    DEFAULT_OPERATIONS = 200000,
    MOST_HALVES = 20, // that are dropped before the recorder gives up
    PATH_BYTES = 4096,
};

static struct {
    char path[PATH_BYTES];
    pid_t process;
    uint64_t from, frames, most_operations;
    bool by_marks;
    uint64_t num_marks;
    bool is_closed; // the last frame has ended, and no other has begun
    int num_halves;
} settings;

// The number of the next operation. The thread that takes that one sees all earlier changes.
static uint32_t num_operations(void)
{
    return atomic_fetch_add_explicit(&recorder.next_number, 0, memory_order_acq_rel);
}

static void watch_from(uint64_t number)
{
    const uint32_t at = settings.by_marks || number > UINT32_MAX ? UINT32_MAX : (uint32_t)number;
    atomic_store(&recorder.watch_at, at);
}

static uint64_t read_setting(const char *name, uint64_t otherwise)
{
    const char *text = secure_getenv(name);
    return text && *text ? strtoull(text, NULL, 10) : otherwise;
}

// Another thread may hold the lock when the program forks. A child has a copy of its parent's
// notes, and writes nothing. Without notes it may begin to use the driver itself.
static void become_child(void)
{
    if (recorder.modules.num + recorder.allocations.num + atomic_load(&recorder.next_number) > 0)
        recorder_set_phase(DONE);
    else
        settings.process = getpid();
    recorder_unlock();
}

enum recorder_phase recorder_start(void)
{
    const char *path = secure_getenv("BRAID_RECORD_FILE");
    const char *by = secure_getenv("BRAID_RECORD_BY");
    if (!path || strlen(path) >= PATH_BYTES - 16) {
        return DONE;
    }
    if (pthread_atfork(recorder_lock, recorder_unlock, become_child) != 0)
        fputs("braid record: no memory to watch for forks\n", stderr);
    strcpy(settings.path, path);
    settings.process = getpid();
    settings.from = read_setting("BRAID_RECORD_FROM", DEFAULT_FROM);
    settings.frames = read_setting("BRAID_RECORD_FRAMES", DEFAULT_FRAMES);
    settings.most_operations = read_setting("BRAID_RECORD_OPERATIONS", DEFAULT_OPERATIONS);
    recorder.range = secure_getenv("BRAID_RECORD_RANGE");
    recorder.measures = read_setting("BRAID_RECORD_TIMES", 0) != 0;
    settings.by_marks = by && strcmp(by, "marks") == 0;
    recorder.most_bytes = read_setting("BRAID_RECORD_BYTES", 1 << 20);
    recorder.most_stored = read_setting("BRAID_RECORD_ALL_BYTES", 256 << 20);
    recorder.most_noted = read_setting("BRAID_RECORD_MEMORY", 1 << 30);
    recorder.most_at_begin = read_setting("BRAID_RECORD_MEMORY_AT_BEGIN", 0);
    recorder.most_at_end = read_setting("BRAID_RECORD_MEMORY_AT_END", 0);
    recorder.most_text = read_setting("BRAID_RECORD_TEXT_BYTES", 64 << 20);
    watch_from(settings.most_operations);
    return settings.by_marks ? BEFORE : RECORDING;
}

// ---- the part that is kept ----

// Operations that were not noted stay zero.
static void put_row(uint32_t number, const braid_record_operation *operation, void *user)
{
    (void)user;
    if (number - recorder.dropped < recorder.operations.num)
        ((braid_record_operation *)recorder.operations.items)[number - recorder.dropped] =
            *operation;
}

static bool gather(uint32_t first, uint32_t num)
{
    const size_t bytes = sizeof(braid_record_operation);
    recorder.operations.num = 0;
    if (num > 0 && !braid_array_append(&recorder.operations, num, bytes))
        return false;
    if (num > 0)
        memset(recorder.operations.items, 0, num * bytes);
    recorder.dropped = first;
    recorder_visit_notes(first, put_row, NULL);
    recorder_put_times();
    return true;
}

struct cut {
    uint32_t first, num; // operations, as they are numbered
    uint32_t *kept;      // from `first` on, and one behind: the operations kept before it
    bool *is_kept;       // each operation
    uint32_t *memory;    // the new number of each allocation, or NONE
    uint32_t *event;     // the new number of each event, or NONE
    uint32_t num_events;
};

static bool is_whole(const braid_record_operation *operation, const struct cut *cut)
{
    const braid_record_work *work = &operation->work;
    if (operation->end_ns == 0 ||
        (work->kind == BRAID_RECORD_KERNEL && work->kernel == BRAID_RECORD_NONE))
        return false;
    if (work->scope != BRAID_RECORD_OF_OPERATION)
        return true;
    return work->scope_of >= cut->first && work->scope_of < cut->first + cut->num &&
           cut->is_kept[work->scope_of - cut->first];
}

static void keep_operations(struct cut *cut)
{
    const braid_record_operation *rows = recorder.operations.items;
    uint32_t num = 0;
    for (uint32_t i = 0; i < cut->num; i++) {
        cut->kept[i] = num;
        cut->is_kept[i] = is_whole(&rows[i], cut);
        num += cut->is_kept[i];
    }
    cut->kept[cut->num] = num;
}

// The new number of an operation that memory knows: NONE outside the part.
static uint32_t operation_of(const struct cut *cut, uint32_t number)
{
    if (number == BRAID_RECORD_NONE || number < cut->first || number >= cut->first + cut->num)
        return BRAID_RECORD_NONE;
    return cut->is_kept[number - cut->first] ? cut->kept[number - cut->first] : BRAID_RECORD_NONE;
}

static bool lives(const struct cut *cut, const braid_record_allocation *row)
{
    return (row->born == BRAID_RECORD_NONE || row->born < cut->first + cut->num) &&
           (row->freed_at == BRAID_RECORD_NONE || row->freed_at >= cut->first);
}

static void keep_memory(struct cut *cut)
{
    braid_record_allocation *rows = recorder.allocations.items;
    const uint32_t *unused = recorder.free_allocations.items;
    uint32_t num = 0;
    for (size_t i = 0; i < recorder.free_allocations.num; i++)
        rows[unused[i]].born = BRAID_RECORD_NONE - 1; // after all operations
    for (uint32_t i = 0; i < recorder.allocations.num; i++) {
        cut->memory[i] = BRAID_RECORD_NONE;
        if (!lives(cut, &rows[i]))
            continue;
        rows[num] = rows[i];
        rows[num].born = operation_of(cut, rows[i].born);
        rows[num].freed_at = operation_of(cut, rows[i].freed_at);
        cut->memory[i] = num++;
    }
    recorder.allocations.num = num;
    braid_record_memory *kept = recorder.memory.items;
    size_t num_kept = 0;
    for (size_t i = 0; i < recorder.memory.num; i++) {
        kept[i].allocation = cut->memory[kept[i].allocation];
        if (kept[i].allocation != BRAID_RECORD_NONE)
            kept[num_kept++] = kept[i];
    }
    recorder.memory.num = num_kept;
}

static void renumber(struct cut *cut, braid_record_work *work)
{
    if (work->memory != BRAID_RECORD_NONE)
        work->memory = cut->memory[work->memory];
    if (work->event != BRAID_RECORD_NONE) {
        uint32_t *event = &cut->event[work->event];
        *event = *event == BRAID_RECORD_NONE ? cut->num_events++ : *event;
        work->event = *event;
    }
    if (work->scope == BRAID_RECORD_OF_OPERATION)
        work->scope_of = operation_of(cut, work->scope_of);
}

// Leaves the graphs that the operations launch, and those inside them. Graphs inside stand before.
static bool keep_graphs(void)
{
    braid_record_graph *graphs = recorder.graphs.items;
    braid_record_node *nodes = recorder.nodes.items;
    const uint32_t num = (uint32_t)recorder.graphs.num;
    uint32_t *place = braid_allocate_zeroed((size_t)num + 1, sizeof(*place));
    uint32_t kept = 0, kept_nodes = 0;
    if (!place)
        return false;
    for (uint32_t i = 0; i < recorder.operations.num; i++) {
        const braid_record_work *work =
            &((const braid_record_operation *)recorder.operations.items)[i].work;
        for (uint32_t k = 0; work->graph != BRAID_RECORD_NONE && k < work->num_bodies; k++)
            place[work->graph + k] = 1;
    }
    for (uint32_t g = num; g-- > 0;)
        for (uint32_t i = 0; place[g] && i < graphs[g].num_nodes; i++) {
            const braid_record_work *work = &nodes[graphs[g].first_node + i].work;
            for (uint32_t k = 0; work->graph != BRAID_RECORD_NONE && k < work->num_bodies; k++)
                place[work->graph + k] = 1;
        }
    for (uint32_t g = 0; g < num; g++) {
        const braid_record_graph graph = graphs[g];
        if (!place[g])
            continue;
        place[g] = kept;
        graphs[kept++] = (braid_record_graph){ kept_nodes, graph.num_nodes };
        for (uint32_t i = 0; i < graph.num_nodes; i++, kept_nodes++) {
            nodes[kept_nodes] = nodes[graph.first_node + i];
            if (nodes[kept_nodes].work.graph != BRAID_RECORD_NONE)
                nodes[kept_nodes].work.graph = place[nodes[kept_nodes].work.graph];
        }
    }
    for (uint32_t i = 0; i < recorder.operations.num; i++) {
        braid_record_work *work = &((braid_record_operation *)recorder.operations.items)[i].work;
        if (work->graph != BRAID_RECORD_NONE)
            work->graph = place[work->graph];
    }
    recorder.graphs.num = kept;
    recorder.nodes.num = kept_nodes;
    braid_free(place);
    return true;
}

static void move_operations(struct cut *cut)
{
    braid_record_operation *rows = recorder.operations.items;
    for (uint32_t i = 0; i < cut->num; i++) {
        if (!cut->is_kept[i])
            continue;
        braid_record_operation row = rows[i];
        renumber(cut, &row.work);
        rows[cut->kept[i]] = row;
    }
    recorder.operations.num = cut->kept[cut->num];
    if (!keep_graphs())
        recorder.failed = true;
    braid_record_node *nodes = recorder.nodes.items;
    for (size_t i = 0; i < recorder.nodes.num; i++)
        renumber(cut, &nodes[i].work);
    braid_record_frame *frames = recorder.frames.items;
    for (size_t i = 0; i < recorder.frames.num; i++) {
        const uint32_t first = frames[i].first_operation - cut->first;
        const uint32_t end = cut->kept[first + frames[i].num_operations];
        frames[i] = (braid_record_frame){ cut->kept[first], end - cut->kept[first] };
    }
    recorder.num_events = cut->num_events;
}

static bool cut_out(uint32_t first, uint32_t num)
{
    struct cut cut = {
        .first = first,
        .num = num,
        .kept = braid_allocate_zeroed((size_t)num + 1, sizeof(*cut.kept)),
        .is_kept = braid_allocate_zeroed((size_t)num + 1, sizeof(*cut.is_kept)),
        .memory = braid_allocate_zeroed(recorder.allocations.num + 1, sizeof(*cut.memory)),
        .event = braid_allocate_zeroed((size_t)recorder.num_events + 1, sizeof(*cut.event)),
    };
    const bool has_memory = cut.kept && cut.is_kept && cut.memory && cut.event;
    if (has_memory) {
        memset(cut.event, 0xff, recorder.num_events * sizeof(*cut.event));
        keep_operations(&cut);
        keep_memory(&cut);
        move_operations(&cut);
    }
    braid_free(cut.kept);
    braid_free(cut.is_kept);
    braid_free(cut.memory);
    braid_free(cut.event);
    return has_memory;
}

// ---- the file ----

static const char *read_command_line(void)
{
    char text[2048];
    const int file = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    const ssize_t num = file < 0 ? 0 : read(file, text, sizeof(text) - 1);
    if (file >= 0)
        close(file);
    const size_t length = num > 0 ? (size_t)num : 0;
    for (size_t i = 0; i + 1 < length; i++)
        text[i] = text[i] == '\0' ? ' ' : text[i];
    text[length] = '\0';
    return recorder_keep_text(text);
}

// Another process of the program may have written its record already: then this one gets the number
// of its process behind its name.
static int open_file(void)
{
    const int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
    int file = open(settings.path, flags, 0666);
    if (file < 0 && errno == EEXIST) {
        const size_t length = strlen(settings.path);
        snprintf(settings.path + length, PATH_BYTES - length, ".%d", (int)getpid());
        file = open(settings.path, flags, 0666);
    }
    return file;
}

// Where the program may write no file of that length, the signal would end it.
static bool write_bytes(const uint8_t *bytes, uint64_t num)
{
    const struct timespec at_once = { 0 };
    sigset_t limit, before, waiting;
    sigemptyset(&limit);
    sigaddset(&limit, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &limit, &before);
    sigpending(&waiting);
    const int file = open_file();
    bool is_written = file >= 0;
    while (is_written && num > 0) {
        const ssize_t done = write(file, bytes, num);
        is_written = done > 0 || (done < 0 && errno == EINTR);
        bytes += done > 0 ? done : 0;
        num -= done > 0 ? (uint64_t)done : 0;
    }
    const int error = errno;
    if (!is_written && !sigismember(&waiting, SIGXFSZ))
        sigtimedwait(&limit, NULL, &at_once);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = error;
    if (file >= 0 && close(file) != 0)
        is_written = false;
    return is_written;
}

#define LIST(member) .member = recorder.member.items, .num_##member = (uint32_t)recorder.member.num

static void write_record(void)
{
    const braid_record_contents contents = {
        .program = read_command_line(),
        .driver_version = (uint32_t)recorder.driver_version,
        .num_contexts = recorder.num_contexts,
        .num_threads = recorder.num_threads,
        .num_events = recorder.num_events,
        .most_bytes = recorder.most_bytes,
        LIST(modules),
        LIST(kernels),
        LIST(parameters),
        LIST(allocations),
        LIST(streams),
        LIST(operations),
        LIST(graphs),
        LIST(nodes),
        LIST(befores),
        LIST(frames),
        LIST(strangers),
        LIST(memory),
    };
    uint64_t num = 0;
    uint8_t *bytes =
        recorder.failed || recorder.store.failed ? NULL : braid_record_write(&contents, &num);
    if (!bytes)
        fputs("braid record: no memory for the record\n", stderr);
    else if (!write_bytes(bytes, num))
        fprintf(stderr, "braid record: '%s': %s\n", settings.path, strerror(errno));
    braid_free(bytes);
}

static void finish(uint32_t first, uint32_t num)
{
    recorder_set_phase(DONE);
    recorder_keep_all_ends();
    if (!gather(first, num) || !cut_out(first, num))
        recorder.failed = true;
    write_record();
}

// ---- frames by marks ----

static void close_frame(void)
{
    braid_record_frame *frames = recorder.frames.items;
    if (recorder.frames.num == 0 || settings.is_closed)
        return;
    braid_record_frame *last = &frames[recorder.frames.num - 1];
    last->num_operations = num_operations() - last->first_operation;
}

static void open_frame(void)
{
    const braid_record_frame frame = { num_operations(), 0 };
    settings.is_closed = false;
    if (!braid_array_put(&recorder.frames, &frame, sizeof(frame)))
        recorder.failed = true;
}

static void drop_operations(uint32_t first)
{
    recorder.dropped = first;
    recorder_drop_notes(first);
    watch_from(first + settings.most_operations);
}

static void finish_frames(void)
{
    if (recorder.frames.num == 0)
        return;
    const braid_record_frame *frames = recorder.frames.items;
    const braid_record_frame *last = &frames[recorder.frames.num - 1];
    finish(frames[0].first_operation,
           last->first_operation + last->num_operations - frames[0].first_operation);
}

// The first mark drops all that was noted so far.
static void mark(void)
{
    const uint64_t number = settings.num_marks++;
    if (!settings.by_marks) {
        settings.by_marks = true;
        recorder_set_phase(BEFORE);
        // Streams and events that go until the record begins are not noted. Another thread that
        // takes its number behind the next line sees that it has to forget its streams.
        braid_pointer_map_finish(&recorder.stream_of);
        braid_pointer_map_finish(&recorder.event_of);
        recorder_forget_handles();
        recorder.stored_bytes = 0; // notes that go had them
        recorder_forget_memory(true);
        drop_operations(num_operations());
    }
    close_frame();
    if (number == settings.from + settings.frames) {
        finish_frames();
    } else if (number >= settings.from) {
        open_frame();
        recorder_set_phase(RECORDING);
    }
}

// Whether the mark that comes, or the end of a frame, is number `number` from the first one kept.
static bool is_next(uint64_t number)
{
    recorder_lock();
    const bool is = !is_done() && settings.by_marks && settings.num_marks == number;
    recorder_unlock();
    return is;
}

static void take_end(void)
{
    if (recorder.measures)
        recorder_take_times();
    if (recorder.most_at_begin > 0)
        recorder_compare_begin();
}

void recorder_mark_frame(void)
{
    const uint64_t last = settings.from + settings.frames;
    const bool begins_last = recorder.most_at_begin > 0 && is_next(last - 1);
    if (begins_last)
        recorder_keep_begin();
    if (is_next(last))
        take_end();
    recorder_lock();
    if (begins_last)
        recorder_forget_memory(false);
    if (!is_done())
        mark();
    recorder_unlock();
}

void recorder_end_frame(void)
{
    const bool is_last = is_next(settings.from + settings.frames);
    if (is_last)
        take_end();
    recorder_lock();
    if (!is_done()) {
        close_frame();
        settings.is_closed = true;
        if (is_last)
            finish_frames();
    }
    recorder_unlock();
}

// For programs, by dlsym. Returns whether marks count.
__attribute__((visibility("default"))) int braid_recorder_mark(void);

int braid_recorder_mark(void)
{
    if (!recorder.range)
        recorder_mark_frame();
    return 1;
}

// ---- frames by launches ----

static bool is_launch(int kind)
{
    return kind == BRAID_RECORD_KERNEL || kind == BRAID_RECORD_GRAPH;
}

static uint64_t number_launch(const braid_record_work *work)
{
    uint64_t hash = hash_bytes(&work->kernel, sizeof(work->kernel));
    hash = hash_more(hash, work->grid, sizeof(work->grid));
    hash = hash_more(hash, work->block, sizeof(work->block));
    if (work->kind != BRAID_RECORD_GRAPH)
        return hash;
    const braid_record_graph *graph = recorder_row(&recorder.graphs, work->graph, sizeof(*graph));
    for (uint32_t i = 0; i < graph->num_nodes; i++) {
        const braid_record_node *node =
            recorder_row(&recorder.nodes, graph->first_node + i, sizeof(*node));
        hash = hash_more(hash, &node->work.kind, sizeof(node->work.kind));
        hash = hash_more(hash, &node->work.kernel, sizeof(node->work.kernel));
    }
    return hash;
}

// The operations for a search, from number `dropped` on.
struct search {
    uint32_t num, num_launches;
    uint64_t *launches; // hashes: one an operation, and later one a launch
    uint32_t *at;       // the operation of each launch
    uint8_t *kinds;     // one an operation
};

enum { NOT_NOTED = 255 };

static void put_launch(uint32_t number, const braid_record_operation *operation, void *user)
{
    struct search *search = user;
    const uint32_t at = number - recorder.dropped;
    if (at >= search->num)
        return;
    search->kinds[at] = (uint8_t)operation->work.kind;
    if (is_launch(search->kinds[at]))
        search->launches[at] = number_launch(&operation->work);
}

static bool begin_search(struct search *search)
{
    const size_t num = num_operations() - recorder.dropped;
    *search = (struct search){
        .num = (uint32_t)num,
        .launches = braid_allocate(num * sizeof(*search->launches)),
        .at = braid_allocate(num * sizeof(*search->at)),
        .kinds = braid_allocate(num),
    };
    if (!search->launches || !search->at || !search->kinds)
        return false;
    memset(search->kinds, NOT_NOTED, num);
    recorder_visit_notes(recorder.dropped, put_launch, search);
    for (uint32_t i = 0; i < num; i++)
        if (is_launch(search->kinds[i])) {
            search->launches[search->num_launches] = search->launches[i];
            search->at[search->num_launches++] = i;
        }
    return true;
}

// Copies in front of the first launch of a frame belong to it, back to where the host waited.
static uint32_t find_begin(const uint8_t *kinds, uint32_t launch)
{
    uint32_t begin = launch;
    while (begin > 0 && !is_launch(kinds[begin - 1]) &&
           kinds[begin - 1] != BRAID_RECORD_SYNCHRONISE)
        begin--;
    return begin;
}

// False: nothing repeats often enough.
static bool keep_frames(const struct search *search, const struct repetition *found)
{
    if (found->times <= settings.from)
        return false;
    const uint64_t left = found->times - settings.from;
    const uint64_t wanted = left < settings.frames ? left : settings.frames;
    for (uint64_t i = 0; i <= wanted; i++) {
        const size_t launch = found->first + (size_t)(settings.from + i) * found->period;
        uint32_t begin = launch < search->num_launches
                             ? find_begin(search->kinds, search->at[launch])
                             : search->num;
        begin += recorder.dropped;
        if (i > 0) {
            braid_record_frame *last =
                recorder_row(&recorder.frames, (uint32_t)recorder.frames.num - 1, sizeof(*last));
            last->num_operations = begin - last->first_operation;
        }
        const braid_record_frame frame = { begin, 0 };
        if (i < wanted && !braid_array_put(&recorder.frames, &frame, sizeof(frame)))
            recorder.failed = true;
    }
    return recorder.frames.num > 0;
}

// With `at_end` the record ends even if nothing repeats: then it has all, without frames.
static void finish_by_launches(bool at_end)
{
    struct search search;
    struct repetition found = { .times = 0 };
    const bool repeats = begin_search(&search) &&
                         recorder_find_repetition(search.launches, search.num_launches, &found) &&
                         (at_end || found.times > settings.from + settings.frames) &&
                         keep_frames(&search, &found);
    braid_free(search.launches);
    braid_free(search.at);
    braid_free(search.kinds);
    if (repeats) {
        finish_frames();
        return;
    }
    if (at_end) {
        finish(recorder.dropped, search.num);
        return;
    }
    drop_operations(recorder.dropped + search.num / 2);
    settings.num_halves++;
}

// Each change of a graph makes another row of each of its nodes, so that few launches may need
// much memory.
void recorder_watch_frames(void)
{
    if (settings.by_marks)
        return;
    if (recorder.noted_bytes >= recorder.most_noted)
        finish_by_launches(true);
    else if (num_operations() - recorder.dropped >= settings.most_operations)
        finish_by_launches(settings.num_halves == MOST_HALVES);
}

void recorder_need_memory(uint64_t bytes)
{
    recorder.noted_bytes += bytes;
    if (recorder.noted_bytes >= recorder.most_noted)
        watch_from(0);
}

void recorder_finish(void)
{
    if (is_done())
        return;
    if (settings.by_marks) {
        close_frame();
        finish_frames();
    } else if (num_operations() > recorder.dropped) {
        finish_by_launches(true);
    }
    recorder_set_phase(DONE);
}

// A child of a fork has a copy of its parent's notes, and writes nothing.
__attribute__((destructor)) static void leave(void)
{
    if (settings.process != getpid())
        return;
    recorder_lock();
    recorder_finish();
    recorder_unlock();
}
