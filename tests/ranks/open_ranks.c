// SPDX-License-Identifier: Apache-2.0
// Goes to the folder of its argument, opens ranks there, and prints the result.
#include <stdio.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <braid/braid.h>

int main(int argc, char **argv)
{
    braid_ranks *ranks;
    if (argc > 1 && chdir(argv[1])) {
        perror(argv[1]);
        return 2;
    }
    if (getauxval(AT_SECURE))
        puts("this program has more rights than its user");
    braid_status status = braid_ranks_open(NULL, &ranks);
    printf("%s %s\n", braid_status_get_name(status), status ? braid_error_get_message() : "");
    return 0;
}
