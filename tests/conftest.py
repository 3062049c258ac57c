"""What every test may ask for: the repository's root, and how to do without a tool."""

import gc
import os
import sys
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

import nbval.kernel
import pytest
from _pytest.runner import runtestprotocol
from hypothesis import settings
from jupyter_client.provisioning import local_provisioner
from xdist import is_xdist_worker
from xdist.scheduler import LoadScopeScheduling

from tests import kernels
from tests.depth import examples

ROOT = Path(__file__).resolve().parents[1]
ROOMS = {folder.parent.name for folder in ROOT.glob("src/llmserve_lab/*/page")}
TIMES = "llmserve_lab/seconds"  # in pytest's cache
ORDINARY_S, CELL_S = 0.016, 0.12  # seconds of a test, and of a chapter's cell

# Tests, and the cells of a chapter, make many objects and no garbage worth looking for
# so often.
RARELY = 200_000, 20, 100
gc.set_threshold(*RARELY)
nbval.kernel.start_new_kernel = partial(
    nbval.kernel.start_new_kernel,
    extra_arguments=[f"--IPKernelApp.exec_lines=import gc; gc.set_threshold{RARELY}"],
)
if sys.platform == "linux":  # elsewhere a fork of loaded libraries is not safe
    vars(local_provisioner)["launch_kernel"] = kernels.launch
# nbval lays out each message of a kernel for a log that nobody has asked for.
nbval.kernel.pformat = str
# The same examples on every run, and no clock: a busy machine is not a defect.
settings.register_profile(
    "book", derandomize=True, deadline=None, max_examples=examples(30)
)
settings.load_profile("book")


@pytest.fixture(scope="session")
def root() -> Path:
    """The folder that holds pyproject.toml."""
    return ROOT


@pytest.fixture(scope="session")
def optional() -> Callable[[str, object], None]:
    """`optional("chromium is not installed", shutil.which("chromium"))`.

    Where the tool is missing a reader's run skips, and says why. Under CI=true the
    test fails instead: there a skipped test is one that nobody ever runs.
    """

    def need(reason: str, available: object) -> None:
        if available:
            return
        if os.environ.get("CI") == "true":
            pytest.fail(f"{reason}, and CI=true allows no skip")
        pytest.skip(reason)

    return need


class ByRoom(LoadScopeScheduling):  # type: ignore[misc]  # it has no stubs
    """Give all that computes for one chapter to one process, and else a file to one.

    A process keeps the simulations that it has run, and the figures and questions that
    `tests/page` goes through are made of the same ones as the chapter's own tests.

    What takes longest starts first, so that only short files are left for the end. How
    long a test took is remembered from run to run in pytest's cache; one that nobody
    timed counts as an ordinary one, and a cell of a chapter as several.
    """

    def __init__(self, config: pytest.Config, log: Any = None) -> None:
        super().__init__(config, log)
        kept = getattr(config, "cache", None)  # -p no:cacheprovider
        self.took: dict[str, float] = kept.get(TIMES, {}) if kept else {}
        self._long: dict[str, float] = {}  # seconds of all tests of a scope

    def _split_scope(self, nodeid: str) -> str:
        return room_of(nodeid)

    def _assign_work_unit(self, node: Any) -> None:
        longest = max(self.workqueue, key=self._seconds)
        self.workqueue.move_to_end(longest, last=False)
        super()._assign_work_unit(node)

    def _seconds(self, scope: str) -> float:
        if scope not in self._long:
            self._long[scope] = seconds(self.workqueue[scope], self.took)
        return self._long[scope]

    def mark_test_complete(
        self, node: Any, item_index: int, duration: float = 0
    ) -> None:
        nodeid = self.registered_collections[node][item_index]
        self.took[nodeid] = round(duration, 3)
        super().mark_test_complete(node, item_index, duration)
        # xdist counts after each test all that its process has done so far.
        work, scope = self.assigned_work[node], room_of(nodeid)
        if all(work[scope].values()):
            del work[scope]


def seconds(tests: Iterable[str], took: Mapping[str, float]) -> float:
    """How long these tests take, by what each took in the last run."""
    return sum(
        took.get(test, CELL_S if ".ipynb::" in test else ORDINARY_S) for test in tests
    )


@cache
def room_of(nodeid: str) -> str:
    """The chapter's package that a test is about; of any other test its file."""
    file, _, test = nodeid.partition("::")
    room = Path(file).parent.name
    if room in ("claims", "house"):  # what one has judged or parsed serves the others
        return room
    if room == "page":  # ...[kv_memory.stills.routing], ...[kv-memory.predict-routing]
        room = test.partition("[")[2].partition(".")[0].replace("-", "_")
    return room if room in ROOMS else file


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> ByRoom | None:
    """`--dist loadfile` asks for it; every other way to distribute stays as it is."""
    return ByRoom(config, log) if config.getvalue("dist") == "loadfile" else None


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Each worker begins at another folder: what one has compiled the others load.

    In a fresh clone all of them would compile the same files at the same time.
    """
    report = yield
    worker = getattr(collector.config, "workerinput", None)
    if worker and collector.path == ROOT / "tests" and report.result:
        number = int(worker["workerid"].removeprefix("gw"))
        first = len(report.result) * number // worker["workercount"]
        report.result = [*report.result[first:], *report.result[:first]]
    return report


def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Wherever a worker began, its tests are in the order of all the others."""
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: item.path)


def pytest_collection_finish() -> None:
    """Tests that are collected stay: no search for garbage looks at them again."""
    gc.freeze()


def pytest_runtest_protocol(
    item: pytest.Item, nextitem: pytest.Item | None
) -> bool | None:
    """A worker tells of a test itself, and of what comes before and after if it fails.

    Messages are most of what a quick test costs, and there are thousands.
    """
    if not is_xdist_worker(item.session):
        return None
    for report in runtestprotocol(item, log=False, nextitem=nextitem):
        if report.when == "call" or not report.passed:
            item.ihook.pytest_runtest_logreport(report=report)
    return True


@pytest.hookimpl(trylast=True)
def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """What a worker tells of a test also says that it is over: no message more."""
    if worker := getattr(report, "node", None):
        worker.config.hook.pytest_runtest_logfinish(
            nodeid=report.nodeid, location=report.location
        )


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Remember the times for the next run."""
    workers = session.config.pluginmanager.getplugin("dsession")
    scheduler = getattr(workers, "sched", None)
    kept = getattr(session.config, "cache", None)
    if isinstance(scheduler, ByRoom) and kept is not None:
        kept.set(TIMES, scheduler.took)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what tests recorded as `record_property("report", line)`, and each skip.

    A run in which half of the tests never ran must not look like one that passed.
    """
    skipped = Counter(
        str(report.longrepr[-1]).removeprefix("Skipped: ")
        for report in terminalreporter.getreports("skipped")
        if isinstance(report.longrepr, tuple)
    )
    for reason, times in skipped.items():
        terminalreporter.write_line(f"{times} skipped: {reason}")
    for report in terminalreporter.getreports("passed"):
        for name, line in report.user_properties:
            if name == "report":
                terminalreporter.write_line(str(line))
