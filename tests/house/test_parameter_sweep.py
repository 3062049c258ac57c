"""A sweep is the same wherever it runs, and what it has computed it never loses."""

import json
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from itertools import islice
from math import comb
from multiprocessing import get_context
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import pytest

from llmserve_lab.parameter_sweep import keyed, sweep

SETTINGS = [{"n": n, "k": k} for n in (5, 20, 60) for k in (1, 3)]
Opened = Callable[[str], Executor]


def ways(*, n: int, k: int) -> int:
    """Something that a worker can be sent to compute."""
    return comb(n, k)


def other(*, n: int, k: int) -> int:
    return n - k


def answers(found: Iterator[Any]) -> dict[tuple[int, int], int]:
    return {(each.setting["n"], each.setting["k"]): each.result for each in found}


WANTED = {(s["n"], s["k"]): ways(**s) for s in SETTINGS}


@pytest.fixture
def opened() -> Iterator[Opened]:
    """Executors by name, closed after the test."""
    closing: list[Any] = []

    def start(name: str) -> Executor:
        if name == "processes":
            found: Any = ProcessPoolExecutor(1, mp_context=get_context("forkserver"))
        elif name == "threads":
            found = ThreadPoolExecutor(2)
        else:
            from distributed import Client

            here: dict[str, Any] = {"processes": False, "dashboard_address": None}
            client: Any = Client(n_workers=1, **here)
            closing.append(client.close)
            return client.get_executor()  # type: ignore[no-any-return]
        closing.append(found.shutdown)
        return found  # type: ignore[no-any-return]

    yield start
    for close in closing:
        close()


@pytest.mark.parametrize("name", ["threads", "processes", "dask"])
def test_every_executor_gives_the_answers_of_none(opened: Opened, name: str) -> None:
    assert answers(sweep(ways, SETTINGS)) == WANTED
    assert answers(sweep(ways, SETTINGS, executor=opened(name))) == WANTED


@pytest.mark.parametrize("stopped_after", [0, 1, 4, 6])
def test_a_sweep_goes_on_where_it_was_stopped(
    tmp_path: Path, stopped_after: int
) -> None:
    file, called = tmp_path / "ways.jsonl", []

    def counted(*, n: int, k: int) -> int:
        called.append((n, k))
        return comb(n, k)

    first = sweep(counted, SETTINGS, file=file)
    assert len(list(islice(first, stopped_after))) == stopped_after
    first.close()  # type: ignore[attr-defined]
    assert answers(sweep(counted, SETTINGS, file=file)) == WANTED
    assert sorted(called) == sorted(WANTED)  # none twice
    assert len(file.read_text().splitlines()) == len(WANTED)


def test_every_answer_is_on_disk_before_it_is_seen(tmp_path: Path) -> None:
    file = tmp_path / "ways.jsonl"
    for seen, answer in enumerate(sweep(ways, SETTINGS, file=file), start=1):
        rows = [json.loads(line) for line in file.read_text().splitlines()]
        assert len(rows) == seen and rows[-1]["result"] == answer.result


def test_a_line_cut_off_while_it_was_written_is_computed_again(tmp_path: Path) -> None:
    file = tmp_path / "ways.jsonl"
    list(sweep(ways, SETTINGS, file=file))
    whole = file.read_bytes()
    file.write_bytes(whole[:-7])
    assert answers(sweep(ways, SETTINGS, file=file)) == WANTED
    assert file.read_bytes() == whole


def test_a_file_holds_the_answers_of_one_function(tmp_path: Path) -> None:
    file = tmp_path / "ways.jsonl"
    list(sweep(ways, SETTINGS, file=file))
    with pytest.raises(ValueError, match=r"line 1: function must be .*other, got .*wa"):
        list(sweep(other, SETTINGS, file=file))


def test_a_file_answers_what_is_asked_and_no_more(tmp_path: Path) -> None:
    file = tmp_path / "ways.jsonl"
    list(sweep(ways, SETTINGS[:4], file=file))
    asked = SETTINGS[3:]
    assert answers(sweep(ways, asked, file=file)) == answers(sweep(ways, asked))


def numpy_ways(*, n: int, k: int) -> Any:
    return np.int64(comb(n, k)), np.array([n, k]), 1.5


def test_an_answer_is_the_same_computed_and_read_again(tmp_path: Path) -> None:
    file, asked = tmp_path / "ways.jsonl", [{"n": np.int64(5), "k": 3}]
    computed, again = (list(sweep(numpy_ways, asked, file=file)) for _ in "12")
    assert computed == again and computed[0].result == [10, [5, 3], 1.5]
    assert len(file.read_text().splitlines()) == 1


def test_what_no_file_can_hold_is_refused_by_name(tmp_path: Path) -> None:
    file = tmp_path / "sets.jsonl"
    with pytest.raises(TypeError, match=r"it must be JSON, got \{1\}"):
        list(sweep(a_set, [{"n": 1}], file=file))
    assert [each.result for each in sweep(a_set, [{"n": 1}])] == [{1}]


def a_set(*, n: int) -> set[int]:
    return {n}


def test_what_has_not_begun_is_cancelled_when_nobody_listens(opened: Opened) -> None:
    begun, gate = [], Event()

    def slow(*, n: int) -> int:
        begun.append(n)
        if n:
            gate.wait(10)
        return n

    found = sweep(slow, [{"n": n} for n in range(9)], executor=opened("threads"))
    next(found)
    found.close()  # type: ignore[attr-defined]
    gate.set()
    assert len(begun) < 9


def test_an_error_reaches_the_caller_and_the_rest_is_kept(tmp_path: Path) -> None:
    file = tmp_path / "ways.jsonl"
    with pytest.raises(ValueError, match="non-negative"):
        list(sweep(ways, [*SETTINGS, {"n": -1, "k": 1}], file=file))
    assert len(file.read_text().splitlines()) == len(SETTINGS)


def test_settings_must_differ() -> None:
    with pytest.raises(ValueError, match=r"settings must differ, got .*twice"):
        keyed([{"n": 1, "k": 2}, {"k": 2, "n": 1}])
