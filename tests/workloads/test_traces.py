"""What was written is read again, a flaw is named, and memory stays flat."""

import json
import tracemalloc
from collections import deque
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

import pytest

from llmserve_lab.engine.request import Request
from llmserve_lab.workloads import READERS, MalformedLineError, made_up, published
from llmserve_lab.workloads.synthetic import START, WRITERS, write_made_up
from llmserve_lab.workloads.traces import MOONCAKE_BLOCK, datetime_s
from tests.workloads.real import real

LONG = 5_000


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("traces")
    write_made_up(made, num_requests=300, seed=1)
    return made


def made(folder: Path) -> list[tuple[str, Path]]:
    return [(path.stem, path) for path in sorted(folder.iterdir())]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Made-up traces always; each real one where it exists, and none is skipped."""
    if "real_trace" in metafunc.fixturenames:
        found: list[tuple[str, Path | None]] = [(form, None) for form in READERS]
        found += real()
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


AZURE = "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:00:01,10,5\n"
BURST = "Timestamp,Model,Request tokens,Response tokens\n5,ChatGPT,10,5\n"
MOON = '{"timestamp": 7, "input_length": 600, "output_length": 5, "hash_ids": [1, 2]}\n'
FLAWS = [
    ("azure", AZURE + "2023-11-16 18:00:02,12x,5\n", 3, "ContextTokens", "got '12x'"),
    ("azure", AZURE + "2023-11-16 18:00:02,0,5\n", 3, "ContextTokens", "at least 1"),
    ("azure", AZURE + "2023-11-16 18:00:02,3,2.5\n", 3, "GeneratedTokens", "whole"),
    ("azure", AZURE + "yesterday,3,2\n", 3, "TIMESTAMP", "a date and time"),
    ("azure", AZURE + "2023-11-16 17:59:59,3,2\n", 3, "TIMESTAMP", "no earlier"),
    ("azure", AZURE + "2023-11-16 18:00:02,3\n", 3, "GeneratedTokens", "nothing"),
    ("azure", AZURE + "2023-11-16 18:00:02,3,2,9\n", 3, "GeneratedTokens", "last of 3"),
    ("azure", AZURE.replace("Context", "Input"), 1, "ContextTokens", "a column"),
    ("azure", "", 1, "TIMESTAMP", "a column"),
    ("burstgpt", BURST + "6,ChatGPT,-1,5\n", 3, "Request tokens", "at least 1 token"),
    ("burstgpt", BURST + "6,ChatGPT,1,-5\n", 3, "Response tokens", "at least 0 tokens"),
    ("burstgpt", BURST + "nan,ChatGPT,1,5\n", 3, "Timestamp", "a number of s"),
    ("mooncake", MOON + MOON[:-9] + "\n", 2, "line", "JSON"),
    ("mooncake", MOON + "[7]\n", 2, "line", "a JSON object"),
    ("mooncake", MOON + MOON.replace("600", "1600"), 2, "hash_ids", "a list of 4"),
    ("mooncake", MOON + MOON.replace("2]", '"2"]'), 2, "hash_ids", "whole numbers"),
    ("mooncake", MOON + MOON.replace(": 5,", ": 5.5,"), 2, "output_length", "got 5.5"),
    ("mooncake", MOON + MOON.replace("600", "true"), 2, "input_length", "got True"),
    ("mooncake", MOON + MOON.replace("7", "6"), 2, "timestamp", "no earlier"),
    ("mooncake", MOON.replace('"timestamp": 7, ', ""), 1, "timestamp", "nothing"),
]


@pytest.mark.parametrize(("form", "text", "number", "field", "rule"), FLAWS)
def test_a_malformed_line_is_named(
    form: str, text: str, number: int, field: str, rule: str, tmp_path: Path
) -> None:
    path = tmp_path / "trace.txt"
    path.write_text(text)
    with pytest.raises(MalformedLineError, match=rule) as caught:
        list(READERS[form](path))
    error = caught.value
    assert (error.path, error.line, error.field) == (path, number, field)
    assert str(error).startswith(f"{path}, line {number}: {field} must be ")


def test_what_is_no_text_is_a_flaw_too(tmp_path: Path) -> None:
    path = tmp_path / "trace"
    path.write_bytes(AZURE.encode() + b"2023-11-16 18:00:02,\xff\xfe,5\n")
    with pytest.raises(MalformedLineError, match="line 3: ContextTokens must be"):
        list(READERS["azure"](path))


def test_the_mark_that_some_programs_write_first_is_passed_over(tmp_path: Path) -> None:
    for form, text in (("azure", AZURE), ("mooncake", MOON)):
        path = tmp_path / form
        path.write_text(text, encoding="utf-8-sig")
        assert len(list(READERS[form](path))) == 1


def test_what_comes_before_a_flaw_is_read(tmp_path: Path) -> None:
    path = tmp_path / "trace.csv"
    path.write_text(AZURE + "2023-11-16 18:00:02,x,5\n")
    reader = READERS["azure"](path)
    assert next(reader).prompt_len == 10
    with pytest.raises(MalformedLineError):
        next(reader)


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
