# SPDX-License-Identifier: Apache-2.0
"""Every option of the tool is in the man page and in both completions, and nothing else is."""
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True
from braid_tool import braid  # noqa: E402
from tap import Skip, run  # noqa: E402

FOLDER = sys.argv[2]


def read(name):
    with open(os.path.join(FOLDER, name), encoding="utf-8") as file:
        return file.read()


def options_of_help():
    return {command: set(re.findall(r"^  (--[a-z-]+)", braid(command, "--help").out, re.MULTILINE))
            for command in ("plan", "run", "tune", "report", "simulate", "replay", "diff", "kernel", "record", "devices")}


def the_man_page_has_every_option():
    page = read("braid.1").replace("\\-", "-")
    for command, options in options_of_help().items():
        section = page.split(f".SS braid {command}\n")[1].split("\n.S")[0]
        found = set(re.findall(r"^\.BI? (--[a-z-]+)", section, re.MULTILINE))
        assert found == options - {"--help"}, f"{command}: {found ^ options}"


def the_man_page_is_well_formed():
    try:
        process = subprocess.run(["man", "--warnings", "-l", os.path.join(FOLDER, "braid.1")],
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                                 env={**os.environ, "MANPAGER": "cat"})
    except FileNotFoundError as error:
        raise Skip("man is not installed") from error
    if process.returncode != 0 and not process.stdout:
        raise Skip("man cannot format pages here")
    assert not process.stderr, process.stderr


def the_synopsis_has_every_command():
    synopsis = read("braid.1").split(".SH SYNOPSIS\n")[1].split("\n.SH")[0]
    for command in options_of_help():
        assert f".B braid {command}\n" in synopsis, command


def help_is_in_columns():
    for command in options_of_help():
        for line in braid(command, "--help").out.splitlines():
            if re.match("  --", line):
                assert re.match("  --.{15} [^ ]", line), line


def bash_completes_every_option():
    script = read("completion/braid.bash")
    for command, options in options_of_help().items():
        found = re.search(rf'^    {command}\) options="([^"]*)"', script, re.MULTILINE)
        assert set(found.group(1).split()) == options, command


def bash_completion_works():
    def complete(*words):
        line = " ".join(f"'{word}'" for word in words)
        script = (f". {FOLDER}/completion/braid.bash; COMP_WORDS=({line}); "
                  f"COMP_CWORD={len(words) - 1}; _braid; echo ${{COMPREPLY[@]}}")
        return subprocess.run(["bash", "-O", "extglob", "-c", script], check=True,
                              stdout=subprocess.PIPE).stdout.decode().split()
    assert complete("braid", "d") == ["diff", "devices"]
    assert complete("braid", "plan", "--la") == ["--lanes"]
    assert complete("braid", "run", "--device", "c") == ["cpu", "cuda"]


def zsh_completes_every_option():
    script = read("completion/_braid")
    for command, options in options_of_help().items():
        section = re.search(rf"^    {command}\)\n(.*?);;", script, re.MULTILINE | re.DOTALL).group(1)
        assert set(re.findall(r"'(--[a-z-]+)=?\[", section)) == options, command
        values = set(re.findall(r"^  (--[a-z-]+) [A-Z]", braid(command, "--help").out, re.MULTILINE))
        assert set(re.findall(r"'(--[a-z-]+)=\[", section)) == values, command


if __name__ == "__main__":
    sys.exit(run([
        the_man_page_has_every_option,
        the_man_page_is_well_formed,
        the_synopsis_has_every_command,
        help_is_in_columns,
        bash_completes_every_option,
        bash_completion_works,
        zsh_completes_every_option,
    ]))
