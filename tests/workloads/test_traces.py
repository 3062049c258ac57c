"""What was written is read again, a flaw is named, and memory stays flat."""

import json
import tracemalloc
from collections import deque
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from hashlib import sha256
from itertools import islice
from pathlib import Path

import pytest

from llmserve_lab.engine.scheduler.request import Request
from llmserve_lab.workloads import READERS, lines, made_up, published
from llmserve_lab.workloads.synthetic import START, WRITERS, write_made_up
from llmserve_lab.workloads.traces import MOONCAKE_BLOCK, datetime_s
from tests.workloads.real import LENGTHS, SAMPLES, lengths, real, samples
from tests.workloads.test_flaws import AZURE, BURST

LONG = 5_000


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("traces")
    write_made_up(made, num_requests=300, seed=1)
    return made


def made(folder: Path) -> list[tuple[str, Path]]:
    return [(path.stem, path) for path in sorted(folder.iterdir())]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Made-up traces, first lines of real ones, whole ones where a machine has them."""
    if "real_trace" in metafunc.fixturenames:
        found: list[tuple[str, Path | None]] = [(form, None) for form in READERS]
        found += [*samples(), *real()]
        names = [path.name if path else f"made-up {form}" for form, path in found]
        metafunc.parametrize("real_trace", found, ids=names)


@pytest.fixture
def trace(real_trace: tuple[str, Path | None], folder: Path) -> tuple[str, Path]:
    form, path = real_trace
    return form, path or dict(made(folder))[form]


@pytest.mark.parametrize("form", READERS)
def test_what_was_written_is_read_again(form: str, folder: Path) -> None:
    want = list(made_up(num_requests=300, seed=1)[form])
    found = list(READERS[form](dict(made(folder))[form]))
    assert len(found) == len(want)
    for one, other in zip(want, found, strict=True):
        since = one.arrival_s - want[0].arrival_s
        assert other.arrival_s == pytest.approx(since, abs=2e-3)
        assert (other.prompt_len, other.output_len) == (one.prompt_len, one.output_len)
        assert (other.id, other.prefix) == (one.id, one.prefix)


def test_a_trace_is_read_line_by_line_by_hand(trace: tuple[str, Path]) -> None:
    """The totals of a reader that knows nothing of ours."""
    form, path = trace
    lines = path.read_text().splitlines()
    if form == "mooncake":
        rows = [json.loads(line) for line in lines]
        sizes = [(row["input_length"], row["output_length"]) for row in rows]
    else:
        columns = {"azure": (1, 2), "burstgpt": (2, 3)}[form]
        cells = [line.split(",") for line in lines[1:]]
        sizes = [(int(row[columns[0]]), int(row[columns[1]])) for row in cells]
    answered = [size for size in sizes if size[1]]
    found = list(READERS[form](path))
    assert [(each.prompt_len, each.output_len) for each in found] == answered
    times = [each.arrival_s for each in found]
    assert times == sorted(times) and times[0] >= 0


def test_the_samples_are_those_that_were_published() -> None:
    """Checksums, and that lengths agree with the lines that are kept whole."""
    for line in (SAMPLES / "SHA256SUMS").read_text("utf8").splitlines():
        digest, name = line.split()
        assert sha256((SAMPLES / name).read_bytes()).hexdigest() == digest, name
    for (form, path), name in zip(samples(), sorted(LENGTHS), strict=True):
        prompts, answers = lengths(name)
        for number, each in enumerate(READERS[form](path)):
            assert (each.prompt_len, each.output_len) == (
                prompts[number],
                answers[number],
            )


def test_names_of_blocks_fill_the_prompt(trace: tuple[str, Path]) -> None:
    form, path = trace
    for each in READERS[form](path):
        blocks = -(-each.prompt_len // MOONCAKE_BLOCK) if form == "mooncake" else 0
        assert len(each.prefix) == blocks


@pytest.mark.parametrize(
    ("text", "want"),
    [
        (
            "2023-11-16 18:15:46.6805900",
            datetime(2023, 11, 16, 18, 15, 46, 680590),
        ),
        ("2024-05-10 00:00:00.009930+00:00", datetime(2024, 5, 10, 0, 0, 0, 9930)),
        ("2024-05-10 00:00:01", datetime(2024, 5, 10, 0, 0, 1)),
    ],
)
def test_both_spellings_of_azure_times(text: str, want: datetime) -> None:
    assert datetime_s(text) == want.replace(tzinfo=UTC).timestamp()
    assert START.tzinfo is UTC


def test_an_unanswered_request_leaves_only_its_number(tmp_path: Path) -> None:
    path = tmp_path / "trace.csv"
    path.write_text(BURST + "6,ChatGPT,20,0\n8.5,GPT-4,30,3\n")
    found = [(each.id, each.arrival_s) for each in READERS["burstgpt"](path)]
    assert found == [(0, 0.0), (2, 3.5)]


def peak(read: Callable[[], Iterator[Request]]) -> int:
    tracemalloc.start()
    deque(read(), maxlen=0)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return most


@pytest.mark.parametrize("form", ["azure", "mooncake"])
def test_memory_does_not_grow_with_the_file(form: str, tmp_path: Path) -> None:
    request = next(made_up(num_requests=1)[form])
    heading, line = AZURE.splitlines()[0], [*WRITERS[form]([request])][-1]
    path = tmp_path / "long"
    path.write_text((f"{heading}\n" if form == "azure" else "") + f"{line}\n" * LONG)
    short = peak(lambda: islice(READERS[form](path), 100))
    assert peak(lambda: READERS[form](path)) < short + 50_000


def test_the_table_names_every_reader() -> None:
    assert [row[0] for row in published().rows] == list(READERS)


@pytest.mark.parametrize("read", [READERS["azure"], READERS["mooncake"]])
def test_a_line_that_does_not_end_is_refused_before_it_fills_the_memory(
    read: Callable[[Path], Iterator[Request]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(lines, "MOST_LINE", 1000)
    endless = tmp_path / "endless"
    endless.write_text("x" * 5000, "utf8")
    with pytest.raises(
        lines.MalformedLineError, match="line 1: line must be of at most 1,000"
    ):
        next(read(endless))
