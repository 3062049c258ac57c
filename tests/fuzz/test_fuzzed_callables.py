"""Formulas, and public callables that the chapters use, under hostile arguments."""

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
LEAST = 60_000  # calls
# What a user starts from: whatever is wrong is named there.
FRONT = ("checks", "engine", "workloads", "paged_cache", "parameter_sweep")
FORMULAS = "llmserve_lab.formulas."
# Most of these bear no check of each call (`llmserve_lab/boundary/__init__.py`).
BARE = (*FRONT, "page", "extras")
# A message that names an argument of the callable itself.
TOLD = ("refused", "finite")
SHARE = 0.01  # of a room's calls that may end in another way
# What is not told, and why that is as it should be; by the beginning of its name.
ALLOWED = {
    "llmserve_lab.checks.": "a check names what its caller says",
    "llmserve_lab.engine.scheduler.sequence.": "made in the engine's loop",
    "llmserve_lab.engine.timing.iteration_span.": "made in the engine's loop",
    "llmserve_lab.engine.timing.time_tolerance.": "asked by the engine at each event",
    "llmserve_lab.engine.deployment.Disaggregated(bytes_per_s)": "instant by default",
    "llmserve_lab.claims.printed.factor(ratio)": "infinite by definition, from 0 down",
    "llmserve_lab.roofline.page.playground.settings(config)": "a file not found",
}
# The reader's own code, as the page prints it, has no checks.
OF_THE_READER = ".exercise."
# A hostile seed is as good as any, and some runs take long with every seed.
FREE = ("seed",)


@pytest.fixture(scope="module")
def hunted(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """What came of each callable."""
    out = tmp_path_factory.mktemp("hostile") / "found"
    command = [sys.executable, "-W", "ignore", "-m", "tests.fuzz.hostile", str(out)]
    subprocess.run(command, cwd=ROOT, check=True)
    lines = [
        line for path in out.parent.iterdir() for line in path.read_text().splitlines()
    ]
    return [json.loads(line) for line in lines]


Call = tuple[str, str, str, str]


def calls(found: list[dict[str, Any]]) -> Iterator[Call]:
    """Callable and argument, value, word, message."""
    for each in found:
        for name, value, word, text in each["calls"]:
            if name not in FREE and OF_THE_READER not in each["name"]:
                yield f"{each['name']}({name})", value, word, text


def judged(found: list[dict[str, Any]]) -> list[Call]:
    """Those that must be told."""
    return [each for each in calls(found) if not each[0].startswith((*ALLOWED,))]


def test_nothing_runs_for_long_or_takes_all_memory(
    hunted: list[dict[str, Any]],
) -> None:
    every = list(calls(hunted))
    print(len(every), "calls", Counter(word for _, _, word, _ in every).most_common())
    assert len(every) > LEAST
    assert not [each for each in every if each[2] in ("no answer", "memory")]


def test_a_count_that_is_too_large_is_refused_by_name_in_the_front_rooms(
    hunted: list[dict[str, Any]],
) -> None:
    front = tuple(f"llmserve_lab.{room}." for room in FRONT)
    own = [each for each in judged(hunted) if each[0].startswith(front)]
    numbers = [each for each in own if each[1].lstrip("-")[:1].isdigit()]
    wrong = [each for each in numbers if each[2] not in TOLD]
    assert len(numbers) > 500
    assert not wrong


def test_a_formula_refuses_by_an_argument_that_it_was_given(
    hunted: list[dict[str, Any]],
) -> None:
    own = [each for each in calls(hunted) if each[0].startswith(FORMULAS)]
    assert len(own) > 40_000
    assert not [each for each in own if each[2] not in TOLD]


def test_a_wrong_argument_is_named_in_every_other_room(
    hunted: list[dict[str, Any]],
) -> None:
    """Whether it is no number, of another kind, or not finite."""
    every: Counter[str] = Counter()
    wrong: Counter[str] = Counter()
    for name, _, word, _ in judged(hunted):
        room = name.split(".")[1]
        every[room] += 1
        wrong[room] += word not in TOLD
    print("not told:", wrong.most_common())
    shares = {room: wrong[room] / every[room] for room in every if room not in BARE}
    assert len(shares) > 20
    assert {room: share for room, share in shares.items() if share > SHARE} == {}


def test_what_is_allowed_is_not_told_otherwise(hunted: list[dict[str, Any]]) -> None:
    untold = [name for name, _, word, _ in calls(hunted) if word not in TOLD]
    for name in ALLOWED:
        assert any(each.startswith(name) for each in untold), name
