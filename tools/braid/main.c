// SPDX-License-Identifier: Apache-2.0
// The braid command: finds the subcommand and hands over to it.
#include <stdio.h>
#include <string.h>

#include <braid/braid.h>

#include "commands.h"
#include "help.h"

static const char help[] =
    "usage: braid COMMAND ...\n"
    "\n"
    "Plans task graphs onto a few streams, replays them, and shows what it did.\n"
    "\n"
    "  braid plan FILE.dot       plan a graph: lanes, waits, makespan; as DOT or JSON too\n"
    "  braid run FILE.dot        replay it on a device and check the order of every edge\n"
    "  braid tune FILE.dot       find by trial how it is best played on a device\n"
    "  braid report FILE.dot     write a page: what limits the frame, and what would change it\n"
    "  braid simulate FILE.dot   what a frame takes on other numbers of lanes\n"
    "  braid replay FILE         run a captured frame node by node; name the first that differs\n"
    "  braid diff OLD NEW        compare two plans or runs in JSON; fail where a frame grew\n"
    "  braid kernel FILE.ptx     list what its kernels read and write, and what is not proven\n"
    "  braid record -- PROGRAM   write down what frames of a CUDA program hand to the driver\n"
    "  braid devices             list the backends and their devices\n"
    "  braid version             print the version\n"
    "  braid help [TOPIC]        print this text; TOPIC: a command, files, pictures or status\n"
    "\n"
    "'braid COMMAND --help' explains a command. A FILE of '-' is standard input.\n"
    "Exit status: 0 done, 1 failed, 2 bad file or command line.\n";

static const struct {
    const char *name;
    enum exit_status (*run)(int argc, char **argv);
} commands[] = {
    { "plan", command_plan },       { "run", command_run },           { "tune", command_tune },
    { "report", command_report },   { "simulate", command_simulate }, { "diff", command_diff },
    { "replay", command_replay },   { "kernel", command_kernel },     { "record", command_record },
    { "devices", command_devices },
};

// Prints what a command says to --help.
static enum exit_status print_help(char *topic)
{
    static char option[] = "--help";
    if (!topic) {
        fputs(help, stdout);
        return EXIT_DONE;
    }
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        if (strcmp(topic, commands[i].name) == 0)
            return commands[i].run(2, (char *[]){ topic, option, NULL });
    }
    if (help_print_topic(topic))
        return EXIT_DONE;
    return fail(EXIT_BAD_FILE, "no help on '%s': there is a command's, files, pictures and status",
                topic);
}

static enum exit_status run_command(int argc, char **argv)
{
    if (argc < 2) {
        fputs(help, stderr);
        return EXIT_BAD_FILE;
    }
    const char *name = argv[1];
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        if (strcmp(name, commands[i].name) == 0)
            return commands[i].run(argc - 1, argv + 1);
    }
    if (strcmp(name, "version") == 0 || strcmp(name, "--version") == 0) {
        printf("braid %s\n", braid_get_version());
        return EXIT_DONE;
    }
    if (strcmp(name, "help") == 0 || strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) {
        return print_help(argv[2]);
    }
    return fail(EXIT_BAD_FILE, "no command '%s': 'braid help' lists them", name);
}

int main(int argc, char **argv)
{
    enum exit_status status = run_command(argc, argv);
    if (status == EXIT_DONE && (fflush(stdout) != 0 || ferror(stdout)))
        status = fail(EXIT_FAILED, "cannot write to standard output");
    return (int)status;
}
