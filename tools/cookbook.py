"""Read the runs that a page of SGLang's cookbook prints, with what was told.

A page names the GPUs, then a command that starts the server, then commands of the
client, each with what it printed. A run has the settings of the last of each before it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

HARDWARE = re.compile(r"^\W*Hardware:\W*(.+)$")
COMMAND = re.compile(r"launch_server|sglang serve|sglang\.bench_serving")
OPTION = re.compile(r"--([\w-]+)[ =]+([^\s-]\S*)|--([\w-]+)")
PRINTED = re.compile(r"^([A-Z][\w ().]*?):\s+([\d.]+)\s*$")
BEGINS = "Serving Benchmark Result"


@dataclass(frozen=True)
class PrintedRun:
    """One printed result: where, what server and client were told, what was printed."""

    hardware: str
    server: Mapping[str, str]
    client: Mapping[str, str]
    printed: Mapping[str, str]


def options(command: str) -> dict[str, str]:
    """Options of a command by name; one without a value has ``"true"``."""
    found = OPTION.findall(command)
    return {name or alone: value or "true" for name, value, alone in found}


def runs(page: str) -> Iterator[PrintedRun]:
    """All results that a page prints, in their order."""
    now = PrintedRun("", {}, {}, {})
    lines = iter(page.splitlines())
    for line in lines:
        if found := HARDWARE.match(line):
            now = PrintedRun(found[1], {}, {}, {})
        elif COMMAND.search(line):
            told = options(_whole(line, lines))
            if "bench_serving" in line:
                now = replace(now, client=told)
            else:
                now = PrintedRun(now.hardware, told, {}, {})
        elif BEGINS in line:
            yield replace(now, printed=_printed(lines))


def _whole(line: str, lines: Iterator[str]) -> str:
    """A command with all the lines that it goes on in."""
    while line.rstrip().endswith("\\"):
        line = line.rstrip().removesuffix("\\") + " " + next(lines, "").strip()
    return line


def _printed(lines: Iterator[str]) -> dict[str, str]:
    """Numbers by name, until the line of equals signs or the end of the block."""
    found = {}
    for line in lines:
        if line.startswith(("====", "```")):
            break
        if match := PRINTED.match(line.strip()):
            found[match[1]] = match[2]
    return found
