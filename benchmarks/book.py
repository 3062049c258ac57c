"""How long an author waits: for pages built a second time, and for all the tests.

Seconds of this machine, with two workers, as busy as it is just now.
"""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter

from benchmarks import Line

ROOT = Path(__file__).resolve().parents[1]
BOOK_S, TEST_S = 90.0, 200.0


def make_s(target: str) -> float:
    """Seconds that ``make`` takes for a target.

    Raises:
        CalledProcessError: it fails.
    """
    start = perf_counter()
    command = ["make", "--silent", target]
    subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    return perf_counter() - start


def main() -> Iterator[Line]:
    """Yield the time of a second ``make book``, and of the tests with ``--slow``.

    The pages have been built once before: ``make bench`` sees to that.
    """
    yield Line("make book again, this machine", make_s("book"), BOOK_S, "s")
    if "--slow" in sys.argv[1:]:
        yield Line("make test, this machine", make_s("test"), TEST_S, "s")
