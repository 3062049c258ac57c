"""Signals, verdicts and cases of figures are bound to what they are called."""

from collections.abc import Iterator
from itertools import product

import pytest

from llmserve_lab.page.live import registry
from llmserve_lab.page.live.figure import LiveFigure
from llmserve_lab.page.live.readout import Bound, Readout, Verdict
from llmserve_lab.roofline import formulas as f

every_figure = pytest.mark.parametrize("name", registry.figures())

VERDICTS = {  # what is less, than what; then the word where it is, and where it is not
    ("outside", "half"): ("inside what was measured", "outside everything measured"),
    ("hidden_comm_s", "comm_s"): ("the wire is not hidden", "the wire is hidden"),
    ("tbt_target", "longest_gap_s"): ("breaks the target", "keeps the target"),
    ("halves_s", "turn_s"): ("two halves", "one after another"),
    ("hbm_bytes", "held_bytes"): ("do not fit", "fit"),
    ("expert_compute_s", "expert_read_s"): ("memory-bound", "compute-bound"),
    ("made", "link_bw"): ("hides it", "falls behind"),
    ("first_rate", "token_rate"): ("TTFT", "TPOT"),
    ("one_shared_rate", "two_best_pools_rate"): ("two pools", "one engine"),
    ("expert_copy_ep_bytes", "ffn_tp_bytes"): (
        "EP, a copy an expert",
        "TP, or as much with both",
    ),
    ("decode_intensity", "ridge"): ("memory-bound", "compute-bound"),
    ("link_s", "rank_s"): ("the ranks' own work", "communication"),
    ("rank_bytes", "hbm_bytes"): ("it fits", "it does not fit"),
    ("stage_bytes", "hbm_bytes"): ("it fits", "it does not fit"),
    ("layer_read_s", "layer_compute_s"): ("compute-bound", "memory-bound"),
    ("ep", "least_ep"): ("does not fit", "fits"),
    ("gpu_requests", "batch_fits"): ("the target", "memory"),
    ("one_batch", "half"): ("two halves", "one batch"),
    ("row_prompt", "overtake_prompt"): ("linear layers", "attention"),
    ("accepted", "accepted_needed"): ("lose", "gain"),
    ("row_prompt", "most_context"): ("within the limit", "beyond the limit"),
    ("mean_held", "too_long"): (
        "within the longest context",
        "beyond the longest context",
    ),
    ("peak_flops", "low_peak_flops"): ("fewer bits", "16 bits"),
}


LABELS = {
    "read_whole": "The prompt is",
    "gains": "Drafts",
    "hidden": "At balance",
    "better": "Faster here:",
    "room": "Weights and cache",
    "bound": "The experts are",
    "more": "More requests with",
    "cheaper": "Around the experts, less leaves with",
    "holds": "Your group",
    "held": "On one GPU, weights and cache",
    "model_held": "On one GPU, model and cache",
    "decode_side": "Decode is",
    "kept": "This budget",
    "most": "Most of the time goes to",
    "binds": "Target that binds",
    "fits": "In its memory",
    "larger": "More FLOPs are in",
    "where": "This setting is",
    "limit": "What limits them",
    "schedule": "Faster schedule",
    "multiplied": "Layers multiply in",
    "reads": "Tokens in cache",
}


@every_figure
def test_a_verdict_says_which_one_is_less(name: str) -> None:
    for verdict in registry.figures()[name]().readouts:
        if isinstance(verdict, Verdict):
            assert VERDICTS[verdict.less, verdict.than] == verdict.cases
            assert LABELS[verdict.name] == verdict.label
            case = verdict.name.split("_")[0]
            if verdict.less.split("_")[0] in CASES:
                assert case == verdict.less.split("_")[0]
                assert verdict.label.lower().startswith(case)


# Signals of a case: called like their result, bound like their case, reading no other.
CASES: dict[str, dict[str, float]] = {"decode": {"chunk": 1}, "prefill": {"batch": 1}}
PREFIXES = {*CASES, "halves", "turn", "seen", "mha", "gqa", "mla", "other"}
NICKNAMES = {
    **{"seen_attn": "idle_attn", "seen_ffn": "idle_ffn", "half": "batch"},
    **{"made": "kv_made_per_s", "expert_copies_bytes": "row_out_bytes"},
    **{"held_bytes": "iteration_bytes", "decode_s": "iteration_s"},
    **{"prefill_s": "iteration_s"},
    **{f"{case}_limit": "attn_intensity" for case in (*CASES, "mha", "gqa", "mla")},
    **{f"speedup_{g}_{n}": "tp_speedup" for g, n in product((2, 8), (1, 256))},
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
