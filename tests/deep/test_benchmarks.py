"""Every benchmark still runs; what it measures is no test's business."""

from importlib import import_module

import pytest
from benchmarks import Line
from benchmarks.__main__ import names

# Pages and book are built and opened by other tests; the others take minutes.
LONG = ("book", "pages", "afd")


@pytest.mark.parametrize("name", [each for each in names() if each not in LONG])
def test_a_benchmark_comes_to_its_end(name: str) -> None:
    module = import_module(f"benchmarks.{name}")
    lines = list(module.main()) if hasattr(module, "main") else []
    assert all(isinstance(each, Line) for each in lines)


def test_every_benchmark_is_run_or_named() -> None:
    assert set(LONG) < set(names())
