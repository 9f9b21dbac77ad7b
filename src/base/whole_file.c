// SPDX-License-Identifier: Apache-2.0
// Writing beside a file, and putting the new one in its place.
#include "base/whole_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ALL_MAY = 0666 }; // less the umask, as fopen does

// A file of mkstemp is for its owner alone. The umask can only be read by setting it, which would
// concern other threads. A file that is opened with fopen's mode has it.
static int create_beside(char *name, mode_t mode)
{
    size_t length = strlen(name);
    for (int i = 0; i < 100; i++) {
        memcpy(name + length - 6, "XXXXXX", 6);
        int file = mkostemp(name, O_CLOEXEC);
        if (file < 0)
            return -1;
        (void)close(file);
        (void)unlink(name);
        file = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
        if (file >= 0 || errno != EEXIST)
            return file;
    }
    return -1;
}

static bool open_beside(struct whole_file *file, const struct stat *before)
{
    if (asprintf(&file->unfinished, "%s.XXXXXX", file->target) < 0) {
        file->unfinished = NULL;
        errno = ENOMEM;
        return false;
    }
    int number = create_beside(file->unfinished, ALL_MAY);
    if (number >= 0 && before)
        (void)fchmod(number, before->st_mode & 07777);
    file->stream = number < 0 ? NULL : fdopen(number, "w");
    if (file->stream)
        return true;
    int reason = errno;
    if (number >= 0) {
        (void)close(number);
        (void)unlink(file->unfinished);
    }
    free(file->unfinished);
    file->unfinished = NULL;
    errno = reason;
    return false;
}

static bool folder_refuses(int reason)
{
    return reason == EACCES || reason == EPERM || reason == EROFS || reason == ENAMETOOLONG;
}

// The target of standard output may be a file that the shell goes on writing to.
static bool is_standard_stream(const struct stat *before)
{
    for (int i = STDIN_FILENO; i <= STDERR_FILENO; i++) {
        struct stat stream;
        if (fstat(i, &stream) == 0 && stream.st_dev == before->st_dev &&
            stream.st_ino == before->st_ino)
            return true;
    }
    return false;
}

// Not where another name of the file would go on naming the old one, or its owner lose it.
static bool may_replace(const char *path, const struct stat *before)
{
    return S_ISREG(before->st_mode) && access(path, W_OK) == 0 && before->st_nlink == 1 &&
           before->st_uid == geteuid() && !is_standard_stream(before);
}

bool braid_whole_file_open(const char *path, struct whole_file *out_file)
{
    struct stat before;
    bool exists = stat(path, &before) == 0;
    bool replaces = !exists || may_replace(path, &before);
    struct whole_file file = { .target = exists && replaces ? realpath(path, NULL) : strdup(path) };
    if (!file.target)
        return false;
    if (!replaces || (!open_beside(&file, exists ? &before : NULL) && folder_refuses(errno)))
        file.stream = fopen(file.target, "w");
    if (file.stream) {
        *out_file = file;
        return true;
    }
    int reason = errno;
    free(file.target);
    errno = reason;
    return false;
}

bool braid_whole_file_close(struct whole_file *file, bool complete)
{
    errno = 0;
    complete = fflush(file->stream) == 0 && !ferror(file->stream) && complete;
    int reason = errno;
    if (fclose(file->stream) != 0 && complete) {
        complete = false;
        reason = errno;
    }
    if (complete && file->unfinished && rename(file->unfinished, file->target) != 0) {
        complete = false;
        reason = errno;
    }
    if (!complete && file->unfinished)
        (void)unlink(file->unfinished);
    free(file->unfinished);
    free(file->target);
    errno = reason;
    return complete;
}
