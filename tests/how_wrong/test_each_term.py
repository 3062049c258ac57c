"""Terms, constants, bands and plans: each cell is what its row and its column say."""

import re
from collections.abc import Iterator
from math import ceil
from statistics import fmean

import numpy as np
import pytest

from llmserve_lab.how_wrong import decision, fairness
from llmserve_lab.how_wrong.folds import NAMES, folds
from llmserve_lab.how_wrong.page import blind_table, expert_tables, tables
from llmserve_lab.how_wrong.record import validated
from llmserve_lab.validation import achieved, dense_rows
from tests.each import agree, agrees, numbers, rows, stored
from tests.how_wrong.anew import KINDS, LABELS, between, errors, first, mean

TERM = re.compile(
    r"([\d,.]+) \w+ × ([\d.]+) ([kMG])(?:B|FLOP) at ([\d.,]+) ([GT])(?:B|FLOP)/s"
)
PREFIX = {"k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}


def products(lines: list[dict[str, str]]) -> Iterator[tuple[str, float, float]]:
    """Terms that are a product or a quotient of what they print, in milliseconds."""
    for line in lines:
        said = line["with its numbers"]
        if found := TERM.fullmatch(said):
            many, each, rate = (float(found[i].replace(",", "")) for i in (1, 2, 4))
            ms = 1e3 * many * each * PREFIX[found[3]] / (rate * PREFIX[found[5]])
            yield line["term"], ms, float(line["ms"])
        elif found := re.fullmatch(r"([\d.]+) × ([\d.]+) µs", said):
            yield (
                line["term"],
                float(found[1]) * float(found[2]) / 1e3,
                float(line["ms"]),
            )


def test_a_term_of_a_token_is_what_its_numbers_make_and_all_are_the_sum() -> None:
    *lines, whole = rows(tables.iteration())
    found = list(products(lines))
    assert [term for term, *_ in found] == [
        "cache",
        "attention",
        "link",
        "layers",
        "requests",
    ]
    for term, ms, printed in found:
        assert printed == pytest.approx(ms, rel=6e-3), term
    total = sum(float(line["ms"]) for line in lines)
    assert whole["term"] == "TPOT"
    assert float(whole["ms"]) == pytest.approx(total, abs=0.006)


def test_a_yardstick_has_the_errors_of_both_times_under_their_names() -> None:
    shown = {line["predicted by"]: line for line in rows(tables.yardsticks())}
    for name, left in (("datasheet", "datasheet"), ("book", "model")):
        for head, kind in KINDS.items():
            own = mean(errors(kind, left))
            assert first(shown[name][head]) == pytest.approx(own, abs=0.051)
    for head, kind in KINDS.items():
        factor = 100 * validated()["yardstick"][kind]["mean"]
        assert first(shown["× one factor"][head]) == pytest.approx(factor, abs=0.051)
        bare = 100 * validated()["forms"]["six constants alone"][f"{kind}, model"]
        assert first(shown["book, nothing set by hand"][head]) == pytest.approx(
            bare, abs=0.051
        )
        for name, line in shown.items():
            bare_one = name == "the tool"  # whose errors row by row were not kept
            assert line[head] == "–" or len(numbers(line[head])) == (
                1 if bare_one else 3
            )
            assert line[head] == "–" or between(line[head])
    assert shown["the tool"]["TTFT"] == "–"


FITTED = {  # by the words of a row: the constant, and one of its unit
    "share of the memory bandwidth": ("memory", 1.0),
    "share of the 16-bit peak": ("compute", 1.0),
    "share of the link": ("link", 1.0),
    "time per layer": ("layer_s", 1e-6),
    "time per request": ("request_s", 1e-6),
    "time of the client, in TTFT alone": ("client_s", 1e-3),
}


def test_a_constant_has_its_own_value_within_the_range_of_its_fits() -> None:
    *lines, _ = rows(tables.constants())
    assert [line["constant"] for line in lines] == [*FITTED]
    for line in lines:
        name, unit = FITTED[line["constant"]]
        assert agrees(line["fitted"].split()[0], getattr(achieved(), name) / unit)
        low, high = (first(end) for end in line["range of 12 fits"].split("–"))
        assert low <= first(line["fitted"]) <= high
        fits = [getattr(fold, name, None) for by in LABELS for fold in folds(by)]
        made = [value / unit for value in fits if value is not None]
        assert not made or (low <= min(made) + 0.006 and max(made) <= high + 0.006)


def test_a_name_left_out_has_its_error_and_fewer_rows_in_the_plain_band() -> None:
    back = {name: key for key, name in NAMES.items()}
    tried = validated()["coverage"]["tried"]
    for line in stored("how_wrong", "All rows of one group left out"):
        key = back[line["left out"]]
        (by,) = (b for b in LABELS if key in {getattr(r, b) for r in dense_rows()})
        own = errors("tpot", by, **{by: key})
        assert int(line["rows"]) == len(own)
        assert first(line["error"]) == pytest.approx(mean(own), abs=0.051)
        assert (line["plain, TPOT"] == "–") == (line["book’s, TPOT"] == "–")
        if line["plain, TPOT"] != "–":
            assert first(line["plain, TPOT"]) < first(line["book’s, TPOT"])
            shares = tried[by]["tpot"][key]
            assert agree([line["plain, TPOT"][:-2], line["book’s, TPOT"][:-2]],
                         [100 * shares[1], 100 * shares[3]])  # fmt: skip
        if line["book’s, TTFT"] != "–":
            wide = tried[by]["ttft"][key][3]
            assert agree([line["book’s, TTFT"][:-2]], [100 * wide])
        public = {r.public for r in dense_rows() if getattr(r, by) == key}
        assert line["book’s, TTFT"] == "–" or True in public


def test_each_plan_keeps_the_promise_and_has_as_many_servers_as_it_takes() -> None:
    shown = {
        line["quantity"]: line for line in stored("how_wrong", "Plans for the same")
    }
    plans = [head for head in shown["clients"] if head != "quantity"]
    assert plans == ["predicted", "vLLM’s factor", "book’s band", "measured"]
    book = rows(tables.by_hand())[:-2]
    loads = [int(line["clients"]) for line in book]
    for plan in plans:
        line = {quantity: cells[plan] for quantity, cells in shown.items()}
        tpot = numbers(line["TPOT, ms, × factor"])
        assert float(np.prod(tpot)) <= 1e3 * decision.TPOT_S
        assert len(tpot) == len(numbers(line["TTFT, ms, × factor"]))
        assert (len(tpot) == 2) == (plan in ("vLLM’s factor", "book’s band"))
        rate = first(line["tokens/s"])
        (decided,) = (
            each for each in stored("how_wrong", "Plans for 40,000")
            if first(each["tokens/s"]) == rate
        )  # fmt: skip
        assert decided["clients a server"] == line["clients"]
        assert int(decided["servers"]) == ceil(decision.ASKED_PER_S / rate)
        clients, source = int(line["clients"]), "measured" if len(tpot) < 2 else "book"
        source = "book" if plan == "predicted" else source
        there = np.interp(clients, loads, [float(each[source]) for each in book])
        assert tpot[0] == pytest.approx(float(there), rel=0.005), plan
        if len(tpot) == 2:  # with a client more it would not
            assert float(np.prod(tpot)) > 0.99 * 1e3 * decision.TPOT_S
    band, engine, *_, hope, measured = stored("how_wrong", "Plans for 40,000")
    slower = [first(each["rows too slow"]) for each in (band, engine, hope)]
    assert slower == sorted(slower) and measured["rows too slow"] == "–"


def test_a_factor_s_share_of_first_tokens_is_missing_where_one_model_was_scored() -> (
    None
):
    shown = {
        line["what is new"]: line for line in stored("how_wrong", "What is new in your")
    }
    assert shown["the model"]["TTFT held"] == "–" != shown["the model"]["TPOT held"]
    for line in shown.values():
        for head in ("TPOT held", "TTFT held"):
            assert line[head] == "–" or between(line[head].replace("–", " to "))
    (_, runs), *tested, (_, mixture) = shown.items()
    promised = [int(line["meant to hold"]) for _, line in tested]
    assert promised == [95, 90, 90, 90] and mixture["meant to hold"] == "90"
    assert runs["meant to hold"] == "95"
    assert {runs["TTFT held"], mixture["TTFT held"]} == {"–"}
    assert [line["safety factor of"] for line in shown.values()] == [
        "two own runs", "its engine’s near rows", *["book’s band"] * 3, "its band"
    ]  # fmt: skip


def test_the_table_of_what_is_new_has_the_errors_of_the_rows_left_out() -> None:
    """Line by line, from the smallest error to the largest; worse than each mean."""
    load, *lines, mixture = stored("how_wrong", "What is new in your")
    labels = {"only the server": "server", "the kind of GPU": "system",
              "the model": "model", "the engine": "engine"}  # fmt: skip
    assert [line["what is new"] for line in lines] == [*labels]
    assert agree([load["mean error"]], [100 * fairness.own_runs("both")[1]])
    last = first(load["mean error"])
    for line in lines:
        own = errors("tpot", labels[line["what is new"]])
        assert agree([line["mean error"]], [mean(own)])
        assert last < first(line["mean error"]) < first(line["worst server"])
        last = first(line["mean error"])
    span = [100 * each for each in expert_tables.span()]
    assert agree(mixture["mean error"].split("–"), span) and span[0] > last
    assert agree([mixture["TPOT held"]], [100 * expert_tables.held("tpot")[1]])


def test_a_machine_has_the_error_and_the_bias_of_its_own_passes() -> None:
    shown = rows(blind_table.blind())
    for line, sort in zip(shown, blind_table.SORTS, strict=True):
        assert line["iterations"] == blind_table.SORTS[sort]
        for machine in ("datasheet", "fitted", "fitted, no host"):
            own = [
                100 * (e.predicted_s / float(e.run.seconds) - 1)
                for e in blind_table.errors(machine, sort)
            ]
            size, lean = numbers(line[machine])
            assert size == pytest.approx(mean(own), abs=0.051)
            assert lean == pytest.approx(fmean(own), abs=0.51)


WORDS = {  # by the beginning of a row of the appendix: a constant, and its unit
    "share of the memory": ("memory", 1.0),
    "share of the dense": ("compute", 1.0),
    "share of the link": ("link", 1.0),
    "time of a layer": ("layer_s", 1e-6),
    "time of a request": ("request_s", 1e-6),
    "time of a first token": ("client_s", 1e-3),
    "share of the shorter": ("overlap", 1.0),
    "times that a layer": ("prompt_layers", 1.0),
    "fewer bits compute": ("exponent", 1.0),
}


def test_the_appendix_has_the_constants_and_the_errors_of_their_names() -> None:
    """A datasheet has whole shares, and no time on top."""
    shown = stored("catalog", "The machine fitted to servers")
    assert len(shown) == len(WORDS)
    for line, (words, (name, unit)) in zip(shown, WORDS.items(), strict=True):
        assert line["constant"].startswith(words)
        fitted = getattr(achieved(), name) / unit
        assert agrees(line["fitted to servers"].split()[0], fitted), name
        assert line["datasheet"] == ("0" if name.endswith("_s") else "1")
    tpot, ttft, _ = stored("catalog", "How far off it is")
    for line, kind in ((tpot, "TPOT"), (ttft, "TTFT")):
        own = errors(KINDS[kind], "model")
        assert f"({kind})" in line["time"] and int(line["rows"]) == len(own)
        assert first(line["mean error"]) == pytest.approx(mean(own), abs=0.051)
        middle = float(np.median(np.abs(own)))
        assert first(line["median"]) == pytest.approx(middle, abs=0.051)
        assert first(line["bias"]) == pytest.approx(fmean(own), abs=0.051)
