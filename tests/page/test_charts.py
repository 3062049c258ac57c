"""Charts cannot lie: no typed titles or units; one colour, one meaning; no swaps."""

import ast
import re
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from llmserve_lab import notation as q
from llmserve_lab.afd.page.gantt import LANE
from llmserve_lab.afd.simulation.event_simulator import State
from llmserve_lab.deepseek.page.charts import BLOCKS
from llmserve_lab.moe.page.charts import LAYOUTS
from llmserve_lab.page.live import registry
from llmserve_lab.page.live.axes import QuantityAxis
from llmserve_lab.page.live.bound import (
    Case,
    Cases,
    Larger,
    Mark,
    Marks,
    Place,
    landmarks,
)
from llmserve_lab.page.live.figure import LiveFigure
from llmserve_lab.page.live.readout import Bound, Readout, Verdict
from llmserve_lab.page.palette import BLUE, GREEN, MEANINGS
from llmserve_lab.roofline import formulas as f

SOURCE = Path(__file__).resolve().parents[2] / "src/llmserve_lab"
LATER = ("continuous_batching", "end_to_end")  # to be emptied: rewritten elsewhere
CHARTS = [
    path
    for path in sorted(SOURCE.glob("*/page/*chart*.py"))
    if path.parent.parent.name not in LATER
]
BOUND = [name for name in registry.figures() if not name.startswith(LATER)]
every_chart = pytest.mark.parametrize(
    "path", CHARTS, ids=lambda p: p.parent.parent.name
)
every_figure = pytest.mark.parametrize("name", BOUND)
COLOURS = {"BLUE", "VERMILLION", "GREEN", "PURPLE", "GOLD"}
UNBOUND = {"log_axis", "landmark", "Curve", "curves"}
FACTOR = re.compile(r"\b1e-?\d+\s*\*|\*\s*1e-?\d+\b|\b1000(?:\.0)?\s*\*|\*\s*1000\b")
NAMED = re.compile(r":[ON]$")


def typed(tree: ast.AST) -> Iterator[str]:
    """What a chart must not type: titles, factors, colours, marks bound to nothing."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield from typed_in_call(node)
        if isinstance(node, ast.ImportFrom):
            names = {each.name for each in node.names} & (COLOURS | UNBOUND)
            yield from (f"imports {name}" for name in sorted(names))
        text = node.value if isinstance(node, ast.Constant) else None
        if isinstance(text, str) and FACTOR.search(text):
            yield f"a factor in {text!r}"
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.Div):
            for side in (node.left, node.right):
                if isinstance(side, ast.Constant) and side.value in (1e3, 1e6, 1e9):
                    yield f"a factor {side.value:g}"


def typed_in_call(call: ast.Call) -> Iterator[str]:
    """A typed title of an axis that is not one of names."""
    called = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    words = {word.arg: word.value for word in call.keywords}
    if called == "title" and call.args:
        yield "a title set afterwards"
    title, kind = words.get("title"), words.get("type")
    texts = [a.value for a in call.args if isinstance(a, ast.Constant)]
    is_named = any(NAMED.search(str(text)) for text in texts)
    is_named |= isinstance(kind, ast.Constant) and kind.value in ("nominal", "ordinal")
    is_text = isinstance(title, ast.JoinedStr) or (
        isinstance(title, ast.Constant) and title.value is not None
    )
    if is_text and not is_named:
        yield f"a title {ast.unparse(title)}" if title else ""


@every_chart
def test_a_chart_types_no_title_no_unit_and_no_factor(path: Path) -> None:
    assert list(typed(ast.parse(path.read_text("utf8")))) == []


@pytest.mark.parametrize(
    "source",
    [
        'alt.X("s", type="quantitative", title="time (s)")',
        'alt.X("s", title=f"time ({unit})")',
        'axis.on("x", "s").title("time (s)")',
        'f"1e3 * ({work})"',
        "work * 1e3",
        "from llmserve_lab.page.palette import BLUE",
        "from llmserve_lab.page.live.marks import log_axis",
    ],
)
def test_what_is_typed_is_found(source: str) -> None:
    assert list(typed(ast.parse(source)))
    assert not list(typed(ast.parse('alt.Y("y:O", title="rank")')))


# One colour, one meaning: read once more, from the legend of each chart.
INKS = {
    "weights": "blue",
    "cache": "green",
    "new": "vermillion",
    "compute": "gold",
    "communication": "purple",
    "idle": "idle",
    "empty": "grid",
    "other": "grey",
}
MEANT = {  # by the words of a mark's name; a name that has none is one of a series
    r"\bweights$": "weights",
    r"\bread$": "weights",
    r"\bcache$": "cache",
    r"\bcompute$|\bwork\b": "compute",
    r"\b(?:all-reduces|all-to-alls|communication|sent|wire)$": "communication",
    r"\b(?:rest|at home)$": "other",
}
SERIES = {
    **{"decode": "blue", "prefill": "vermillion"},
    **{"decode, article": "blue", "prefill, article": "vermillion"},
    **{"decode pool": "blue", "prefill pool": "vermillion"},
    **{"two halves": "vermillion", "one after another": "blue"},
    **{"all at the end": "vermillion", "layer by layer": "blue"},
    **{"fewer in two pools": "vermillion", "fewer in one engine": "blue"},
    **{"one GPU is enough": "gold", "as many": "green"},
    **{"useful": "blue", "computed for nothing": "vermillion"},
    **{"Attention": "blue", "attention": "blue"},
    **{"FFN": "vermillion", "experts": "vermillion", "shared": "green"},
    **{"batch 1": "blue", "batch 2": "vermillion", "batch 3": "green"},
    **{"2 ranks": "blue", "4 ranks": "vermillion", "8 ranks": "green"},
    **{"16 ranks": "purple", "loop counted": "blue", "touched": "blue"},
    "as many requests as fit": "blue",
    "MHA (Llama-2-7B)": "blue",
    "GQA (Llama-3-70B)": "vermillion",
    "MLA (DeepSeek-V3)": "green",
}


def walk(spec: Any) -> Iterator[dict[str, Any]]:
    """Every object in a specification."""
    if isinstance(spec, dict):
        yield spec
    children = spec.values() if isinstance(spec, dict) else spec
    if isinstance(spec, dict | list):
        for child in children:
            yield from walk(child)


def inks_of(figure: LiveFigure) -> dict[str, str]:
    """The ink of each name that a figure's legend or a text beside a line says."""
    found: dict[str, str] = {}
    for part in walk(figure.spec):
        color = part.get("color")
        scale = (color.get("scale") if isinstance(color, dict) else None) or {}
        found |= dict(zip(scale.get("domain", ()), scale.get("range", ()), strict=True))
        if part.get("type") == "text" and isinstance(part.get("text"), str):
            landmark = "--fig-grey" in str(color)
            found |= {} if landmark else {part["text"]: str(color)}
    return {name: re.sub(r".*--fig-(\w+).*", r"\1", css) for name, css in found.items()}


def test_each_meaning_has_the_ink_that_the_book_says() -> None:
    named = {name: ink.name for name, ink in MEANINGS.items() if len(name) > 1}
    assert named == INKS


@every_figure
def test_a_mark_has_the_ink_of_what_it_is_named_for(name: str) -> None:
    for mark, ink in inks_of(registry.figures()[name]()).items():
        meant = [INKS[m] for words, m in MEANT.items() if re.search(words, mark)]
        assert ink in (meant or [SERIES.get(mark, "grey")]), mark


# Marks are bound: what would lie is not built.
TIME = QuantityAxis(q.iteration_s, "ms")
READ = Mark("read weights", q.weights_s, BLUE)
CACHE = Mark("read cache", q.kv_s, GREEN)
SPAN = QuantityAxis(q.intensity, domain=(1, 9), log=True)


@pytest.mark.parametrize(
    "build",
    [
        lambda: Marks(Mark("read cache", q.weights_s), Mark("read weights", q.kv_s)),
        lambda: Cases(
            "p", Case("decode", "prefill", BLUE), Case("prefill", "decode", BLUE)
        ),
        lambda: Larger(Mark("cache", q.weights_s), Mark("weights", q.kv_s)),
        lambda: landmarks(SPAN, "x", "i", Place("context", q.ridge)),
        lambda: Mark("read cache", q.kv_s, signal="decode_weights_s").read(TIME),
        lambda: Case("compute", "weights", BLUE, f.KV_S),
        lambda: QuantityAxis(q.iteration_s, "byte"),
        lambda: QuantityAxis(q.iteration_s, words="share of time", of=q.intensity),
        lambda: Mark("compute", q.ridge).read(TIME),
    ],
)
def test_what_would_lie_is_not_built(build: Any) -> None:
    with pytest.raises(ValueError):
        build()


def test_marks_that_fit_are_built() -> None:
    assert Marks(READ, CACHE).inks == {"read weights": BLUE, "read cache": GREEN}
    assert READ.read(TIME) == "1000 * (weights_s)"
    assert "cache" in Larger(CACHE, READ).expression(TIME).rpartition(":")[2]
    with pytest.raises(TypeError, match="must be a formula"):
        _ = READ.formula


# What no word tells: bars, lanes and layouts, read once more.
def test_bars_of_a_step_are_of_their_kind() -> None:
    kinds = {mark.quantity.name: kind for _, *bars in BLOCKS for mark, kind in bars}
    assert kinds == {
        "attn_gemm_read_s": "read",
        "attn_gemm_compute_s": "compute",
        "attn_kernel_s": "compute",
        "attn_elementwise_s": "read",
        "expert_read_s": "read",
        "expert_compute_s": "compute",
        "moe_elementwise_s": "read",
        "all_to_all_s": "communication",
        "other_s": "the rest",
    }
    order = [block.name for block, *_ in BLOCKS]
    assert order == [
        *("mla_s", "attn_elementwise_s", "experts_s", "moe_elementwise_s"),
        *("all_to_all_s", "other_s"),
    ]


def test_lanes_and_layouts_are_those_they_are_called_by() -> None:
    assert LANE[State.ATTENTION] == "Attention" and LANE[State.FFN] == "FFN"
    assert LANE[State.TO_FFN].endswith("→") and LANE[State.TO_ATTENTION][0] == "←"
    signals = {
        name: (attention and attention[1], experts[1])
        for name, attention, experts in LAYOUTS
    }
    assert signals == {
        "TP": ("ffn_tp_bytes", "ffn_tp_bytes"),
        "EP, a copy an expert": (None, "expert_copy_ep_bytes"),
        "EP, a copy a rank": (None, "rank_copy_ep_bytes"),
        "TP × EP × SP": ("sp_bytes", "rank_copy_ep_bytes"),
    }


VERDICTS = {  # what is less, than what; then the word where it is, and where it is not
    ("hidden_comm_s", "comm_s"): ("the wire is waited for", "the wire is hidden"),
    ("tbt_target", "iteration_s"): ("breaks the target", "keeps the target"),
    ("halves_s", "turn_s"): ("two halves", "one after another"),
    ("hbm_bytes", "held_bytes"): ("do not fit", "fit"),
    ("expert_compute_s", "expert_read_s"): ("memory-bound", "compute-bound"),
    ("made", "link_bw"): ("hides it", "falls behind"),
    ("pools_gpus", "shared_gpus"): ("two pools", "one engine"),
    ("expert_copy_ep_bytes", "ffn_tp_bytes"): (
        "EP, a copy an expert",
        "TP, or neither",
    ),
    ("decode_intensity", "ridge"): ("memory-bound", "compute-bound"),
    ("prefill_intensity", "ridge"): ("memory-bound", "compute-bound"),
    ("link_s", "rank_s"): ("the ranks' own work", "communication"),
    ("rank_bytes", "hbm_bytes"): ("it fits", "it does not fit"),
    ("row_prompt", "overtake_prompt"): ("linear layers", "attention"),
}


@every_figure
def test_a_verdict_says_which_one_is_less(name: str) -> None:
    for verdict in registry.figures()[name]().readouts:
        if isinstance(verdict, Verdict):
            assert VERDICTS[verdict.less, verdict.than] == verdict.cases
            case = verdict.name.split("_")[0]
            if verdict.less.split("_")[0] in CASES:
                assert case == verdict.less.split("_")[0]
                assert verdict.label.lower().startswith(case)


# Signals of a case: called like their result, bound like their case, reading no other.
CASES: dict[str, dict[str, float]] = {"decode": {"chunk": 1}, "prefill": {"batch": 1}}
PREFIXES = {*CASES, "halves", "turn", "seen", "mha", "gqa", "mla"}
NICKNAMES = {
    **{"seen_attn": "idle_attn", "seen_ffn": "idle_ffn", "half": "batch"},
    **{"made": "kv_made_per_s", "expert_copies_bytes": "row_out_bytes"},
    **{"held_bytes": "iteration_bytes", "decode_s": "iteration_s"},
    **{"prefill_s": "iteration_s"},
    **{f"{case}_limit": "attn_intensity" for case in (*CASES, "mha", "gqa", "mla")},
    **{f"speedup_{g}_{n}": "tp_speedup" for g, n in product((8, 16), (1, 1024))},
    **{f"{way}_wasted": "wasted_pairs" for way in ("padded", "masked", "varlen")},
}


def bounds_of(figure: LiveFigure) -> dict[str, Bound]:
    """Every signal that a formula computes, by name."""
    shown = [r for r in figure.readouts if isinstance(r, Readout)]
    return {**figure.bounds, **{r.name: r.bound for r in shown if r.bound}}


def strayed(figure: LiveFigure) -> Iterator[str]:
    """Signals that are not what they are called."""
    bounds = bounds_of(figure)
    for name, bound in bounds.items():
        result = bound.formula.result.name
        known = name == result or name.endswith(f"_{result}")
        if not known and NICKNAMES.get(name) != result:
            yield f"{name} is bound to {result}"
        case = name.split("_")[0]
        others = PREFIXES - {case} if case in PREFIXES and name != result else set()
        for value in bound.at.values():
            computed = value in bounds or str(value).startswith(tuple(CASES))
            if computed and str(value).split("_")[0] in others:
                yield f"{name} reads {value}"
        if case in CASES and name != result:
            yield from unlike(name, bound, CASES[case])


def unlike(name: str, bound: Bound, case: dict[str, float]) -> Iterator[str]:
    """Arguments of a signal that are not tied as its case ties them."""
    asked = {leaf.name for leaf in bound.formula.leaves()}
    reads_case = any(isinstance(v, str) and v in asked for v in bound.at.values())
    tied = {key: bound.at[key] for key in ("chunk", "batch") if key in bound.at}
    direct = {leaf.name for leaf in bound.leaves} | set(bound.at)
    want = {key: value for key, value in case.items() if key in direct}
    if tied != want and not reads_case:
        yield f"{name} is tied to {tied}, its case to {want}"


@every_figure
def test_a_signal_is_bound_to_what_it_is_called(name: str) -> None:
    assert list(strayed(registry.figures()[name]())) == []


def test_a_speedup_is_at_the_ranks_and_the_batch_of_its_name() -> None:
    for name, bound in bounds_of(
        registry.figures()["tensor_parallel.speedup"]()
    ).items():
        if name.startswith("speedup_"):
            assert name == f"speedup_{bound.at['n_ranks']:g}_{bound.at['batch']:g}"


@pytest.mark.parametrize(
    ("name", "bound"),
    [
        ("prefill_intensity", Bound(f.ATTAINABLE_FLOPS, intensity="prefill_intensity")),
        (
            "prefill_attainable_flops",
            Bound(f.ATTAINABLE_FLOPS, intensity="decode_intensity"),
        ),
        ("decode_intensity", Bound(f.INTENSITY, batch=1.0)),
    ],
)
def test_a_signal_of_another_case_is_found(name: str, bound: Bound) -> None:
    from dataclasses import replace

    figure = registry.figures()["roofline.roofline"]()
    wrong = replace(figure, derived={**figure.derived, name: bound})
    assert list(strayed(figure)) == []
    assert list(strayed(wrong))
