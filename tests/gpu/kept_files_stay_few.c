// SPDX-License-Identifier: Apache-2.0
// The folder where compiled code is kept: where it is, that it stays small, and what goes first.
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/disk_cache.h"
#include "support/check.h"

enum { MOST_PATH = 300 };

static char folder[100];

static int begin(void **state)
{
    (void)state;
    snprintf(folder, sizeof(folder), "/tmp/braid-cache-XXXXXX");
    assert_non_null(mkdtemp(folder));
    return 0;
}

static int end(void **state)
{
    char command[MOST_PATH];
    (void)state;
    snprintf(command, sizeof(command), "rm -rf '%s'", folder);
    return system(command);
}

// The number of files, and the name of the last but for README.
static unsigned count_files(char *name)
{
    DIR *files = opendir(folder);
    unsigned num = 0;
    struct dirent *file;
    while (files && (file = readdir(files))) {
        if (file->d_name[0] == '.' || strcmp(file->d_name, "README") == 0)
            continue;
        snprintf(name, MOST_PATH, "%s/%.150s", folder, file->d_name);
        num++;
    }
    if (files)
        closedir(files);
    return num;
}

static char *make_file(char *path, const char *name)
{
    snprintf(path, MOST_PATH, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fclose(file), 0);
    return path;
}

static void make_old(const char *path)
{
    const struct timespec old[2] = { { .tv_sec = 1000 }, { .tv_sec = 1000 } };
    assert_int_equal(utimensat(AT_FDCWD, path, old, 0), 0);
}

static bool is_kept(struct disk_cache *cache, const char *key)
{
    size_t bytes = 0;
    void *read = braid_disk_cache_read(cache, key, strlen(key), &bytes);
    free(read);
    return read != NULL;
}

static void check_place(const char *wish, const char *wanted)
{
    char *place = braid_disk_cache_folder(wish);
    if (wanted)
        assert_string_equal(place, wanted);
    else
        assert_null(place);
    free(place);
}

static void its_place_can_be_chosen(void **state)
{
    (void)state;
    setenv("BRAID_CACHE", "", 1);
    setenv("HOME", "/home/someone", 1);
    check_place(NULL, "/home/someone/.cache/braid");
    setenv("XDG_CACHE_HOME", "relative", 1);
    check_place("", "/home/someone/.cache/braid");
    setenv("XDG_CACHE_HOME", "/caches", 1);
    check_place(NULL, "/caches/braid");
    setenv("BRAID_CACHE", "/else", 1);
    check_place(NULL, "/else");
    check_place("/wished", "/wished");
    check_place("off", NULL);
    setenv("BRAID_CACHE", "off", 1);
    check_place(NULL, NULL);
    check_place("/wished", NULL);
    unsetenv("BRAID_CACHE");
    unsetenv("XDG_CACHE_HOME");
    unsetenv("HOME");
    check_place(NULL, NULL);
    assert_int_equal(chdir("/tmp"), 0);
    check_place("here", "/tmp/here");
}

static void folders_stay_small(void **state)
{
    char name[MOST_PATH], other[MOST_PATH];
    static char content[1000];
    (void)state;
    struct disk_cache cache = { .folder = folder, .most_bytes = 20000, .most_files = 12 };
    make_file(other, "README");
    for (unsigned key = 0; key < 100; key++) {
        size_t bytes = 0, wanted = key % 2 ? 10 : sizeof(content);
        memset(content, (int)key, sizeof(content));
        braid_disk_cache_write(&cache, &key, sizeof(key), content, wanted);
        char *read = braid_disk_cache_read(&cache, &key, sizeof(key), &bytes);
        assert_non_null(read);
        assert_int_equal(bytes, wanted);
        assert_memory_equal(read, content, wanted);
        assert_int_equal(read[bytes], 0);
        free(read);
        assert_true(count_files(name) <= 12);
    }
    cache.most_bytes = 3000;
    braid_disk_cache_trim(&cache);
    assert_true(count_files(name) <= 5);
    assert_int_equal(access(other, F_OK), 0); // not its own: left alone
}

static void what_is_larger_than_all_is_not_kept(void **state)
{
    char name[MOST_PATH];
    static char content[1000];
    (void)state;
    struct disk_cache cache = { .folder = folder, .most_bytes = 1000, .most_files = 12 };
    braid_disk_cache_write(&cache, "key", 3, content, sizeof(content));
    assert_int_equal(count_files(name), 0);
}

static void those_used_last_stay(void **state)
{
    char file[MOST_PATH], name[MOST_PATH];
    struct stat status;
    (void)state;
    struct disk_cache cache = { .folder = folder, .most_bytes = 1 << 20, .most_files = 4 };
    braid_disk_cache_write(&cache, "first", 5, "content", 7);
    assert_int_equal(count_files(file), 1);
    make_old(file);
    assert_true(is_kept(&cache, "first")); // and touched
    assert_int_equal(stat(file, &status), 0);
    assert_true(status.st_mtime > 1000000);
    make_old(file);
    for (unsigned key = 0; key < 4; key++)
        braid_disk_cache_write(&cache, &key, sizeof(key), "content", 7);
    assert_int_equal(count_files(name), 3);
    assert_false(is_kept(&cache, "first"));
}

// What a killed process left goes once it is surely not being written any more.
static void unfinished_files_go(void **state)
{
    char whole[MOST_PATH], file[MOST_PATH];
    (void)state;
    struct disk_cache cache = { .folder = folder, .most_bytes = 1 << 20, .most_files = 4 };
    braid_disk_cache_write(&cache, "key", 3, "content", 7);
    assert_int_equal(count_files(whole), 1);
    assert_int_equal(rename(whole, make_file(file, "unfinished-abcdef")), 0);
    braid_disk_cache_trim(&cache);
    assert_int_equal(access(file, F_OK), 0);
    make_old(file);
    braid_disk_cache_trim(&cache);
    assert_int_equal(access(file, F_OK), -1);
}

enum { NUM_FOREIGN = 9 };

// Files of other programs, of any name and kind: regular ones first. All are old.
static void make_foreign_files(char paths[NUM_FOREIGN][MOST_PATH])
{
    static const char *const unfinished[] = { "unfinished-abcdef", "unfinished-letter.txt" };
    char name[DISK_CACHE_NAME_BYTES];
    for (unsigned i = 0; i < 5; i++) {
        snprintf(name, sizeof(name), "%032x", i);
        FILE *file = fopen(make_file(paths[i], name), "w");
        assert_non_null(file);
        fputs(i % 2 ? "mine" : "This file is mine.", file);
        assert_int_equal(fclose(file), 0);
    }
    make_file(paths[5], unfinished[0]);
    make_file(paths[6], unfinished[1]);
    snprintf(paths[7], MOST_PATH, "%s/%032x", folder, 7);
    assert_int_equal(mkfifo(paths[7], 0600), 0);
    snprintf(paths[8], MOST_PATH, "%s/%032x", folder, 8);
    assert_int_equal(symlink(paths[0], paths[8]), 0);
    for (unsigned i = 0; i < 8; i++)
        make_old(paths[i]);
}

static void files_of_others_stay(void **state)
{
    char foreign[NUM_FOREIGN][MOST_PATH], name[MOST_PATH];
    struct stat status;
    (void)state;
    struct disk_cache cache = { .folder = folder, .most_bytes = 1 << 20, .most_files = 4 };
    make_foreign_files(foreign);
    for (unsigned key = 0; key < 4; key++)
        braid_disk_cache_write(&cache, &key, sizeof(key), "content", 7);
    assert_int_equal(count_files(name), NUM_FOREIGN + 4); // foreign files do not count
    for (unsigned key = 4; key < 20; key++) {
        braid_disk_cache_write(&cache, &key, sizeof(key), "content", 7);
        assert_true(count_files(name) <= NUM_FOREIGN + 4);
    }
    for (unsigned i = 0; i < NUM_FOREIGN; i++)
        assert_int_equal(lstat(foreign[i], &status), 0);
}

// A program with another version of Braid may never come back.
static void files_of_other_versions_go(void **state)
{
    char file[MOST_PATH], name[MOST_PATH];
    (void)state;
    struct disk_cache cache = { .folder = folder, .most_bytes = 1 << 20, .most_files = 4 };
    braid_disk_cache_write(&cache, "key", 3, "content", 7);
    assert_int_equal(count_files(file), 1);
    const uint64_t mark = DISK_CACHE_MARK + 1;
    FILE *opened = fopen(file, "r+");
    assert_non_null(opened);
    assert_int_equal(fwrite(&mark, sizeof(mark), 1, opened), 1);
    assert_int_equal(fclose(opened), 0);
    make_old(file);
    for (unsigned key = 0; key < 4; key++)
        braid_disk_cache_write(&cache, &key, sizeof(key), "content", 7);
    assert_int_equal(access(file, F_OK), -1);
    assert_int_equal(count_files(name), 3);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(its_place_can_be_chosen),
        CASE(folders_stay_small),
        CASE(what_is_larger_than_all_is_not_kept),
        CASE(those_used_last_stay),
        CASE(unfinished_files_go),
        CASE(files_of_others_stay),
        CASE(files_of_other_versions_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
