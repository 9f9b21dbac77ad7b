// SPDX-License-Identifier: Apache-2.0
// How many cores the control groups of this process let it use. A container often has fewer than
// its threads may run on.
//
// A group is told by /proc/self/cgroup, and its quota stands in files of /sys/fs/cgroup: cpu.max in
// version 2, and cpu.cfs_quota_us beside cpu.cfs_period_us in version 1. The groups around it limit
// it too. A container may see its group as the root, under the name that it has outside. So files
// that are missing limit nothing.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cpu/cpu.h"

enum { MOST_PATH = 4096 }; // a longer one is cut, and then there is no such file

// Reads the first line. False: there is no such file.
static bool read_line(const char *path, char *out_line, int size)
{
    FILE *file = fopen(path, "re");
    bool done = file && fgets(out_line, size, file);
    if (file)
        (void)fclose(file);
    return done;
}

static double read_number(const char *folder, const char *name)
{
    char path[2 * MOST_PATH + 32], line[64];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return read_line(path, line, sizeof(line)) ? strtod(line, NULL) : 0;
}

// The cores of a group; 0 or less: it has no limit. Then version 2 writes "max", and version 1 -1.
static double read_quota(const char *folder)
{
    char path[2 * MOST_PATH + 32], line[64], *end = line;
    snprintf(path, sizeof(path), "%s/cpu.max", folder);
    double quota, period;
    if (read_line(path, line, sizeof(line))) {
        quota = strtod(line, &end);
        period = strtod(end, NULL);
    } else {
        quota = read_number(folder, "cpu.cfs_quota_us");
        period = read_number(folder, "cpu.cfs_period_us");
    }
    return period > 0 ? quota / period : 0;
}

// Takes the quotas of a group and of those around it, up to the root of the hierarchy.
static void take_quotas(const char *hierarchy, const char *group, double *least)
{
    char folder[2 * MOST_PATH];
    size_t root = strlen(hierarchy);
    snprintf(folder, sizeof(folder), "%s%s", hierarchy, group);
    for (;;) {
        double quota = read_quota(folder);
        if (quota > 0 && (*least == 0 || quota < *least))
            *least = quota;
        char *slash = strrchr(folder, '/');
        if (strlen(folder) <= root || !slash || slash < folder + root)
            return;
        *slash = '\0';
    }
}

static bool names_cpu(const char *controllers)
{
    size_t length = strcspn(controllers, ",");
    while (length != 3 || strncmp(controllers, "cpu", length) != 0) {
        controllers += length;
        if (!*controllers)
            return false;
        length = strcspn(++controllers, ",");
    }
    return true;
}

// A line is "number:controllers:group". Version 2 has no controllers there. Beside version 1 it
// stands in a folder of its own.
static void take_line(const char *root, char *line, double *least)
{
    char hierarchy[MOST_PATH];
    char *controllers = strchr(line, ':');
    char *group = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!group)
        return;
    *controllers++ = *group++ = '\0';
    group[strcspn(group, "\n")] = '\0';
    if (*controllers && !names_cpu(controllers))
        return;
    const char *const folders[] = { controllers, *controllers ? "cpu" : "unified" };
    for (int i = 0; i < 2; i++) {
        snprintf(hierarchy, sizeof(hierarchy), "%s/sys/fs/cgroup/%s", root, folders[i]);
        hierarchy[strlen(hierarchy) - (*folders[i] == '\0')] = '\0';
        take_quotas(hierarchy, group, least);
    }
}

uint32_t braid_cpu_quota(const char *root)
{
    char line[MOST_PATH];
    double least = 0;
    snprintf(line, sizeof(line), "%s/proc/self/cgroup", root);
    FILE *file = fopen(line, "re");
    while (file && fgets(line, sizeof(line), file))
        take_line(root, line, &least);
    if (file)
        (void)fclose(file);
    if (least == 0 || least > CPU_MAX_CORES)
        return CPU_MAX_CORES;
    uint32_t whole = (uint32_t)least;
    return whole + (whole < least);
}
