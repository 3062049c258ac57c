"""Run tests on a copy of the tree, each time in a new process with all tools loaded.

Loading pytest, SymPy and pint takes longer than most tests. A worker loads them once,
nothing of the book among them, and forks: the child imports the book as it lies in the
worker's copy, defect and all, runs pytest there, and says which tests failed.
"""

from __future__ import annotations

import gc
import importlib
import os
import shutil
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path

from planted.defect import Defect, planted

NOT_COPIED = shutil.ignore_patterns("_build", "dist", "vendor", ".*", "__pycache__")
TOOLS = (
    "numpy",
    "sympy",
    "pint",
    "hypothesis",
    "nbformat",
    "playwright.sync_api",
    "pytest",
    "quickjs",
)
LIMIT_S = 300.0
FAILED, BROKEN = 1, 2  # pytest's exit codes: a test failed, a test was not even found
UNLOADED = "ImportError while loading conftest"  # which makes all figures of the book


@dataclass
class Outcome:
    """What a run of pytest said: its exit code, and the tests that failed."""

    code: int
    failed: list[str] = field(default_factory=list)

    @property
    def red(self) -> bool:
        """Whether a test noticed."""
        return self.code != 0


class Failures:
    """A pytest plugin that keeps the names of what fails."""

    def __init__(self) -> None:
        self.failed: list[str] = []

    def pytest_runtest_logreport(self, report: object) -> None:
        """A test has run."""
        self._note(report)

    def pytest_collectreport(self, report: object) -> None:
        """A file has been searched for tests."""
        self._note(report)

    def _note(self, report: object) -> None:
        if getattr(report, "failed", False):
            self.failed.append(str(getattr(report, "nodeid", "")))


class Sandbox:
    """A copy of the tree at ``root`` in ``folder``; every worker has its own."""

    def __init__(self, root: Path, folder: Path) -> None:
        self.root = folder
        self._planted, self._held = 0, False
        shutil.copytree(root, folder, ignore=NOT_COPIED)

    @contextmanager
    def holding(self, defects: Iterable[Defect]) -> Iterator[None]:
        """The copy with these defects, all in one file; without them afterwards.

        The file gets a date of its own each time: bytecode is kept by date and size,
        and one digit does not change the size.
        """
        defects = tuple(defects)
        if not defects:
            yield
            return
        path = self.root / defects[0].file
        stat, data = path.stat(), path.read_bytes()
        self._planted += 1
        path.write_bytes(planted(data, defects))
        os.utime(path, (self._planted, self._planted))
        self._held = True
        try:
            yield
        finally:
            self._held = False
            path.write_bytes(data)
            os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))

    def pytest(self, *arguments: str) -> Outcome:
        """Run pytest in the copy; a run without end counts as red.

        Raises:
            RuntimeError: pytest found no test, or could not start.
        """
        forked = get_context("fork")
        receiver, sender = forked.Pipe(duplex=False)
        child = forked.Process(target=_pytest, args=(self.root, arguments, sender))
        child.start()
        sender.close()
        try:
            ended = receiver.poll(LIMIT_S)
            outcome = receiver.recv() if ended else Outcome(BROKEN, ["without end"])
        except EOFError:
            outcome = Outcome(-1)
        finally:
            child.kill()
            child.join()
        if outcome.code not in (0, FAILED, BROKEN):
            log = (self.root / "log").read_text("utf8", "replace")
            if self._held and UNLOADED in log:  # a figure with it cannot be made
                return Outcome(BROKEN, ["conftest"])
            raise RuntimeError(f"pytest must run {arguments}, got {log[-2000:]}")
        return outcome


def load_tools() -> None:
    """Load what every run needs and no run changes."""
    for name in TOOLS:
        importlib.import_module(name)
    for plugin in entry_points(group="pytest11"):
        plugin.load()
    import sympy

    x = sympy.Symbol("x", positive=True)  # SymPy loads its solvers at the first use
    sympy.simplify(sympy.limit(sympy.solve(x * 2 - 1, x)[0] / x, x, "oo"))
    gc.freeze()  # pytest collects garbage at its end; all this is none


def _pytest(root: Path, arguments: tuple[str, ...], sender: Connection) -> None:
    """Become a pytest that was started in ``root``, and report."""
    import pytest

    os.chdir(root)
    sys.path.insert(0, str(root / "src"))
    os.environ["PYTHONPATH"] = str(root / "src")  # for the kernels of notebooks
    with open("log", "wb") as log:
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
    plugin = Failures()
    # The tools are loaded already: pytest would warn that it cannot rewrite them.
    loaded = ("-W", "ignore:Module already imported")
    brief = ("-q", "--tb=no", "-p", "no:cacheprovider")
    code = pytest.main([*brief, *loaded, *arguments], plugins=[plugin])
    sender.send(Outcome(int(code), plugin.failed))
    sender.close()
