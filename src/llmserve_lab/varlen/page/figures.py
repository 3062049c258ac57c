"""The chapter's live figures: what is computed of the square, and when it matters."""

from __future__ import annotations

from llmserve_lab.catalog import MODELS, workload
from llmserve_lab.notation import quantity
from llmserve_lab.page.live.controls import Choice, Slider
from llmserve_lab.page.live.figure import LiveFigure
from llmserve_lab.page.live.readout import Readout, Verdict
from llmserve_lab.varlen import formulas as f
from llmserve_lab.varlen.page import charts

STEPS = (0.0, 1.0, 5.0, *(float(i) for i in range(10, 101, 10)))
START = {"len_1": 10.0, "len_2": 30.0, "len_3": 0.0, "len_4": 0.0}
WAYS = ("padded", "packed and masked", "varlen")
PROMPTS = tuple(2.0**i for i in range(6, 18))
SIDES = ("linear layers", "attention")


def attention_square() -> LiveFigure:
    """Up to four requests, three ways to compute their attention."""
    lengths = tuple(
        Slider(quantity(name), STEPS if name != "len_1" else STEPS[1:], start, label)
        for (name, start), label in zip(
            START.items(),
            ("Request A", "Request B", "Request C", "Request D"),
            strict=True,
        )
    )
    return LiveFigure(
        name="attention-square",
        title="Varlen computes the blocks and never what lies between them",
        chart=charts.square,
        controls=(Choice("way", "Method", WAYS, WAYS[1]), *lengths),
        drag=charts.starts(),
        derived={
            "batch": f.BATCH_OF_FOUR,
            "mean_prompt": f.MEAN_OF_FOUR,
            "mean_square_prompt": f.MEAN_SQUARE_OF_FOUR,
            "longest_prompt": f.LONGEST_OF_FOUR,
        },
        readouts=(
            Readout(f.PADDED_ROWS, "Padded: rows"),
            Readout(f.PACKED_ROWS, "Packed: rows"),
            Readout(f.PADDED_PAIRS, "Padded: pairs"),
            Readout(f.MASKED_PAIRS, "Masked: pairs"),
            Readout(f.VARLEN_PAIRS, "Varlen: pairs"),
            Readout(f.USEFUL_PAIRS, "Useful, any method"),
            *(_wasted(way) for way in ("padded", "masked", "varlen")),
            Readout(f.MASKED_RATIO, "Masked over varlen"),
        ),
        sentence=(
            "Lengths {len_1}, {len_2}, {len_3} and {len_4}, drawn {way}: padding "
            "computes {padded_pairs:6}, masking {masked_pairs:6} and varlen "
            "{varlen_pairs:6} per layer and head; {useful_pairs:6} are useful."
        ),
    )


def _wasted(way: str) -> Readout:
    """What one way computes for nothing: its own pairs stand for those of varlen."""
    label = f"{way.capitalize()}: wasted"
    return Readout(
        f.WASTED_PAIRS, label, name=f"{way}_wasted", varlen_pairs=f"{way}_pairs"
    )


def attention_share() -> LiveFigure:
    """Where attention overtakes the linear layers, for any model of the catalog."""
    models = tuple(MODELS.values())
    works = [workload(model, absorbed=False) for model in models]
    columns = {
        name: tuple(work[name] for work in works)
        for name in ("params_active", "attn_flops_per_pair")
    }
    names = tuple(model.name for model in models)
    return LiveFigure(
        name="attention-share",
        title="In large models attention overtakes at tens of thousands of tokens",
        chart=charts.share,
        controls=(
            Choice("model", "Model", names, "Llama-3-8B", columns),
            Slider(
                quantity("row_prompt"), PROMPTS, 1024.0, "Prompt of the average row"
            ),
        ),
        readouts=(
            Readout(f.OVERTAKE_PROMPT, "Attention overtakes at"),
            Readout(f.OVERTAKE_SQUARE, "If whole squares are computed"),
            Verdict(
                "larger", "More FLOPs are in", "row_prompt", "overtake_prompt", SIDES
            ),
        ),
        sentence=(
            "{model}: attention does more FLOPs than the linear layers from prompts of "
            "{overtake_prompt} on, or {overtake_square} if whole squares are computed; "
            "with a prompt of {row_prompt} most FLOPs are in the {larger}."
        ),
    )
