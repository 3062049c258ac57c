"""Every column and row of the chapter's tables, from its own cells, notes and records.

A GPU has 81,091 MiB, the book's model two bytes for each of 8,030,261,248 parameters,
a block of sixteen of its tokens 2 MiB: from there each number is worked out again.
"""

import re
from math import floor

import pytest

from llmserve_lab.catalog.evidence.serving import START_LOGS
from llmserve_lab.kv_memory import which_room
from llmserve_lab.kv_memory.machine import boxed
from llmserve_lab.kv_memory.page import tables
from llmserve_lab.page.table import Table

Row = dict[str, str]
GPU, WEIGHTS, BLOCK = 81_091, 2 * 8_030_261_248 / 2**20, 2  # MiB
SLOT, BESIDE, FEW = 39 * 128_256 / 2**20, 133, 1_217  # MiB: of a slot, libraries, least
GRAPHS = 1_024  # MiB


def rows(table: Table) -> list[Row]:
    heads = [re.sub(r" \[\d\]$", "", str(head)) for head in table.columns]
    return [dict(zip(heads, map(str, row), strict=True)) for row in table.rows]


def number(text: str) -> float:
    """The first number of a cell, with its sign."""
    (found, *_) = re.findall(r"[−+]?\d[\d,]*\.?\d*", text)
    return float(found.replace(",", "").replace("−", "-"))


def numbers(table: Table, key: str, value: str) -> dict[str, float]:
    return {row[key]: number(row[value]) for row in rows(table)}


def test_each_term_of_the_memory_is_what_it_is_called_and_from_where() -> None:
    table = tables.terms()
    allowed = 0.9 * GPU
    left = allowed - WEIGHTS - FEW
    assert numbers(table, "term", "size") == pytest.approx(
        {
            "memory that the CUDA runtime reports": GPU,
            "of it 90% for the server": allowed,
            "less weights": -WEIGHTS,
            "less working space": -FEW,
            "left for the cache": left,
            "blocks of 16 tokens": left // BLOCK,
            "tokens": 16 * (left // BLOCK),
        },
        abs=0.6,
    )
    source = {row["term"]: row["from"] for row in rows(table)}
    for term, words in {
        "memory that the CUDA runtime reports": "CUDA runtime reports",
        "of it 90% for the server": "--gpu-memory-utilization 0.9",
        "less weights": "parameter",
        "less working space": "counts of KV-cache blocks",
        "left for the cache": "the sum",
        "tokens": "blocks times",
    }.items():
        assert words in source.pop(term), term
    (blocks,) = source.values()
    assert [number(each) for each in blocks.split(" over ")] == [
        pytest.approx(left, abs=0.6), BLOCK,
    ]  # fmt: skip
    for row in rows(table):
        unit = row["term"].startswith(("blocks", "tokens"))
        assert row["size"].endswith(" MiB") is not unit


def test_each_line_of_the_start_log_has_its_size_and_its_option() -> None:
    table = tables.start_log()
    (log,) = (each for each in START_LOGS if each.name == "Llama-3.1-8B")
    gib = {k: float(getattr(log, k)) / 2**30 for k in ("weights", "peak", "other")}
    cache = float(log.cache) / 2**30
    blocks = floor(1024 * cache / BLOCK)
    want = {
        "requested: share of the memory": (cache + sum(gib.values()), "utilization"),
        "Model loading took": (-gib["weights"], "--quantization"),
        "torch peak memory increase": (-gib["peak"], "--max-num-seqs"),
        "non-torch memory": (-gib["other"], "GPUs that share the model"),
        "Available KV cache memory": (cache, "the sum"),
        "computed: tokens [1]": (16 * blocks, "--kv-cache-dtype"),
        "computed: longest requests [1]": (16 * blocks / 16_000, "--max-model-len"),
    }
    assert {row["line of the log"] for row in rows(table)} == set(want)
    for row in rows(table):
        size, option = want[row["line of the log"]]
        digits = 0.06 if "longest" in row["line of the log"] else 0.011
        assert number(row["size"]) == pytest.approx(size, abs=digits)
        assert row["changed by"].startswith(("--", "GPUs", "the sum"))
        assert option in row["changed by"].split(",")[0]
        assert ("GiB" in row["size"]) is ("computed" not in row["line of the log"])
    assert f"{blocks:,} whole blocks" in str(table.notes[0])
    longest = [r["size"] for r in rows(table) if "longest" in r["line of the log"]]
    assert longest[0].endswith("× 16,000")


def test_each_peak_stands_beside_its_model_and_what_its_cache_is_off_by() -> None:
    """The cache that a log would have with the mean of the other four."""
    entries = {log.name: float(log.peak) / 1024 / log.vocab for log in START_LOGS}
    for row, log in zip(rows(tables.peaks()), START_LOGS, strict=True):
        gpus = f"{log.tp} GPU" + ("s" if log.tp > 1 else "")
        assert row["model"] == f"{log.name}, {gpus}"
        assert row["vocabulary"] == f"{log.vocab:,}"
        assert number(row["peak"]) == pytest.approx(float(log.peak) / 2**30, abs=0.006)
        assert row["bytes"] == f"{entries[log.name]:.1f}"
        others = [each for name, each in entries.items() if name != log.name]
        said = sum(others) / len(others) * 1024 * log.vocab
        off = 100 * (float(log.peak) - said) / float(log.cache)
        # that a slot takes whole bytes, and libraries, is not counted here
        assert number(row["cache off by"]) == pytest.approx(off, abs=0.35)


# KiB of a token over all layers: two bytes, key and value, heads, width, layers.
KIB = {
    "Llama-2-7B": 2 * 2 * 32 * 128 * 32 / 1024,
    "Llama-3.1-8B": 2 * 2 * 8 * 128 * 32 / 1024,
    "Llama-3.1-70B": 2 * 2 * 8 * 128 * 80 / 1024,
    "Mistral-Nemo-12B": 2 * 2 * 8 * 128 * 40 / 1024,
    "Qwen2.5-7B": 2 * 2 * 4 * 128 * 28 / 1024,
    "Yi-34B": 2 * 2 * 8 * 128 * 60 / 1024,
    "Llama-4 Scout": 2 * 2 * 8 * 128 * 48 / 1024,
}


def test_each_count_is_off_by_what_its_blocks_take_on_one_gpu() -> None:
    table = tables.counts()
    published = [int(float(each.record.blocks)) for each in boxed()]
    found = [number(row["published"]) for row in rows(table)]
    assert found[:-1] == published
    for row in rows(table):
        name, gpus = row["server"].rsplit(", ", 1)
        less = number(row["predicted"]) - number(row["published"])
        mib = less * 16 * KIB[name] / 1024 / number(gpus)
        assert number(row["MiB a GPU"]) == pytest.approx(mib, abs=0.6), name
        share = 100 * less / number(row["published"])
        assert number(row["off by"]) == pytest.approx(share, abs=0.06)
        card = "RTX 4090" if found.index(number(row["published"])) == 8 else "H100"
        assert gpus.endswith(card)


def test_each_model_keeps_what_its_layers_say_and_a_dash_where_it_has_none() -> None:
    for row in rows(tables.per_token()):
        whole, window, state = map(int, row["layers"].split(" + "))
        assert (row["window"] == "–") is (window == 0)
        assert (row["state"] == "–") is (state == 0)
        name = row["model"]
        layers = whole + window + state
        if name in KIB:
            assert number(row["KiB, all"]) == KIB[name]
        long, every = number(row["KiB, long"]), number(row["KiB, all"])
        assert long == pytest.approx(every * whole / layers, abs=0.06), name


def test_each_server_has_the_blocks_that_its_share_leaves_beside_its_slots() -> None:
    table = tables.servers()
    for row in rows(table):
        share, slots = number(row["share"]) / 100, number(row["slots"])
        graphs = GRAPHS if "[2]" in row["server"] else 0
        beside = max(FEW, SLOT * slots + BESIDE)
        working = number(row["working space"])
        blocks = (share * GPU - WEIGHTS - working - graphs) / BLOCK
        if "measured" in row["server"]:
            blocks = 1024 * number(str(table.notes[0])) / BLOCK
        else:
            assert working == pytest.approx(beside, abs=1.0)
        assert number(row["blocks"]) == pytest.approx(floor(blocks), abs=1)
        fit = number(row["blocks"]) // (1200 / 16)
        assert number(row["room for"]) == fit
        assert number(row["runs"]) == min(fit, slots)
    (log,) = (each for each in START_LOGS if each.name == "Llama-3.1-8B")
    kept = (float(log.peak) + float(log.other)) / 2**20
    measured = numbers(table, "server", "working space")["that log, measured [1]"]
    assert measured == pytest.approx(kept, abs=1)


def test_each_room_is_what_is_left_after_what_it_takes_off() -> None:
    """By the words of its row: share of the GPU, a slot each, graphs, whole blocks."""
    table = which_room.table()
    for place, row in enumerate(rows(table)):
        taken, tokens = row["taken off, too"], number(row["tokens each"])
        left = number(row["of memory"]) / 100 * GPU - WEIGHTS
        each = tokens / 8 if place < 3 else BLOCK * -(-tokens // 16)  # 128 KiB a token
        left -= GRAPHS if "graphs" in taken else 0
        if "a slot each" in taken:
            left, each = left - BESIDE, each + SLOT
        elif "1,024 slots" in taken:
            left -= BESIDE + 1024 * SLOT
        elif "working space" in taken:
            left -= FEW
        else:
            assert taken == "nothing"
        room = floor(left / each)
        assert number(row["room for"]) == room, row
