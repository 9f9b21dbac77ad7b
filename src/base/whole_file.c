// SPDX-License-Identifier: Apache-2.0
// Writing beside a file, and putting the new one in its place.
#include "base/whole_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/host_memory.h"

enum { ALL_MAY = 0666 }; // less the umask, as fopen does

// A file of mkstemp is for its owner alone, and the umask can only be read by setting it. So the
// name is unique by the process and a number.
static int create_beside(struct whole_file *file, mode_t mode)
{
    static atomic_uint next;
    int number = -1;
    do {
        braid_free(file->unfinished);
        file->unfinished =
            braid_print_text("%s.%ld-%u", file->target, (long)getpid(), atomic_fetch_add(&next, 1));
        if (file->unfinished) // otherwise errno is ENOMEM
            number = open(file->unfinished, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    } while (number < 0 && errno == EEXIST);
    return number;
}

static bool forget(struct whole_file *file)
{
    int reason = errno;
    braid_free(file->unfinished);
    braid_free(file->target);
    errno = reason;
    return false;
}

bool braid_whole_file_beside(const char *path, unsigned mode, struct whole_file *out_file)
{
    struct whole_file file = { .target = braid_copy_text(path) };
    int number = file.target ? create_beside(&file, mode) : -1;
    file.stream = number < 0 ? NULL : fdopen(number, "w");
    if (!file.stream && number >= 0) {
        (void)close(number);
        (void)unlink(file.unfinished);
    }
    if (!file.stream)
        return forget(&file);
    *out_file = file;
    return true;
}

static bool folder_refuses(int reason)
{
    return reason == EACCES || reason == EPERM || reason == EROFS || reason == ENAMETOOLONG;
}

// A file that is replaced keeps its mode. It has no other name, which would go on naming the old
// one, and no other owner, who would lose it. Standard output is a link in /dev.
static bool may_replace(const char *path, const struct stat *before)
{
    return S_ISREG(before->st_mode) && access(path, W_OK) == 0 && before->st_nlink == 1 &&
           before->st_uid == geteuid();
}

static bool open_itself(const char *path, struct whole_file *out_file)
{
    *out_file = (struct whole_file){ .stream = fopen(path, "w") };
    return out_file->stream != NULL;
}

bool braid_whole_file_open(const char *path, struct whole_file *out_file)
{
    struct stat before;
    bool exists = lstat(path, &before) == 0;
    if (exists && !may_replace(path, &before))
        return open_itself(path, out_file);
    if (!braid_whole_file_beside(path, ALL_MAY, out_file))
        return folder_refuses(errno) && open_itself(path, out_file);
    if (exists)
        (void)fchmod(fileno(out_file->stream), before.st_mode & 07777);
    return true;
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
    errno = reason;
    (void)forget(file);
    return complete;
}
