"""Small made-up traces in the public formats, where no real one is at hand.

They are drawn from laws with a seed, and written as the services write theirs: what
reads one reads the other. Where the real ones are published, :func:`published` tells.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import MappingProxyType

from llmserve_lab.engine.scheduler.request import Request
from llmserve_lab.page.table import Table
from llmserve_lab.workloads.conversations import Conversations
from llmserve_lab.workloads.lengths import Bounded, Geometric, Lognormal
from llmserve_lab.workloads.loads import bursty_requests
from llmserve_lab.workloads.traces import AZURE, BURST, MOONCAKE, MS_PER_S

START = datetime(2023, 11, 16, 18, tzinfo=UTC)


def azure_lines(requests: Iterable[Request]) -> Iterator[str]:
    """Heading and lines as the Azure traces have them, without the line ends."""
    yield ",".join(AZURE)
    for each in requests:
        when = START + timedelta(seconds=each.arrival_s)
        text = when.replace(tzinfo=None).isoformat(" ", "microseconds")
        yield f"{text}0,{each.prompt_len},{each.output_len}"


def burstgpt_lines(requests: Iterable[Request]) -> Iterator[str]:
    """Heading and lines as BurstGPT has them; every request is one to ChatGPT's API."""
    time, prompt, output = BURST
    yield ",".join((time, "Model", prompt, output, "Total tokens", "Log Type"))
    for each in requests:
        total = each.prompt_len + each.output_len
        sizes = f"{each.prompt_len},{each.output_len},{total}"
        yield f"{each.arrival_s:.3f},ChatGPT,{sizes},API log"


def mooncake_lines(requests: Iterable[Request]) -> Iterator[str]:
    """Lines as Mooncake has them, times rounded down to a millisecond."""
    for each in requests:
        now_ms = int(each.arrival_s * MS_PER_S)
        values = (now_ms, each.prompt_len, each.output_len, [*each.prefix])
        yield json.dumps(dict(zip(MOONCAKE, values, strict=True)))


WRITERS: Mapping[str, Callable[[Iterable[Request]], Iterator[str]]] = MappingProxyType(
    {"azure": azure_lines, "burstgpt": burstgpt_lines, "mooncake": mooncake_lines}
)


def made_up(*, num_requests: int = 400, seed: int = 0) -> dict[str, Iterator[Request]]:
    """Requests like those of each public trace, by the name of its format.

    Their means and spreads are round numbers of the size of the published ones.
    """
    azure = bursty_requests(
        rate_per_s=5,
        cv=1,
        prompt=Bounded(law=Lognormal(mean=1200, cv=1.1), high=8000),
        output=Bounded(law=Lognormal(mean=220, cv=0.8), high=1000),
        num_requests=num_requests,
        seed=seed,
    )
    burstgpt = bursty_requests(
        rate_per_s=2,
        cv=2.5,
        prompt=Bounded(law=Lognormal(mean=600, cv=1.2), high=4096),
        output=Bounded(law=Geometric(mean=250), high=2000),
        num_requests=num_requests,
        seed=seed,
    )
    mooncake = Conversations(
        rate_per_s=2,
        turns=Geometric(mean=1.5),
        question=Bounded(law=Lognormal(mean=9000, cv=1.5), high=100_000),
        answer=Bounded(law=Geometric(mean=350), high=2000),
        system_len=1024,
        think_s=60,
    ).requests(num_requests=num_requests, seed=seed)
    return {"azure": azure, "burstgpt": burstgpt, "mooncake": mooncake}


def write_made_up(
    folder: str | Path, *, num_requests: int = 400, seed: int = 0
) -> None:
    """Write one small trace in each format into ``folder``."""
    for name, requests in made_up(num_requests=num_requests, seed=seed).items():
        path = Path(folder) / f"{name}.{'jsonl' if name == 'mooncake' else 'csv'}"
        with path.open("w", encoding="utf8") as file:
            file.writelines(line + "\n" for line in WRITERS[name](requests))


def published() -> Table:
    """Table of the real traces: what they hold, their publisher, the licence."""
    rows = (
        (
            "azure",
            "two services of November 2023, conversation and code; one of May 2024",
            "Azure/AzurePublicDataset on GitHub",
            "CC BY 4.0",
        ),
        (
            "burstgpt",
            "GPT-3.5 and GPT-4 over months, failures included",
            "HPMLL/BurstGPT on GitHub",
            "CC BY 4.0",
        ),
        (
            "mooncake",
            "Kimi's conversations and tools, with the names of prompt blocks",
            "kvcache-ai/Mooncake on GitHub, FAST25-release/traces",
            "Apache-2.0",
        ),
    )
    columns = ("reader", "what", "published at", "licence")
    return Table("Real traces that the book reads", columns, rows)
