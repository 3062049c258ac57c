"""Public callables under hostile arguments, each call in a process that may be killed.

``python -m tests.fuzz.hostile FILE`` runs the chapters, keeps one real call of each
public function and class, and makes it again with one argument spoilt, then the next.
A line of FILE says what came of a callable. A call may use five seconds of computing.
"""

from __future__ import annotations

import inspect
import json
import math
import os
import random
import re
import resource
import select
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from numbers import Real
from pathlib import Path
from typing import IO, Any

import numpy as np

from tests.fuzz.formulas_called import public_formulas
from tests.fuzz.recorded_calls import CHAPTERS, Public, Recorder, publics

NUMBERS: tuple[Any, ...] = (
    0, -1, -2.5, 0.5, math.nan, math.inf, -math.inf,
    10**7, 2**63, 10**30, 1e308, 1e-308,
)  # fmt: skip
OTHERS: tuple[Any, ...] = ("", "x", None, [], {}, True, object(), np.array([1.0, -1.0]))
FRONT = CHAPTERS.parent / "intro.ipynb"
SOME = 3  # of the others, for each argument
LONGEST_S = 5.0
SILENT_S = 60.0  # a call that computes nothing and does not return
WHOLE_S = 90.0  # of one callable
MOST_BYTES = 6 * 2**30
MOST_DEATHS = 8
TAKEN = 1000  # of what a generator yields


def all_numbers(found: tuple[Any, ...] | list[Any]) -> bool:
    """Whether there is nothing else in it."""
    return all(isinstance(each, Real) for each in found)


def cases(public: Public) -> Iterator[tuple[str, Any]]:
    """The name of an argument, and what it is given instead."""
    rng = random.Random(public.name)
    for name, usual in public.usual.items():
        others = rng.sample(OTHERS, SOME)
        values: tuple[Any, ...] = (*others, math.nan)
        if isinstance(usual, Real) and not isinstance(usual, bool):
            values = (*NUMBERS, *others)
        elif type(usual) in (tuple, list) and all_numbers(usual):
            kind = type(usual)
            values = (*others, *(kind([*usual[:-1], number]) for number in NUMBERS))
        yield from ((name, value) for value in values)


def finite(found: object, depth: int = 4) -> bool:
    """Whether every number in a result is one."""
    if isinstance(found, float | np.floating):
        return math.isfinite(found)
    if isinstance(found, np.ndarray):
        return found.dtype.kind not in "fc" or bool(np.isfinite(found).all())
    inside: list[object] = []
    if isinstance(found, dict):
        inside = [*found.values()]
    elif isinstance(found, list | tuple):
        inside = [*found]
    elif is_dataclass(found) and not isinstance(found, type):
        inside = [getattr(found, field.name, None) for field in fields(found)]
    return depth == 0 or all(finite(each, depth - 1) for each in inside)


def call(public: Public, given: dict[str, Any]) -> object:
    """What comes out; of a generator the beginning."""
    found = public.called(**given)
    if inspect.isgenerator(found):
        return [each for _, each in zip(range(TAKEN), found, strict=False)]
    return found


def judged(public: Public, name: str, value: Any) -> tuple[str, str]:
    """A word on how a call ends, and the message of an error.

    A call is refused where the message has a rule and the name of an argument, and
    inside where the name is another's: that of a function or a formula further down.
    A look-up such as ``model(key)`` says what is looked up, by its own name.
    """
    own = public.name.rsplit(".", 1)[-1]
    try:
        found = call(public, {**public.usual, name: value})
    except (ValueError, TypeError) as error:
        text = str(error)
        known = any(re.search(rf"\b{each}\b", text) for each in public.usual)
        known = known or text.startswith(f"{own} must be one of ")
        word = "refused" if known else "inside" if " must " in text else "nameless"
        return word, text[:200]
    except MemoryError as error:
        return "memory", str(error)[:200]
    except Exception as error:
        return type(error).__name__, str(error)[:200]
    if finite(found) or not finite(call(public, public.usual)):
        return "finite", ""
    return "not finite", ""


def play(public: Public, start: int, out: IO[str]) -> None:
    """Make the calls from ``start`` on, and say so before and after each."""
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 1)
    os.dup2(nothing, 2)
    for at, (name, value) in enumerate(cases(public)):
        if at < start:
            continue
        print(json.dumps([at, name, repr(value)[:60]]), file=out, flush=True)
        # The kernel ends a process that has computed for so long.
        signal.setitimer(signal.ITIMER_PROF, LONGEST_S)
        word, text = judged(public, name, value)
        signal.setitimer(signal.ITIMER_PROF, 0)
        print(json.dumps([word, text]), file=out, flush=True)
    print(json.dumps("end"), file=out, flush=True)


def lines_of(pipe: int, ends: float) -> Iterator[Any]:
    """What a child says, until it stops or is silent for too long."""
    rest = b""
    while time.monotonic() < ends and select.select([pipe], [], [], SILENT_S)[0]:
        data = os.read(pipe, 65536)
        if not data:
            return
        *lines, rest = (rest + data).split(b"\n")
        yield from map(json.loads, lines)


def forked(public: Public, start: int, ends: float) -> tuple[list[Any], bool]:
    """Lines of a child that plays from ``start`` on; whether it came to the end."""
    pipe, out = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(pipe)
            with os.fdopen(out, "w") as said:
                play(public, start, said)
        finally:
            os._exit(0)
    os.close(out)
    lines = list(lines_of(pipe, ends))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(pipe)
    return lines, lines[-1:] == ["end"]


def hunted(public: Public) -> dict[str, Any]:
    """Everything that came of a callable: argument, value, word, message."""
    found: list[list[str]] = []
    ends, start, deaths, is_done = time.monotonic() + WHOLE_S, 0, 0, False
    while not is_done and deaths < MOST_DEATHS and time.monotonic() < ends:
        lines, is_done = forked(public, start, ends)
        asked = [line for line in lines if line != "end" and isinstance(line[0], int)]
        said = [line for line in lines if line != "end" and isinstance(line[0], str)]
        found += [[*a[1:], *s] for a, s in zip(asked, said, strict=False)]
        if not is_done and len(asked) > len(said) and time.monotonic() < ends:
            found.append([*asked[-1][1:], "no answer", ""])
        if not asked:
            break
        start, deaths = asked[-1][0] + 1, deaths + 1
    return {"name": public.name, "calls": found, "done": is_done}


def works(public: Public) -> bool:
    """Whether the recorded call can be made again, in a child of its own."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.dup2(os.open(os.devnull, os.O_RDWR), 1)
            signal.setitimer(signal.ITIMER_PROF, LONGEST_S)
            call(public, public.usual)
            code = 0
        finally:
            os._exit(code)
    return os.waitpid(child, 0)[1] == 0


def recorded(pattern: str) -> list[Public]:
    """Those of the package that the chapters call, by name."""
    found = [each for each in publics() if re.search(pattern, each.name)]
    recorder = Recorder(found)
    for path in (FRONT, *sorted(CHAPTERS.glob("*.ipynb"))):
        recorder.run_chapter(path)
    of_formulas = (each for each in public_formulas() if re.search(pattern, each.name))
    return [*(each for each in found if each.is_recorded), *of_formulas]


def main(out: Path, pattern: str = "", lanes: int = 2) -> None:
    """Record, then hunt in so many processes; each writes a file of its own."""
    os.environ["MPLBACKEND"] = "agg"
    found = recorded(pattern)
    children = []
    os.chdir(tempfile.mkdtemp())  # what a hostile path writes stays there
    for lane in range(lanes):
        if (child := os.fork()) == 0:
            with open(f"{out}.{lane}", "w", encoding="utf-8", buffering=1) as file:
                for each in found[lane::lanes]:
                    if works(each):
                        print(json.dumps(hunted(each)), file=file)
            os._exit(0)
        children.append(child)
    for child in children:
        os.waitpid(child, 0)


if __name__ == "__main__":
    main(Path(sys.argv[1]).absolute(), "".join(sys.argv[2:3]))
