// SPDX-License-Identifier: Apache-2.0
// By default there is one worker a core, of those that the control groups let the process use. The
// groups here are folders of a made-up root.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backends/cpu/cpu.h"
#include "support/check.h"

static char root[] = "/tmp/braid-quota-XXXXXX";

// Writes a file, and the folders that it is in.
static void write_file(const char *path, const char *text)
{
    char full[512];
    snprintf(full, sizeof(full), "%s/%s", root, path);
    for (char *slash = strchr(full + sizeof(root), '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        assert_true(mkdir(full, 0700) == 0 || errno == EEXIST);
        *slash = '/';
    }
    FILE *file = fopen(full, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static int begin(void **state)
{
    (void)state;
    strcpy(root + sizeof(root) - 7, "XXXXXX");
    return mkdtemp(root) ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    char command[64];
    snprintf(command, sizeof(command), "rm -r %s", root);
    return system(command);
}

static void nothing_known_is_no_limit(void **state)
{
    (void)state;
    assert_int_equal(braid_cpu_quota(root), CPU_MAX_CORES);
    write_file("proc/self/cgroup", "nonsense\n7:memory\n\n0::\n");
    assert_int_equal(braid_cpu_quota(root), CPU_MAX_CORES);
    write_file("sys/fs/cgroup/cpu.max", "nonsense\n");
    assert_int_equal(braid_cpu_quota(root), CPU_MAX_CORES);
    write_file("sys/fs/cgroup/cpu.max", "200000 0\n");
    assert_int_equal(braid_cpu_quota(root), CPU_MAX_CORES);
}

static void version_2_has_one_file(void **state)
{
    (void)state;
    write_file("proc/self/cgroup", "0::/pod/one\n");
    write_file("sys/fs/cgroup/pod/one/cpu.max", "max 100000\n");
    assert_int_equal(braid_cpu_quota(root), CPU_MAX_CORES);
    write_file("sys/fs/cgroup/pod/one/cpu.max", "250000 100000\n");
    assert_int_equal(braid_cpu_quota(root), 3);
    write_file("sys/fs/cgroup/pod/one/cpu.max", "50000 100000\n");
    assert_int_equal(braid_cpu_quota(root), 1);
    write_file("sys/fs/cgroup/pod/one/cpu.max", "999900000 100000\n");
    assert_int_equal(braid_cpu_quota(root), CPU_MAX_CORES);
}

static void groups_around_it_count(void **state)
{
    (void)state;
    write_file("proc/self/cgroup", "0::/pod/one\n");
    write_file("sys/fs/cgroup/pod/one/cpu.max", "800000 100000\n");
    write_file("sys/fs/cgroup/pod/cpu.max", "400000 100000\n");
    assert_int_equal(braid_cpu_quota(root), 4);
    write_file("sys/fs/cgroup/cpu.max", "200000 100000\n");
    assert_int_equal(braid_cpu_quota(root), 2);
    write_file("proc/self/cgroup", "0::/a/name/outside\n"); // and the root is the container's
    assert_int_equal(braid_cpu_quota(root), 2);
    write_file("proc/self/cgroup", "0::/../other\n");
    assert_int_equal(braid_cpu_quota(root), 2);
}

static void version_1_has_two_files(void **state)
{
    (void)state;
    write_file("proc/self/cgroup", "5:memory:/one\n2:cpuset:/set\n3:cpuacct,cpu:/one\n");
    write_file("sys/fs/cgroup/cpuset/set/cpu.cfs_quota_us", "100000\n"); // which counts nothing
    write_file("sys/fs/cgroup/cpuset/set/cpu.cfs_period_us", "100000\n");
    write_file("sys/fs/cgroup/cpu/one/cpu.cfs_quota_us", "-1\n");
    write_file("sys/fs/cgroup/cpu/one/cpu.cfs_period_us", "50000\n");
    assert_int_equal(braid_cpu_quota(root), CPU_MAX_CORES);
    write_file("sys/fs/cgroup/cpu/one/cpu.cfs_quota_us", "300000\n");
    assert_int_equal(braid_cpu_quota(root), 6);
    write_file("sys/fs/cgroup/cpuacct,cpu/cpu.cfs_quota_us", "100000\n");
    write_file("sys/fs/cgroup/cpuacct,cpu/cpu.cfs_period_us", "50000\n");
    assert_int_equal(braid_cpu_quota(root), 2);
    write_file("proc/self/cgroup", "5:memory:/\n0::/two\n"); // beside it, version 2
    write_file("sys/fs/cgroup/unified/two/cpu.max", "500000 100000\n");
    assert_int_equal(braid_cpu_quota(root), 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nothing_known_is_no_limit, begin, end),
        cmocka_unit_test_setup_teardown(version_2_has_one_file, begin, end),
        cmocka_unit_test_setup_teardown(groups_around_it_count, begin, end),
        cmocka_unit_test_setup_teardown(version_1_has_two_files, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
