"""Each column of the tables, each bar and readout, from what its words say."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from html.parser import HTMLParser
from itertools import product

import numpy as np
import pytest

from llmserve_lab import catalog, running_example
from llmserve_lab.engine import IterationLoad
from llmserve_lab.page.live import registry
from llmserve_lab.parallelism import map as axes
from llmserve_lab.parallelism import published
from llmserve_lab.parallelism.arguments import MODEL
from llmserve_lab.parallelism.context import ContextTurn, context_parallel
from llmserve_lab.parallelism.deployments import GpuLayout, eight
from llmserve_lab.parallelism.leads import crosses
from llmserve_lab.parallelism.model import PROMPT, SMALL
from llmserve_lab.parallelism.page import choices, playground
from llmserve_lab.parallelism.pipeline import pipelined, prefill_plan
from llmserve_lab.parallelism.ring_time import first_token_s
from llmserve_lab.parallelism.rows import (
    data_parallel_attention,
    sequence_parallel,
    tensor_parallel,
)
from llmserve_lab.transformer import Transformer
from tests.page.cells import lines, says, wrong

NDR = catalog.link("infiniband-ndr")


def sizes(name: str) -> dict[str, int]:
    """GPUs of a group, stages and copies, as a name has them."""
    found = {axis: int(n) for axis, n in re.findall(r"(TP|PP|DP) (\d+)", name)}
    return {axis: found.get(axis, 1) for axis in ("TP", "PP", "DP")}


@cache
def made(name: str) -> GpuLayout:
    """Eight GPUs in servers of four, or sixteen in servers of eight."""
    size = sizes(name)
    if np.prod([*size.values()]) == 8:
        return eight(name, NDR, nics=4)
    tp, stages, copies = size.values()
    return GpuLayout(
        tp=tp,
        stages=stages,
        replicas=copies,
        between=NDR,
        servers=max(1, tp // 8),
        nics=8,
        level=False,
    )


def options(name: str) -> str:
    """In each of two servers its half of the copies; or one service over both."""
    tp, stages, copies = sizes(name).values()
    far = crosses(made(name))
    asked = {"-tp": tp, "-pp": stages, "-dp": copies if far else copies // 2}
    said = [f"{flag} {n}" for flag, n in asked.items() if n > 1]
    return " ".join([*said, *["[1]"] * far])


def test_each_column_of_the_layouts() -> None:
    columns = {
        "vLLM": options,
        "8 requests, ms": lambda name: 1e3 * made(name).decode(8, 1000).token_s,
        "64, ms [3]": lambda name: 1e3 * made(name).decode(64, 1000).token_s,
        "prefill, k/s": lambda name: made(name).prefill_rate(2048) / 1e3,
        "first, ms": lambda name: 1e3 * made(name).first_token_s(8192, 2048),
        "room, k": lambda name: made(name).held_tokens() / 1e3,
    }
    table = choices.table()
    rings = [row for row in lines(table) if row["layout"].startswith("CP")]
    for ring, server in zip(rings, (4, 8), strict=True):
        alone_s = first_token_s(8192, 2048, 2, server).seconds
        assert says(ring.pop("first, ms"), 1e3 * alone_s)
        assert [*ring.values()] == [f"CP 2 × TP {server}", "no ring", *4 * ["\u2013"]]
    rows = [row for row in table.rows if not str(row[0]).startswith("CP")]
    for name, cell in ((str(row[0]), str(row[3])) for row in rows):
        each = made(name.replace("\u00a0", " "))
        equal, *one = cell.split("\u2013")
        assert len(one) == (each.stages > 1)
        for said in one:
            assert says(said, 1e3 * each.decode(64, 1000, 1).token_s)
            assert float(said) > float(equal)
    bare = [(*row[:3], str(row[3]).split("\u2013")[0], *row[4:]) for row in rows]
    assert wrong(replace(table, rows=bare), columns) == []
    noted = {row["layout"] for row in lines(table) if "[2]" in row["room, k"]}
    copied = {
        row["layout"]
        for row in lines(replace(table, rows=bare))
        if made(row["layout"]).cost().kv_copies > 1
    }
    assert noted == copied == {"TP 16"}
    assert "Twice as many" in table.notes[1] and "both servers" in table.notes[0]


def test_each_column_of_the_published_prompts() -> None:
    """Each rank has its part of rows and pairs; the error is what the cells give."""
    for row, run in zip(lines(published.each_prompt()), published.RUNS, strict=True):
        size = {a: int(n) for a, n in re.findall(r"(CP|TP) (\d+)", row["layout"])}
        ranks = size.get("CP", 1)
        rows, pairs = run.tokens // ranks, run.tokens * (run.tokens + 1) // 2 // ranks
        load = IterationLoad(rows, pairs, 0, 1, 1)
        told = published.cost(size["TP"]).seconds(load)
        columns = {
            "measured": float(run.seconds),
            "predicted": told,
            "error": told / float(run.seconds) - 1,
        }
        assert {*row} == {"layout", "prompt", *columns}
        for head, want in columns.items():
            assert says(row[head], want), (row, head, want)
        ((number, unit),) = re.findall(r"(\d+)([KM])", row["prompt"])
        assert run.tokens == int(number) * {"K": 1000, "M": 10**6}[unit]


# The map: what is sent is counted once more, and called as the ranks of a run do.

SENDS = {
    "two all-reduces in each layer": {"all_reduce"},
    "a reduce-scatter and an all-gather for each": {"reduce_scatter", "all_gather"},
    "an all-gather and a reduce-scatter of rows": {"reduce_scatter", "all_gather"},
    "round a ring": {"sendrecv"},
    "the rows, at each border": {"send"},
}
# Of each axis what its rank has: all weights or a part, and whose cache.
KEEPS = {
    "tensor": ("every matrix", "1/g of the weights; of the cache 1/g"),
    "sequence": ("rows between TP's matrices", "as TP, and 1/g of the rows"),
    "pipeline": ("the stack of layers", "1/p of weights and cache"),
    "context": ("tokens of one request", "all weights .*1/g of the cache"),
    "data (DP)": ("whole models apart", "all weights; the cache of its own requests"),
    "data-parallel": ("in attention", "all of attention's weights, .*its own requests"),
}


def calls(name: str) -> set[str]:
    """What two ranks of a small model call, by its ledger."""
    model, n = Transformer(SMALL), len(PROMPT)
    halves = [[PROMPT[: n // 2]], [PROMPT[n // 2 :]]]
    ledger = {
        "tensor": lambda: tensor_parallel(model, PROMPT, 2).ledger,
        "sequence": lambda: sequence_parallel(model, PROMPT, 2).ledger,
        "pipeline": lambda: pipelined(model, prefill_plan([[PROMPT]]), 2).ledger,
        "context": lambda: context_parallel(model, [ContextTurn(PROMPT)], 2).ledger,
        "data-parallel": lambda: data_parallel_attention(model, halves).ledger,
    }[name]()
    return {record.call for ranks in ledger.records for record in ranks} - {"recv"}


def test_each_row_of_the_map_is_its_axis() -> None:
    """Rows of 8,192 numbers of two bytes; a ring sends 7 of 8 parts, once or twice."""
    rows, width, layers, kv = 1000, 8192 * 2, 80, MODEL.kv_bytes_per_token(2)
    reduced = 2 * layers * 2 * 7 * rows * width
    nbytes = {
        **{"tensor": reduced, "sequence": reduced, "pipeline": 7 * rows * width},
        **{"context": 7 * kv * rows, "data-parallel": reduced / 2},
    }
    table = lines(axes.the_map())
    assert len(table) == len(KEEPS)
    for row, (name, (cut, kept)) in zip(table, KEEPS.items(), strict=True):
        assert row["axis"].startswith(name) and cut in row["cuts"]
        assert re.match(kept, row["each GPU stores"])
        if name == "data (DP)":
            assert row["sends"] == "nothing"
            continue
        words, _, sent = row["sends"].partition(": ")
        ((said, want),) = (each for each in SENDS.items() if each[0] in words)
        assert want <= calls(name) and says(sent, nbytes[name]), row
        others = {call for one, each in SENDS.items() if one != said for call in each}
        assert not calls(name) & (others - want)
    (note,) = axes.the_map().notes
    ring, inside = re.findall(r"sends ([\d.]+ \w+) round the ring, ([\d.]+ \w+)", note)[
        0
    ]
    assert says(ring, kv * rows)  # two servers: each sends its half once, to the other
    assert says(
        inside, 2 * layers * 2 * 2 * 3 * (rows / 2) * width
    )  # in two groups of four


# The bench, and the live pipeline


class Cells(HTMLParser):
    """Texts of the cells of a table."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.texts = list[str]()
        self.inside = False
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag in ("td", "th"):
            self.texts.append("")
        self.inside = tag in ("td", "th") or self.inside

    def handle_data(self, data: str) -> None:
        if self.texts:
            self.texts[-1] += data


def test_each_line_of_the_bench_is_its_layout_s() -> None:
    for name, requests in product(("TP 4 × DP 2", "PP 8", "TP 2 × PP 4"), (16, 256)):
        html = playground.show(
            layout=name, requests=requests, context=1000, link=NDR.name, ports=4,
            model="Llama-3.1-70B",
        )  # fmt: skip
        texts = [text.strip() for text in Cells(html).texts]
        each = made(name)
        step = each.decode(requests, 1000)
        told = {
            "decode, token to token": step.token_s,
            "decode, all requests": requests / step.token_s,
            "prefill, chunks of 2,048": each.prefill_rate(2048),
            "one prompt of 8,192, first token": each.first_token_s(8192, 2048),
            "weights and cache of a GPU": step.gpu_bytes,
        }
        for what, want in told.items():
            assert says(texts[texts.index(what) + 1], want), (name, what)
        copy = 2 * MODEL.params_total + requests * 1000 / sizes(name)["DP"] * 327_680
        gpus = sizes(name)["TP"] * sizes(name)["PP"]
        assert step.gpu_bytes == pytest.approx(copy / gpus, rel=0.01)
        fits = step.gpu_bytes < 0.9 * float(running_example.device().usable_bytes)
        assert ("it does not fit" in texts[-1]) != fits


def test_each_readout_of_the_pipeline_is_that_of_the_engine_in_stages() -> None:
    figure = registry.figures()["parallelism.pipe_rate"]()
    labels = {each.label: each.name for each in figure.readouts}
    settings = ((4, 2, 16), (8, 8, 64), (2, 4, 1), (8, 3, 128))
    for stages, batches, batch in settings:
        at = {"n_stages": stages, "n_batches": batches, "batch": batch}
        known = figure.values(**{k: float(v) for k, v in at.items()})
        model = GpuLayout(stages=stages, between=catalog.link("nvlink4"))
        step = model.decode(batch * batches, 1000, batches)
        told = {
            "Token to token": step.token_s,
            "Whole pipeline": batch * batches / step.token_s,
            "Bubble": max(0.0, 1 - batches / stages),
            "In its memory": float(step.gpu_bytes >= known["hbm_bytes"]),
        }
        assert labels.keys() == told.keys()
        for label, want in told.items():
            assert known[labels[label]] == pytest.approx(want, rel=2e-3), (at, label)
        words = figure.caption(**{k: float(v) for k, v in at.items()})
        full = told["In its memory"] == 1
        assert ("it does not fit" in words) == full and ("it fits" in words) != full
