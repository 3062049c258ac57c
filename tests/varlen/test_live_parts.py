"""The live figures, part by part: squares and triangles in tokens, FLOPs by hand."""

from functools import cache
from itertools import accumulate

import pytest

from llmserve_lab.catalog import MODELS
from llmserve_lab.formula.text import si
from llmserve_lab.page.live.figure import LiveFigure
from llmserve_lab.varlen.page import charts, figures
from tests.page import drawn, plotted

LENGTHS = [(100, 200, 500, 1200), (500, 300, 700, 50), (400, 400, 400, 400)]
WAYS = ("padded", "masked", "varlen")
Box = tuple[float, ...]


@cache
def made(name: str) -> LiveFigure:
    found: LiveFigure = getattr(figures, name)()
    return found


def of(lengths: tuple[int, ...]) -> dict[str, float]:
    return {f"len_{i}": float(n) for i, n in enumerate(lengths, start=1)}


def pairs_of(lengths: tuple[int, ...]) -> dict[str, int]:
    return {
        "padded": len(lengths) * max(lengths) ** 2,
        "masked": sum(lengths) ** 2,
        "varlen": sum(n * n for n in lengths),
    }


@pytest.mark.parametrize("lengths", LENGTHS)
def test_each_readout_of_the_squares(lengths: tuple[int, ...]) -> None:
    figure, pairs = made("attention_square"), pairs_of(lengths)
    known = figure.values(**of(lengths))
    rows = len(lengths) * max(lengths)
    assert plotted.readings(figure, known) == pytest.approx({
        "Share of padding in the padded rows": (rows - sum(lengths)) / rows,
        "Padded: pairs": pairs["padded"],
        "Masked: pairs": pairs["masked"],
        "Varlen: pairs": pairs["varlen"],
    })  # fmt: skip
    told = [si(pairs[way], "pair") for way in WAYS]
    useful = si(sum(n * (n + 1) // 2 for n in lengths), "pair")
    one, two, three, four = (f"{n} tokens" for n in lengths)
    assert figure.caption(**of(lengths)) == (
        f"Lengths {one}, {two}, {three} and {four}: in whole squares, padding computes "
        f"{told[0]}, masking {told[1]} and varlen {told[2]}; {useful} are useful."
    )


@pytest.mark.parametrize("lengths", LENGTHS[:2])
def test_each_square_block_and_triangle(lengths: tuple[int, ...]) -> None:
    """In tokens: four padded squares two by two, two of all rows, blocks in each."""
    figure, most, total = made("attention_square"), max(lengths), sum(lengths)
    inks = {m["text"]: m["ink"] for m in drawn.marks(figure, "text") if "text" in m}
    rects = drawn.marks(figure, "rect", **of(lengths))
    (masked, outline) = (m for m in rects if m["ink"] == "vermillion")
    assert inks["masked: pairs of two requests"] == "vermillion"
    assert (masked["fillOpacity"] > 0, outline["fillOpacity"]) == (True, 0)
    unit = masked["width"] / total
    padded = [m for m in rects if m["ink"] == inks["padding"] == "grey"]
    left = {
        "padded": min(m["x"] for m in padded),
        "masked": masked["x"],
        "varlen": outline["x"],
    }
    assert sorted(left.values()) == list(left.values())
    top = masked["y"]

    def box(way: str, item: dict[str, float]) -> Box:
        x, y = item["x"] - left[way], item["y"] - top
        wide, high = item["width"], item["height"]
        return tuple(round(px / unit, 3) for px in (x, y, wide, high))

    corners = [(most * (i % 2), most * (i // 2)) for i in range(4)]
    assert [box("padded", m) for m in padded] == [(*at, most, most) for at in corners]
    assert box("masked", masked) == box("varlen", outline) == (0, 0, total, total)
    begin = [0, *accumulate(lengths)][:4]
    places = {
        "padded": corners,
        **{way: list(zip(begin, begin, strict=True)) for way in WAYS[1:]},
    }
    blocks = [
        (way, (*at, n, n))
        for way in WAYS
        for at, n in zip(places[way], lengths, strict=True)
    ]
    own = inks["for nothing: own future"]
    for ink in (own, "page"):
        found = [m for m in rects if m["ink"] == ink]
        for (way, at), mark in zip(blocks, found, strict=True):
            assert box(way, mark) == pytest.approx(at, abs=0.01)
    areas = drawn.marks(figure, "area", **of(lengths))
    assert (
        {m["ink"] for m in areas} == {inks["useful: allowed by the mask"]} == {"blue"}
    )
    for (way, at), first, last in zip(blocks, areas[::2], areas[1::2], strict=True):
        high, foot = first["y2"] - first["y"], (first["y2"] - top) / unit
        assert high / unit == pytest.approx(at[3], abs=0.01)
        assert foot == pytest.approx(at[1] + at[3], abs=0.01)
        assert (first["x"] - left[way]) / unit == pytest.approx(at[0], abs=0.01)
        assert (last["x"] - left[way]) / unit == pytest.approx(at[0] + at[2], abs=0.01)
        assert last["y"] == pytest.approx(last["y2"])
    texts = drawn.marks(figure, "text", **of(lengths))
    letters = [m for m in texts if m.get("text") in list("ABCD")]
    for (way, at), mark, name in zip(blocks, letters, 3 * "ABCD", strict=True):
        assert mark["text"] == name
        assert (mark["x"] - left[way]) / unit == pytest.approx(at[0], abs=0.01)
        assert (mark["y"] - top) / unit == pytest.approx(at[1] + at[3], abs=0.01)
    above = {m["text"]: m["x"] for m in texts if str(m.get("text")) in WAYS}
    said = {m["x"]: m["text"] for m in texts if "pairs" in str(m.get("text")).split()}
    for way, pairs in pairs_of(lengths).items():
        assert above[way] == pytest.approx(left[way], abs=0.01)
        number = si(pairs, "FLOP").replace(" ", "").removesuffix("FLOP")
        shown = said[above[way]].removesuffix(" pairs")
        assert plotted.number(shown) == pytest.approx(plotted.number(number), rel=0.006)


@pytest.mark.parametrize(
    ("name", "prompt"), [("Llama-3.1-8B", 1000.0), ("Llama-2-7B", 64_000.0)]
)
def test_each_part_of_attention_s_share(name: str, prompt: float) -> None:
    """A pair of the prompt's triangle against a row of its matrices."""
    figure, at = made("attention_share"), {"model": name, "row_prompt": prompt}
    (model,) = (m for m in MODELS.values() if m.name == name)
    pair = model.attn_flops_per_pair(absorbed=False)
    row = 2 * (model.params_active - model.vocab * model.d_model)

    def share(tokens: float) -> float:
        attention = pair * (tokens + 1) / 2
        return attention / (attention + row)

    known, even = figure.values(**at), 2 * row / pair - 1
    assert plotted.readings(figure, known) == pytest.approx({
        "Attention's share of the FLOPs": share(prompt),
        "Attention overtakes at": even,
    })  # fmt: skip
    lines, inks = plotted.lines(figure, **at), plotted.called(figure, **at)
    assert inks["attention"] == "blue"
    for tokens, found in lines["blue"][::5]:
        assert found == pytest.approx(share(tokens), abs=0.01)
    names = {
        str(m["text"]): x
        for _, x, _, m in plotted.plotted(figure, "text", **at)
        if m.get("text") in ("attention overtakes", "your prompt")
    }
    want = {"attention overtakes": even, "your prompt": prompt}
    assert names == pytest.approx(want, rel=0.02)
    rules = sorted(x for _, x, _, _ in plotted.plotted(figure, "rule", **at))
    assert rules == pytest.approx(sorted(want.values()), rel=0.02)
    longest = model.max_context or 0
    side = "attention" if share(prompt) > 0.5 else "linear layers"
    read = "within the limit" if prompt + 1 <= longest else "beyond the limit"
    shown = f"{prompt:,.0f}" if prompt >= 10_000 else f"{prompt:.0f}"
    assert figure.caption(**at) == (
        f"{name}: attention does more FLOPs than the linear layers from prompts of "
        f"{round(even):,} tokens on; a prompt of {shown} tokens is {read} of the "
        f"model, and most of its FLOPs are in the {side}."
    )


def test_on_a_phone_a_kind_of_pairs_is_named_beside_the_square_that_brings_it() -> None:
    """Padding beside the padded, pairs of two beside the masked, what is left last."""
    squares = [mark.name for mark in charts.WAYS]
    beside = {mark.name: squares[way] for mark, (way, _) in charts.BESIDE.items()}
    assert beside == {
        "padding": "padded", "masked: pairs of two requests": "masked",
        "useful: allowed by the mask": "varlen", "for nothing: own future": "varlen",
    }  # fmt: skip
    assert len(set(charts.BESIDE.values())) == len(beside)


def test_the_goal_is_met_where_padding_computes_less() -> None:
    figure = made("attention_square")
    assert figure.goal is not None and "padding computes fewer" in str(
        figure.goal.sentence
    )
    for lengths in (*LENGTHS, (500, 500, 500, 500), (1500, 50, 50, 50)):
        pairs = pairs_of(lengths)
        met = figure.goal.met(figure.values(**of(lengths)))
        assert met == (pairs["padded"] < pairs["masked"])
