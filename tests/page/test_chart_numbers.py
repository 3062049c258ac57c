"""A number that a live chart writes at a mark is that of the mark, and of its readout.

The chart computes these words while it is drawn; a note of them has no digits. Each is
read here as the figure opens and at its goal: by the axis at the place where it stands,
or by the readout of what it stands for.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import log10
from typing import Any

import pytest

from llmserve_lab.page.live import registry
from llmserve_lab.page.live.figure import LiveFigure
from tests.page import drawn
from tests.page.seen import BESIDE, notes
from tests.page.test_figures import made

NUMBER = re.compile(r"\d[\d,]*\.?\d*")
SCALES = {"k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "m": 1e-3, "µ": 1e-6}
Word = tuple[str, float, float]  # a text, and where it stands
Pair = tuple[float, float, float]  # said, wanted, and how far off it may be


@dataclass(frozen=True)
class Shown:
    """A figure at a setting: its numbers, words in the drawing, labels of its axes."""

    figure: LiveFigure
    changes: dict[str, Any]
    words: list[Word]
    labels: dict[str, list[tuple[str, float]]]

    @property
    def known(self) -> dict[str, Any]:
        """Readouts and all other signals at the setting."""
        return self.figure.values(**self.changes)

    def near(self, way: str, place: float) -> str:
        """The label of an axis that is nearest to a place."""
        return min(self.labels[way], key=lambda label: abs(label[1] - place))[0]

    def at(self, way: str, place: float, *, log: bool = False) -> float:
        """What an axis says of a place, by its first label and its last."""
        (one, first), *_, (two, last) = [
            (value(text), where) for text, where in self.labels[way]
        ]
        one, two = (log10(one), log10(two)) if log else (one, two)
        found = one + (two - one) * (place - first) / (last - first)
        return float(10**found if log else found)


def value(text: str, unit: str = "") -> float:
    """The first number of a text, with its prefix where it has one before a unit."""
    (number, prefix), *_ = re.findall(rf"({NUMBER.pattern})\s?([kMGTPmµ]?){unit}", text)
    return float(number.replace(",", "")) * SCALES.get(prefix, 1.0)


def half(text: str) -> float:
    """Half of the last digit of a number, as a share of it; of three digits at most."""
    digits = NUMBER.findall(text)[0].replace(",", "").replace(".", "").lstrip("0")
    return 0.51 / max(1, int(digits[:3]))


def shown(name: str, changes: dict[str, Any]) -> Shown:
    """A figure, drawn at a setting."""
    words, labels = list[Word](), dict[str, list[tuple[str, float]]](x=[], y=[])
    for role, kind, x, y, item in drawn._items(made(name), **changes):
        if role.startswith("axis-label"):
            way, place = ("y", y) if x < 0 else ("x", x)
            labels[way].append((str(item["text"]), place))
        elif kind == "text" and not role.startswith(BESIDE) and item.get("text"):
            text = item["text"]
            said = " ".join(text) if isinstance(text, list) else str(text)
            words.append((" ".join(said.split()), x, y))
    return Shown(made(name), changes, words, labels)


def found(seen: Shown, pattern: str) -> Iterator[tuple[re.Match[str], float, float]]:
    """Words that match, and where they stand."""
    for text, x, y in seen.words:
        if match := re.fullmatch(pattern, text):
            yield match, x, y


def splits(seen: Shown) -> Iterator[Pair]:
    """Attention GPUs, which lie along the axis, then FFN GPUs; as many as in all."""
    (title,) = (t for t in drawn.titles(seen.figure) if t.startswith("Attention GPUs"))
    for name, x, _ in found(seen, r"(\d+)A–(\d+)F"):
        attn, ffn = map(float, name.groups())
        yield attn, seen.at("x", x), 0.5
        yield attn / ffn, seen.known["af_ratio"], 0.005  # a stop has two digits
        yield attn + ffn, value(title), 0


def readout(pattern: str, name: str, unit: str = "", scale: float = 1) -> Any:
    """A number that stands for one readout, wherever it is."""

    def check(seen: Shown) -> Iterator[Pair]:
        for word, *_ in found(seen, pattern):
            want = scale * seen.known[name]
            yield value(word[1], unit), want, half(word[1]) * want

    return check


def lanes(of: dict[str, str]) -> Any:
    """Times at the ends of lanes, by how the labels of these begin."""

    def check(seen: Shown) -> Iterator[Pair]:
        for word, _, y in found(seen, r"([\d.,]+ m?s)"):
            lane = seen.near("y", y)
            (name,) = (name for begins, name in of.items() if lane.startswith(begins))
            yield (
                value(word[1], "s"),
                seen.known[name],
                half(word[1]) * seen.known[name],
            )

    return check


def stops(
    control: str, name: str, pattern: str = r"([\d.,]+ m?s)", unit: str = "s"
) -> Any:
    """Numbers above bars, one for each stop of a slider, by the label of the bar."""

    def check(seen: Shown) -> Iterator[Pair]:
        for word, x, _ in found(seen, pattern):
            there = seen.changes | {control: value(seen.near("x", x))}
            want = seen.figure.values(**there)[name]
            yield value(word[1], unit), want, half(word[1]) * want

    return check


def below(pattern: str, of: dict[str, str], unit: str) -> Any:
    """Numbers below the words that say what they count."""

    def check(seen: Shown) -> Iterator[Pair]:
        named = {x: of[text] for text, x, _ in seen.words if text in of}
        for word, x, _ in found(seen, pattern):
            want = seen.known[named[x]]
            yield value(word[1], unit), want, half(word[1]) * want

    return check


def along(pattern: str, way: str, off: float) -> Any:
    """Numbers that say where on an axis they stand."""

    def check(seen: Shown) -> Iterator[Pair]:
        for word, *place in found(seen, pattern):
            yield value(word[1]), seen.at(way, place["xy".index(way)]), off

    return check


def waves(seen: Shown) -> Iterator[Pair]:
    """The most splits whose blocks fill the multiprocessors so many times; one more."""
    known, begun = seen.known, set[float]()
    for word, x, _ in found(seen, r"(\d+): (nearly full|full|next wave)"):
        blocks = float(word[1]) * known["n_kv_heads"] * known["batch"]
        times = blocks / known["n_sms"]
        begun.add(round(times))
        assert times <= round(times) if word[2] != "next wave" else times > round(times)
        assert (times == round(times)) == (word[2] == "full")
        yield float(word[1]), seen.at("x", x, log=True), 0.06 * float(word[1])
    yield from readout(r"([\d.]+ µs)", "decode_attn_s", "s")(seen)


def roof(seen: Shown) -> Iterator[Pair]:
    """The share of the peak that is reached, what that leaves idle, and the ridge."""
    known = seen.known
    for word, *_ in found(seen, r"(decode|prefill) ([\d.,]+ [TP]FLOP/s)"):
        want = known["peak_flops"] * known[f"{word[1]}_mfu"]
        assert want <= 1.001 * known["hbm_bw"] * known[f"{word[1]}_intensity"]
        yield value(word[2], "FLOP"), want, half(word[2]) * want
    for word, *_ in found(seen, r"(\d+)% idle"):
        yield value(word[1]) / 100, 1 - known["decode_mfu"], 0.00501
    for word, x, _ in found(seen, r"(\d+)"):
        yield value(word[1]), known["ridge"], 0.51
        yield value(word[1]), seen.at("x", x, log=True), 0.06 * value(word[1])


def memory(seen: Shown) -> Iterator[Pair]:
    """Weights, caches, and the rest of a GPU."""
    names = {"weights": "stored_bytes", "cache": "cache_bytes"}
    for word, *_ in found(seen, r"(weights|cache) ([\d.,]+ [GT]B)"):
        want = seen.known[names[word[1]]]
        yield value(word[2], "B"), want, half(word[2]) * want


def costs(seen: Shown) -> Iterator[Pair]:
    """Requests a second times the cost of each, on the axis: the price of the GPUs."""
    for word, _, y in found(seen, r"([\d.]+)/s"):
        per_hour = 3600 * value(word[1]) * 1e-6 * seen.at("y", y, log=True)
        yield per_hour, seen.known["price"], 0.07 * seen.known["price"]


Check = Callable[[Shown], Iterator[Pair]]
CHECKS: dict[str, Check] = {
    "afd.every_split": splits,
    "capacity.cost_latency": costs,
    "continuous_batching.lanes": readout(
        r"([\d.]+ m?s) without a token", "longest_gap_s", "s"
    ),
    "disaggregation.promises": along(r"even at (\d+) ms", "x", 0.51),
    "end_to_end.again_or_once": readout(r"([\d.]+) times fewer", "flops_ratio"),
    "flash_attention.decode_splits": waves,
    "how_wrong.ladder": along(r"(\d+\.\d)", "x", 0.2),
    "kv_memory.capacity": memory,
    "parallelism.pipe_rate": stops("n_batches", "pipe_rate", r"([\d,]+)", ""),
    "quantization.few_bits": lanes(
        {"16 bits": "wide_few_bits_step_s", "as chosen": "few_bits_step_s"}
    ),
    "roofline.iteration_time": lanes(
        {"decode": "decode_iteration_s", "prefill": "prefill_iteration_s"}
    ),
    "roofline.roofline": roof,
    "tensor_parallel.tp_time": stops("n_ranks", "tp_s"),
    "varlen.attention_square": below(
        r"([\d.]+[kMG]?) pairs",
        {way: f"{way}_pairs" for way in ("padded", "masked", "varlen")},
        "",
    ),
}
# Numbers in the names of lines and of choices, which do not change.
NAMES = {
    "deepseek.group_size",
    "roofline.batch_and_context",
    "tensor_parallel.all_reduce",
}


def settings(name: str) -> list[dict[str, Any]]:
    """As the figure opens, and a setting that reaches its goal."""
    goal = made(name).goal
    return [{}, *([dict(goal.example)] if goal else [])]


@pytest.mark.parametrize("name", CHECKS)
def test_a_number_in_a_chart_is_that_of_its_mark(name: str) -> None:
    count = 0
    for changes in settings(name):
        for said, want, off in CHECKS[name](shown(name, changes)):
            count += 1
            assert said == pytest.approx(want, abs=off, rel=0), changes
    assert count > 0


def test_every_chart_that_writes_numbers_was_read() -> None:
    """By the notes of all charts, in which a number is a sign."""
    writes = {
        name
        for name in registry.figures()
        for word in notes(name.split(".")[0])[name]["opens"]["words"]
        if "#" in word
    }
    assert writes == set(CHECKS) | NAMES


def test_a_name_of_which_the_numbers_change_places_is_found() -> None:
    """Not where half of the GPUs do each, but at the goal of the figure."""
    figure = made("afd.every_split")
    assert figure.goal is not None
    seen = shown("afd.every_split", dict(figure.goal.example))
    assert all(abs(said - want) <= off for said, want, off in splits(seen))
    turned = [
        (re.sub(r"(\d+)A–(\d+)F", r"\2A–\1F", text), x, y) for text, x, y in seen.words
    ]
    wrong = replace(seen, words=turned)
    assert any(abs(said - want) > off for said, want, off in splits(wrong))
