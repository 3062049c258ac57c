"""What is read of a second selection says so, and says it in every place."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from llmserve_lab.page.live import registry
from llmserve_lab.page.live.controls import Choice
from llmserve_lab.page.live.figure import FIELD, LiveFigure
from llmserve_lab.page.live.readout import Readout

SECOND = ("other", "second", "beside")  # words of a label for a second selection
PARTS = {"products_intensity"}  # of an iteration: no second number for the whole
CASES = {  # how a label says the first word of a signal, where not by that word
    **{"attn": "attention", "moe": "experts", "flat": "constant", "wide": "16 bits"},
}
LOOSE = {"s", "bytes", "attn", "ffn", "experts"}  # what unlike signals end in, too
every_figure = pytest.mark.parametrize("name", registry.figures())


def seconds_of(figure: LiveFigure) -> set[str]:
    """Choices that have the options of one before them: two are switches, no more."""
    seen, found = set[tuple[str, ...]](), set[str]()
    for control in figure.controls:
        if isinstance(control, Choice) and len(control.options) > 2:
            if control.options in seen:
                found.add(control.name)
            seen.add(control.options)
    return found


def read_by(figure: LiveFigure, name: str) -> set[str]:
    """Every signal on which a signal rests, itself among them."""
    lookups = {each.name: set(each.by) for each in figure.lookups}
    readouts = [each for each in figure.readouts if isinstance(each, Readout)]
    bounds = {**figure.bounds, **{r.name: r.bound for r in readouts if r.bound}}
    found, waiting = set[str](), {name}
    while waiting:
        one = waiting.pop()
        found.add(one)
        below = set(lookups.get(one, ()))
        if one in bounds:
            below |= {v for v in bounds[one].needs.values() if isinstance(v, str)}
        waiting |= below - found
    return found


def unsaid(figure: LiveFigure) -> Iterator[str]:
    """Readouts of a second selection that do not say so, and the reverse."""
    second = seconds_of(figure)
    for readout in figure.readouts:
        if isinstance(readout, Readout):
            of_second = bool(read_by(figure, readout.name) & second)
            if of_second != any(word in readout.label.lower() for word in SECOND):
                yield f"{readout.label}: {readout.name}"


def kin(one: str, other: str) -> bool:
    """Whether two signals are called after the same quantity."""
    return one == other or one.endswith(f"_{other}") or other.endswith(f"_{one}")


def parted(figure: LiveFigure) -> Iterator[str]:
    """Readouts of a quantity that the sentence states too, but of another signal."""
    readouts = [each for each in figure.readouts if isinstance(each, Readout)]
    bounds = {**figure.bounds, **{r.name: r.bound for r in readouts if r.bound}}
    results = {name: bound.formula.result.name for name, bound in bounds.items()}
    computed = {*results, *(each.name for each in figure.lookups)}
    said = {name for name, _ in FIELD.findall(figure.sentence)} & computed
    said -= PARTS
    for shown in readouts:
        result = results.get(shown.name, shown.name)
        same = {name for name in said if results.get(name, name) == result}
        same |= {name for name in said if kin(shown.name, name)}
        if same and shown.name not in same:
            yield f"{shown.label}: {shown.name}, and the sentence {sorted(same)}"


def unnamed(figure: LiveFigure) -> Iterator[str]:
    """Readouts of one case of a quantity whose labels say no case, or another."""
    readouts = [each for each in figure.readouts if isinstance(each, Readout)]
    known = {*figure.bounds, *(each.name for each in figure.lookups)}
    known |= {each.name for each in readouts}
    for shown in readouts:
        case, _, rest = shown.name.partition("_")
        words = (name.partition("_") for name in known)
        cases = {first for first, _, others in words if others == rest}
        label = shown.label.lower()
        if rest in LOOSE or not (rest in known or cases - {case}):
            continue
        if [each for each in sorted(cases) if CASES.get(each, each) in label] != [case]:
            yield f"{shown.label}: {shown.name}, beside {sorted(cases - {case})}"


@every_figure
def test_a_readout_of_one_case_says_which(name: str) -> None:
    assert list(unnamed(registry.figures()[name]())) == []


@pytest.mark.parametrize(
    ("name", "signal", "label"),
    [
        ("quantization.few_bits", "wide_few_bits_step_s", "Decode step as chosen"),
        ("roofline.roofline", "prefill_intensity", "Decode: intensity"),
        ("disaggregation.goodput", "small_goodput", "Goodput, large budget, 8,192"),
        ("how_wrong.ladder", "ttft_error", "Mean error of TPOT"),
    ],
)
def test_a_readout_of_another_case_is_found(name: str, signal: str, label: str) -> None:
    figure = registry.figures()[name]()
    assert list(unnamed(replace(figure, readouts=(Readout(signal, label),))))


@every_figure
def test_a_readout_of_a_second_selection_says_so(name: str) -> None:
    assert list(unsaid(registry.figures()[name]())) == []


@every_figure
def test_readout_and_sentence_read_the_same_signal(name: str) -> None:
    assert list(parted(registry.figures()[name]())) == []


def test_a_second_selection_is_found() -> None:
    figure = registry.figures()["kv_memory.capacity"]()
    assert seconds_of(figure) == {"other"}
    for one, label in (
        ("other_batch_fits", "Requests that fit"),
        ("batch_fits", "Requests that fit of the other model"),
    ):
        assert list(unsaid(replace(figure, readouts=(Readout(one, label),))))
    swapped = replace(figure, readouts=(Readout("other_cache_bytes", "Memory left"),))
    assert list(parted(swapped))
