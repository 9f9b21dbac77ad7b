// SPDX-License-Identifier: Apache-2.0
// Whatever stands in the way of keeping a file, or of reading one: what is asked for is not there,
// nothing half-done stays, the log is told once, and afterwards all is kept as before.
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <braid/braid.h>

#include "backends/gpu/gpu_disk_cache.h"
#include "base/host_memory.h"
#include "support/check.h"
#include "support/failing_memory.h"

enum { MOST_PATH = 300 };

static char folder[100];
static int num_told;
static char told[512];

static void note(braid_status status, const char *message, void *user)
{
    (void)user;
    assert_int_equal(status, BRAID_IO_ERROR);
    snprintf(told, sizeof(told), "%s", message);
    num_told++;
}

static int begin(void **state)
{
    (void)state;
    num_told = 0;
    braid_log_set(note, NULL);
    snprintf(folder, sizeof(folder), "/tmp/braid-cache-XXXXXX");
    assert_non_null(mkdtemp(folder));
    return 0;
}

static int end(void **state)
{
    char command[MOST_PATH];
    (void)state;
    braid_log_set(NULL, NULL);
    snprintf(command, sizeof(command), "rm -rf '%s'", folder);
    return system(command);
}

static struct disk_cache make_cache(void)
{
    return (struct disk_cache){ .folder = folder };
}

static unsigned count_files(char *path)
{
    DIR *files = opendir(folder);
    unsigned num = 0;
    for (struct dirent *file; files && (file = readdir(files));) {
        if (file->d_name[0] == '.')
            continue;
        snprintf(path, MOST_PATH, "%s/%.150s", folder, file->d_name);
        num++;
    }
    if (files)
        closedir(files);
    return num;
}

static void keep(struct disk_cache *cache)
{
    braid_disk_cache_write(cache, "key", 3, "content", 7);
}

static bool is_kept(struct disk_cache *cache)
{
    size_t bytes = 0;
    char *read = braid_disk_cache_read(cache, "key", 3, &bytes);
    bool kept = read && bytes == 7 && strcmp(read, "content") == 0;
    assert_true(kept || !read);
    braid_free(read);
    return kept;
}

static void a_folder_that_cannot_be_made_is_told_of_once(void **state)
{
    (void)state;
    struct disk_cache cache = { .folder = "/proc/nowhere/cache" };
    for (int i = 0; i < 3; i++) {
        keep(&cache);
        assert_false(is_kept(&cache));
    }
    assert_int_equal(num_told, 1);
    assert_non_null(strstr(told, "is not kept in '/proc/nowhere/cache': No such file"));
}

// Where the file should be stands something else, which is neither read nor waited for.
static void what_is_no_file_is_not_read(void **state)
{
    (void)state;
    char path[MOST_PATH], other[MOST_PATH];
    struct disk_cache cache = make_cache();
    keep(&cache);
    assert_true(is_kept(&cache));
    assert_int_equal(count_files(path), 1);
    snprintf(other, sizeof(other), "%s/other", folder);
    assert_int_equal(rename(path, other), 0);
    assert_int_equal(symlink(other, path), 0); // whole, but whoever made the link may change it
    assert_false(is_kept(&cache));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_false(is_kept(&cache));
    keep(&cache); // in place of it
    assert_true(is_kept(&cache));
    assert_int_equal(num_told, 0);
}

static void a_folder_in_the_place_of_a_file_stays(void **state)
{
    (void)state;
    char path[MOST_PATH], other[MOST_PATH];
    struct disk_cache cache = make_cache();
    keep(&cache);
    assert_int_equal(count_files(path), 1);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    keep(&cache);
    assert_false(is_kept(&cache));
    assert_int_equal(num_told, 1);
    assert_non_null(strstr(told, "directory"));
    assert_int_equal(count_files(other), 1); // nothing unfinished
    assert_int_equal(rmdir(path), 0);
    keep(&cache);
    assert_true(is_kept(&cache));
}

static void no_cache_keeps_nothing(void **state)
{
    (void)state;
    keep(NULL);
    assert_false(is_kept(NULL));
    assert_null(braid_disk_cache_open("off"));
    braid_disk_cache_close(NULL);
    assert_int_equal(num_told, 0);
}

// A relative name in a folder that is gone means nothing, nor does a home that is relative.
static void a_place_that_cannot_be_told_is_none(void **state)
{
    (void)state;
    char here[MOST_PATH];
    unsetenv("BRAID_CACHE"); // the harness set it
    assert_non_null(getcwd(here, sizeof(here)));
    assert_int_equal(chdir(folder), 0);
    assert_int_equal(rmdir(folder), 0);
    assert_null(braid_disk_cache_folder("cache"));
    assert_int_equal(chdir(here), 0);
    unsetenv("XDG_CACHE_HOME");
    setenv("HOME", "relative", 1);
    assert_null(braid_disk_cache_folder(NULL));
}

static void a_relative_place_stays_where_it_is(void **state)
{
    (void)state;
    char here[MOST_PATH], expected[MOST_PATH];
    assert_non_null(getcwd(here, sizeof(here)));
    assert_int_equal(chdir(folder), 0);
    char *found = braid_disk_cache_folder("cache");
    assert_int_equal(chdir(here), 0);
    snprintf(expected, sizeof(expected), "%s/cache", folder);
    assert_string_equal(found, expected);
    braid_free(found);
}

static void the_place_of_all_caches_is_known(void **state)
{
    (void)state;
    setenv("XDG_CACHE_HOME", "/somewhere", 1);
    char *found = braid_disk_cache_folder(NULL);
    assert_string_equal(found, "/somewhere/braid");
    braid_free(found);
    unsetenv("XDG_CACHE_HOME");
}

// Whichever allocation fails: the file is there or not, and never anything else.
static void without_memory_nothing_is_kept(void **state)
{
    (void)state;
    char path[MOST_PATH];
    bool failed = true;
    for (uint64_t nth = 1; failed; nth++) {
        failing_memory_arm_once(nth);
        struct disk_cache *cache = braid_disk_cache_open(folder);
        keep(cache);
        bool kept = is_kept(cache);
        failed = failing_memory_disarm();
        assert_true(failed || kept);
        assert_true(!cache || count_files(path) <= 1);
        if (cache && !kept) { // not written, or not read
            keep(cache);
            assert_true(is_kept(cache));
        }
        braid_disk_cache_close(cache);
        assert_true(nth < 20);
    }
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_folder_that_cannot_be_made_is_told_of_once),
        CASE(what_is_no_file_is_not_read),
        CASE(a_folder_in_the_place_of_a_file_stays),
        CASE(no_cache_keeps_nothing),
        CASE(a_place_that_cannot_be_told_is_none),
        CASE(a_relative_place_stays_where_it_is),
        CASE(the_place_of_all_caches_is_known),
        CASE(without_memory_nothing_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
