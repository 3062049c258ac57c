"""What every test may ask for: the repository's root, and how to do without a tool."""

import gc
import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

from tests.depth import examples

ROOT = Path(__file__).resolve().parents[1]

# Seven thousand tests make many objects and no garbage worth looking for so often.
gc.set_threshold(200_000, 20, 100)
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
