"""The same programs on real processes: the same bits, ledger and errors."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from llmserve_lab.collectives import launched, run
from tests.collectives.on_processes import large, plain, told
from tests.collectives.printed import OPEN_MPI
from tests.collectives.programs import RIGHT, WRONG

Mpiexec = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def mpiexec(root: Path, optional: Callable[[str, object], None]) -> Mpiexec:
    """``mpiexec(2, "-m", "module")`` with the MPI beside this Python, or any other."""
    beside = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    command = shutil.which("mpiexec", path=beside)
    optional("mpi4py is not installed", find_spec("mpi4py"))
    optional("mpiexec is not installed", command)

    def start(num_ranks: int, *args: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [command or "", "-n", str(num_ranks), sys.executable, *args],
            cwd=root,
            env=os.environ | OPEN_MPI | {"PYTHONPATH": str(root)},
            capture_output=True,
            text=True,
            timeout=60,
        )

    return start


def outcomes(mpiexec: Mpiexec, num_ranks: int) -> list[Any]:
    done = mpiexec(num_ranks, "-m", "tests.collectives.on_processes")
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.fixture(scope="module", params=[2, 4])
def seen(request: pytest.FixtureRequest, mpiexec: Mpiexec) -> list[Any]:
    """What each of two, then of four, processes saw."""
    found = outcomes(mpiexec, request.param)
    assert len(found) == request.param
    return found


def test_every_process_has_what_lockstep_gives(seen: list[Any]) -> None:
    for name, program in (RIGHT | {"large": large}).items():
        expected = json.loads(json.dumps(told(run(program, len(seen)))))
        for process in seen:
            assert process["right"][name] == expected, name


def test_every_process_is_told_the_same_as_in_lockstep(seen: list[Any]) -> None:
    for name, (program, for_two) in WRONG.items():
        with pytest.raises(RuntimeError) as caught:
            run(program, len(seen))
        for process in seen:
            assert process["wrong"][name] == str(caught.value)
            assert len(seen) > 2 or process["wrong"][name] == for_two


def test_what_cannot_leave_a_process_is_an_error(seen: list[Any]) -> None:
    for process in seen:
        assert "raised" in process["wrong"]["unpicklable"]
        assert "unpicklable" in process["wrong"]["unpicklable"]


def test_the_number_of_ranks_is_that_of_the_processes(seen: list[Any]) -> None:
    for process in seen:
        assert process["wrong"]["too many"].endswith(
            f"{len(seen)}, got {len(seen) + 1}"
        )


def test_after_an_error_the_next_run_is_as_good_as_new(seen: list[Any]) -> None:
    assert all(process["after"] == process["right"]["ring"] for process in seen)


def test_a_process_that_never_comes_ends_all(mpiexec: Mpiexec) -> None:
    done = mpiexec(2, "-m", "tests.collectives.on_processes", "asleep")
    assert done.returncode != 0
    message = "rank 1 in barrier (collective 1): it has waited 0.2 s for rank 0"
    assert message in done.stderr


def test_the_demonstration_prints_once(mpiexec: Mpiexec) -> None:
    done = mpiexec(4, "-m", "llmserve_lab.collectives")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("Exchanged between 4 ranks") == 1
    assert "sum of the ranks' numbers, on every rank: 6" in done.stdout


def test_without_mpiexec_it_is_one_process() -> None:
    assert plain((1, 2.0)) == [1, 2.0]
    assert launched() is None
    command = [sys.executable, "-m", "llmserve_lab.collectives"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "4 ranks on as many threads" in done.stdout


def test_a_missing_mpi_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mpi4py.MPI", None)
    monkeypatch.setitem(sys.modules, "mpi4py", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'llmserve-lab\[mpi\]'"):
        run(lambda rank: None, 2, backend="mpi")
