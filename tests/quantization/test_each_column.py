"""Every column and row of the chapter's tables, from names, records and other cells.

What a tiny model's runs find is not found again here: they are replaced by numbers of
which each is its own, so that only what stands under which head is looked at.
"""

import re
from statistics import mean
from typing import Any
from unittest import mock

import pytest

from llmserve_lab.catalog.evidence import one_h100
from llmserve_lab.catalog.evidence import quantization as papers
from llmserve_lab.page.table import Table
from llmserve_lab.quantization import decision, measured, on_one_gpu, tables

Row = dict[str, str]


def rows(table: Table) -> list[Row]:
    heads = [str(head) for head in table.columns]
    assert len(set(heads)) == len(heads)
    return [dict(zip(heads, map(str, row), strict=True)) for row in table.rows]


def number(text: str) -> float:
    return float(text.split()[0].rstrip("×%").replace(",", ""))


# Bits of exponent and mantissa; codes that are no number or a second zero.
FLOATS = {
    "FP16": (5, 10, 2 * 2**10, 65_504),
    "BF16": (8, 7, 2 * 2**7, 2.0**127 * (2 - 2**-7)),
    "FP8 E4M3": (4, 3, 2, 448),
    "FP8 E5M2": (5, 2, 2 * 2**2, 57_344),
    "FP4 E2M1": (2, 1, 0, 6),
}


def test_each_number_format_has_what_its_bits_make_of_it() -> None:
    found = {row["format"]: row for row in rows(tables.formats_table())}
    assert set(found) == {*FLOATS, "INT8", "INT4"}
    for name, (exponent, mantissa, no_number, largest) in FLOATS.items():
        row, bits = found[name], 1 + exponent + mantissa
        fields = row["sign + exponent + mantissa bits"]
        assert fields == f"1 + {exponent} + {mantissa}"
        assert int(row["numbers"].replace(",", "")) == 2**bits - no_number - 1
        assert number(row["largest"]) == pytest.approx(largest, rel=3e-3)
        least = 2.0 ** (2 - 2 ** (exponent - 1) - mantissa)
        assert number(row["smallest > 0"]) == pytest.approx(least, rel=0.05)
    for bits in (8, 4):  # as many below zero as above
        row = found[f"INT{bits}"]
        most = 2 ** (bits - 1) - 1
        assert row["sign + exponent + mantissa bits"].startswith(f"{bits}, two")
        assert (number(row["largest"]), number(row["smallest > 0"])) == (most, 1)
        assert number(row["numbers"]) == 2 * most + 1


# What is rounded in each column, by the name of the error.
ROUNDED = {
    "weights, RTN": "logits",
    "weights, GPTQ": "gptq",
    "activations too": "both",
    "and outliers": "loud",
}
NAMED = {
    "int8": "INT8",
    "fp8": "FP8 E4M3",
    "int4": "INT4, groups of 128",
    "mxfp4": "MXFP4",
    "nvfp4": "NVFP4",
}


def test_each_error_of_the_tiny_model_stands_under_what_is_rounded() -> None:
    every = {
        key: {kind: 0.01 * (10 * i + j) for j, kind in enumerate(ROUNDED.values(), 1)}
        for i, key in enumerate(NAMED)
    }
    del every["int8"]["gptq"]
    with mock.patch.object(tables, "errors", lambda: every):
        found = {row.pop("format"): row for row in rows(tables.errors_table())}
    assert found == {
        name: {
            head: f"{every[key][kind]:.1%}" if kind in every[key] else "–"
            for head, kind in ROUNDED.items()
        }
        for key, name in NAMED.items()
    }


def test_each_format_of_the_cache_has_its_own_error() -> None:
    names = {"bf16": "BF16", "fp8": "FP8 E4M3", "int8": "INT8", "int4-row": "INT4"}
    every = {key: 0.01 * i for i, key in enumerate(names, 1)}
    with mock.patch.object(tables, "cache_errors", lambda: every):
        found = rows(tables.cache_table())
    assert {row["format of the cache"]: row["of the logits"] for row in found} == {
        name: f"{every[key]:.2%}" for key, name in names.items()
    }


PARTS = ("longer + ½ shorter", "attention", "read cache", "fixed time", "requests")


def test_each_term_of_a_step_follows_from_those_beside_it() -> None:
    """Between columns a term changes as its format and its batch do."""
    found = {row.pop("term"): row for row in rows(tables.steps_table())}
    ms = {term: {h: float(x) for h, x in row.items()} for term, row in found.items()}
    heads = ("BF16, 1", "INT4, 1", "BF16, 256", "INT4, 256", "FP8, 256")
    assert set(ms) == {*PARTS, "read weights", "compute layers", "step"}
    one, many = heads[0], heads[2]
    for head in heads:
        assert set(ms["step"]) == set(heads)
        both = sorted(ms[part][head] for part in ("read weights", "compute layers"))
        rest = ms["longer + ½ shorter"][head]
        assert rest == pytest.approx(both[1] + both[0] / 2, abs=2e-3)
        whole = sum(ms[part][head] for part in PARTS)
        assert ms["step"][head] == pytest.approx(whole, abs=4e-3)
        batch = int(head.split(", ")[1])
        half = 2 if head.startswith("FP8") else 1  # its cache is in FP8 as well
        read = batch * tables.TOKENS * 131_072 / half
        first = tables.TOKENS * 131_072 / ms["read cache"][one]
        assert ms["read cache"][head] == pytest.approx(read / first, rel=0.02)
        assert ms["requests"][head] == pytest.approx(
            batch * ms["requests"][many] / 256, abs=6e-4
        )
        assert ms["attention"][head] == pytest.approx(
            batch * ms["attention"][many] / 256, abs=6e-4
        )
        assert ms["fixed time"][head] == ms["fixed time"][one]
    weights, compute = ms["read weights"], ms["compute layers"]
    assert weights["BF16, 1"] == weights[many] > weights["FP8, 256"]
    assert weights["FP8, 256"] > weights["INT4, 1"] == weights["INT4, 256"]
    assert compute[many] == compute["INT4, 256"] > compute["FP8, 256"]
    assert compute[many] == pytest.approx(256 * compute[one], rel=0.03)
    said = str(tables.steps_table().notes[0])
    assert [re.search(f"{head}: ", said) is not None for head in heads] == [True] * 5


# Numbers of a token in a layer as it is, and if each head had its own; layers; kind.
HEADS = {
    "Llama-2-7B": (2 * 32 * 128, 2 * 32 * 128, 32, "MHA"),
    "Llama-3.1-8B": (2 * 8 * 128, 2 * 32 * 128, 32, "GQA"),
    "Qwen3-32B": (2 * 8 * 128, 2 * 64 * 128, 64, "GQA"),
    "Llama-3.1-70B": (2 * 8 * 128, 2 * 64 * 128, 80, "GQA"),
    "DeepSeek-V3": (512 + 64, 128 * (128 + 64 + 128), 61, "MLA"),
}


def test_each_model_saves_what_its_heads_share() -> None:
    found = rows(tables.shared_table())
    assert {row["model"] for row in found} == set(HEADS)
    for row in found:
        has, own, layers, kind = HEADS[row["model"]]
        assert row == {
            "model": row["model"],
            "a token": f"{2 * has * layers / 1024:.1f} KiB",
            "saved": f"{own / has:.0f}×",
            "if each head had its own": f"{2 * own * layers / 1024:,.0f} KiB",
            "attention": kind,
        }


def test_each_gain_is_measured_or_priced_as_its_head_says() -> None:
    found = {row.pop("run"): row for row in rows(measured.compared_table())}
    for batch in papers.RATES["bf16"]:
        row = found.pop(f"H200, batch {batch}")
        for name, key in (("FP8", "fp8"), ("INT4", "int4")):
            rates = [float(papers.RATES[k][batch]) for k in (key, "bf16")]
            said = [measured.static_run(k, batch).rate for k in (key, "bf16")]
            assert row.pop(f"{name} measured") == f"{rates[0] / rates[1]:.2f}×"
            assert row.pop(f"{name} formula") == f"{said[0] / said[1]:.2f}×"
        assert row == {}
    timed = {f"H100, {name}": row for name, row in on_one().items()}
    assert found["H100, decode, batch 1"]["FP8 measured"] == timed["H100, decode, 1"][0]
    for name, row in found.items():
        both = row["FP8 measured"], row["FP8 formula"]
        assert both == timed[name.replace("batch ", "")], name
        assert row["INT4 measured"] == row["INT4 formula"] == "–"


def on_one() -> dict[str, tuple[str, str]]:
    """The table of the H100 by itself, as the other has it."""
    return {
        row["iteration"]: (f"{row['measured']}×", f"{row['formula']}×")
        for row in rows(on_one_gpu.gains_table())
    }


def test_each_gain_of_the_h100_is_the_time_in_bf16_over_that_in_fp8() -> None:
    seconds: dict[tuple[str, Any], list[float]] = {}
    for run in one_h100.passes():
        seconds.setdefault((run.precision, run.size), []).append(float(run.seconds))
    both = [size for key, size in seconds if key == "fp8" and ("bf16", size) in seconds]
    alone = [size for size in both if not (size.chunk and size.decodes)]
    found = on_one()
    for size in alone:
        name = f"prompt of {size.chunk:,}" if size.chunk else f"decode, {size.decodes}"
        ratio = mean(seconds["bf16", size]) / mean(seconds["fp8", size])
        assert found.pop(name)[0] == f"{ratio:.2f}×", name
    assert not found


def test_each_perplexity_is_that_of_its_model() -> None:
    """In 16 bits as the papers print them; the larger the model, the less."""
    found = {
        row.pop("format and method"): row for row in rows(measured.accuracy_table())
    }
    assert found["FP16"] == {
        "Llama-3-8B": "6.14", "Llama-2-7B": "5.47", "Llama-2-70B": "3.32",
    }  # fmt: skip
    for row in found.values():
        losses = {
            name: float(x) / float(found["FP16"][name]) for name, x in row.items()
        }
        assert all(loss >= 1 for loss in losses.values())
        assert losses["Llama-3-8B"] == max(losses.values())


def test_each_result_of_others_stands_under_its_head() -> None:
    for row in rows(measured.published_table()):
        assert re.search(r"arXiv|documentation|blog|ACL", row["read in"])
        assert not re.search(
            r"arXiv|documentation|blog|ACL", row["what"] + row["result"]
        )
        assert re.search(r"×|%|cheapest", row["result"])
        assert not re.search(r"×|%", row["what"] + row["on what"])
        assert re.search(r"bits|INT|FP|W4|window", row["what"])


def test_each_choice_has_its_formula_and_its_measurement() -> None:
    for row, each in zip(
        rows(decision.decision_table()), decision.choices(), strict=True
    ):
        assert (row["model, GPU, requests"], row["try first"]) == (
            each.load,
            each.first,
        )
        for head, gains in (("formula", each.by_formula), ("measured", each.measured)):
            said = ", ".join(f"{gain:.2f}×" for gain in gains) or "none"
            assert row[head].removeprefix("INT8: ") == said
