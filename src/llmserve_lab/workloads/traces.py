"""Real services wrote down what they were asked; here their files become requests.

Every reader is a generator: one line is in memory at a time, whatever the length of the
file. Arrivals count from the first request of the file.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from llmserve_lab.checks import of_type, one_of
from llmserve_lab.engine.scheduler.request import Request
from llmserve_lab.workloads.lines import (
    Compression,
    Line,
    MalformedLineError,
    bounded,
    csv_lines,
    filled,
    in_order,
    place,
    plain,
)

AZURE = ("TIMESTAMP", "ContextTokens", "GeneratedTokens")
BURST = ("Timestamp", "Request tokens", "Response tokens")
MOONCAKE = ("timestamp", "input_length", "output_length", "hash_ids")
TimeUnit = Literal["s", "ms", "us", "ns", "datetime"]
PER_SECOND: Mapping[str, float] = MappingProxyType(
    {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}
)
MS_PER_S = 1000
MOONCAKE_BLOCK = 512  # tokens that one of its hash ids stands for


def azure(path: str | Path) -> Iterator[Request]:
    """Requests of an Azure LLM inference trace (2023 or 2024), a CSV file.

    Its columns: ``TIMESTAMP`` (a date and time, kept to a microsecond),
    ``ContextTokens`` (the prompt), ``GeneratedTokens``.

    Raises:
        MalformedLineError: a line does not hold that, or time runs back.
    """
    return _timed(
        csv_lines(place(path), AZURE), AZURE, "a date and time", datetime_s, least=1
    )


def burstgpt(path: str | Path) -> Iterator[Request]:
    """Requests of a BurstGPT trace, a CSV file, without those that it failed to answer.

    Its columns: ``Timestamp`` (s), ``Request tokens``, ``Response tokens``, and others
    that are not read. A response of 0 tokens marks a failure of the service; it leaves
    no request, but the ids count it.

    Raises:
        MalformedLineError: a line does not hold that, or time runs back.
    """
    return _timed(
        csv_lines(place(path), BURST), BURST, "a number of s", seconds, least=0
    )


def csv_trace(
    path: str | Path,
    *,
    time: str,
    prompt: str,
    output: str,
    unit: TimeUnit = "s",
    compression: Compression = "none",
) -> Iterator[Request]:
    """Requests of any CSV file: the names of its columns, and how time is written.

    Args:
        path: the file; one line of it is in memory at a time.
        time: heading of the column that says when a request arrived.
        prompt: heading of the column with the prompt's length in tokens.
        output: heading of the answer's; 0 tokens leave no request, but the ids count
            it.
        unit: of ``time``: ``"s"``, ``"ms"``, ``"us"``, ``"ns"``, ``"datetime"`` (ISO).
        compression: ``"none"``, ``"gzip"``, ``"bz2"`` or ``"xz"``.

    Raises:
        ValueError: ``unit`` or ``compression`` is none of these.
        MalformedLineError: a column is missing, a line does not hold what it must, or
            time runs back.
    """
    of_type(str, time=time, prompt=prompt, output=output)
    one_of("unit", unit, TimeUnit)
    one_of("compression", compression, Compression)
    columns = (time, prompt, output)
    lines = csv_lines(place(path), columns, compression)
    if unit == "datetime":
        return _timed(lines, columns, "a date and time", datetime_s, least=0)
    scale = PER_SECOND[unit]
    return _timed(
        lines, columns, f"a number of {unit}", lambda it: seconds(it) / scale, least=0
    )


def _timed(
    lines: Iterator[Line],
    columns: tuple[str, str, str],
    rule: str,
    reading: Callable[[str], float],
    *,
    least: int,
) -> Iterator[Request]:
    """Requests from lines with a time, a prompt and an output in ``columns``."""
    time, prompt, output = columns
    start_s = before_s = -math.inf
    for number, line in enumerate(lines):
        now_s = in_order(line, time, line.read(time, rule, reading), before_s)
        start_s, before_s = (now_s if number == 0 else start_s), now_s
        prompt_len, output_len = line.tokens(prompt), line.tokens(output, least=least)
        if output_len:
            yield Request(
                arrival_s=now_s - start_s,
                prompt_len=prompt_len,
                output_len=output_len,
                id=number,
            )


def mooncake(path: str | Path) -> Iterator[Request]:
    """Requests of a Mooncake trace, JSON lines, each with the names of its blocks.

    Its keys: ``timestamp`` (ms), ``input_length``, ``output_length``, and ``hash_ids``:
    one name for every 512 tokens of the prompt, the last block perhaps shorter. Equal
    names up to a block mean equal prompts up to there.

    Raises:
        MalformedLineError: a line is no JSON object, does not hold that, or time runs
            back.
    """
    start_s = before_s = -math.inf
    for number, line in enumerate(json_lines(place(path))):
        now_s = line.read("timestamp", "a number of ms", seconds) / MS_PER_S
        before_s = in_order(line, "timestamp", now_s, before_s)
        start_s = now_s if number == 0 else start_s
        prompt_len = line.tokens("input_length")
        yield Request(
            arrival_s=now_s - start_s,
            prompt_len=prompt_len,
            output_len=line.tokens("output_length"),
            id=number,
            prefix=_names(line, prompt_len),
        )


def json_lines(path: Path) -> Iterator[Line]:
    """Lines of a file of JSON objects, one in memory at a time; blanks may end it."""
    with path.open(encoding="utf-8-sig", errors="replace") as file:
        stripped = (text.strip() for text in bounded(path, file))
        for number, text in filled(path, enumerate(stripped, start=1)):
            at = Line(path, number, {})
            try:
                found = json.loads(text)
            except (ValueError, RecursionError):
                raise MalformedLineError(at, "line", "JSON", text) from None
            if not isinstance(found, dict):
                raise MalformedLineError(at, "line", "a JSON object", found)
            yield Line(path, number, found)


def _names(line: Line, prompt_len: int) -> tuple[int, ...]:
    """The prompt's blocks, as many as its tokens fill."""
    want = -(-prompt_len // MOONCAKE_BLOCK)
    found = line["hash_ids"]
    whole = isinstance(found, list) and all(type(name) is int for name in found)
    if not whole or len(found) != want:
        rule = f"a list of {want} whole numbers, one for every {MOONCAKE_BLOCK} tokens"
        raise MalformedLineError(line, "hash_ids", rule, found)
    return tuple(found)


def datetime_s(text: str) -> float:
    """Seconds since 1970 of an ISO date and time, UTC where it names no zone."""
    found = datetime.fromisoformat(text)
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()


def seconds(found: str | float) -> float:
    """A finite number that is not negative."""
    number = float(plain(found))
    if isinstance(found, bool) or not (math.isfinite(number) and number >= 0):
        raise ValueError
    return number


READERS: Mapping[str, Callable[[str | Path], Iterator[Request]]] = MappingProxyType(
    {reader.__name__: reader for reader in (azure, burstgpt, mooncake)}
)
