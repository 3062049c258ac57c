"""The chapter's live figures: three attention squares, and when attention matters."""

from __future__ import annotations

from llmserve_lab.catalog import MODELS, ModelShape
from llmserve_lab.notation import quantity
from llmserve_lab.page.live.controls import Choice, Slider
from llmserve_lab.page.live.figure import LiveFigure
from llmserve_lab.page.live.goal import Goal
from llmserve_lab.page.live.readout import Bound, Readout, Verdict
from llmserve_lab.varlen import formulas as f
from llmserve_lab.varlen.arguments import prompt_work
from llmserve_lab.varlen.page import charts

FOUR = (100.0, 200.0, 500.0, 1200.0)  # tokens of A, B, C, D
STOPS = (50.0, 100.0, 200.0, 300.0, 400.0, 500.0, 700.0, 1000.0, 1200.0, 1500.0)
BATCH = 4.0  # requests in the figure
PROMPTS = (64.0, 125.0, 250.0, 500.0, *(1000.0 * 2**i for i in range(8)))
LARGE = 1e9  # parameters of a model that is served
SIDES = ("linear layers", "attention")
READS = ("within the limit", "beyond the limit")


def attention_square() -> LiveFigure:
    """Four requests, three ways to compute their attention, side by side."""
    lengths = tuple(
        Slider(quantity(name), STOPS, start, f"Request {letter}")
        for name, start, letter in zip(
            charts.LENGTHS, FOUR, charts.REQUESTS, strict=True
        )
    )
    return LiveFigure(
        name="attention-square",
        title="The same four requests: only varlen's pairs stay within each request",
        chart=charts.squares,
        controls=lengths,
        drag=charts.starts(),
        derived={
            "mean_prompt": Bound(f.MEAN_OF_FOUR, batch=BATCH),
            "mean_square_prompt": Bound(f.MEAN_SQUARE_OF_FOUR, batch=BATCH),
            "longest_prompt": f.LONGEST_OF_FOUR,
            "useful_pairs": Bound(f.USEFUL_PAIRS, batch=BATCH),
        },
        readouts=(
            Readout(f.PADDING_SHARE, "Share of padding in the padded rows"),
            Readout(f.PADDED_PAIRS, "Padded: pairs", batch=BATCH),
            Readout(f.MASKED_PAIRS, "Masked: pairs", batch=BATCH),
            Readout(f.VARLEN_PAIRS, "Varlen: pairs", batch=BATCH),
        ),
        sentence=(
            "Lengths {len_1}, {len_2}, {len_3} and {len_4}: in whole squares, "
            "padding computes {padded_pairs}, masking {masked_pairs} and varlen "
            "{varlen_pairs}; {useful_pairs} are useful."
        ),
        goal=Goal(
            "choose four lengths for which padding computes fewer pairs than masking.",
            lambda padded_pairs, masked_pairs: padded_pairs < masked_pairs,
            {"len_1": 500.0, "len_2": 500.0, "len_4": 500.0},
        ),
    )


def longest(model: ModelShape) -> float:
    """Tokens that a model reads at most, prompt and answer together."""
    assert model.max_context is not None
    return float(model.max_context)


def attention_share() -> LiveFigure:
    """Where attention overtakes the linear layers, for any model of the catalog."""
    models = tuple(m for m in MODELS.values() if m.params_total > LARGE)
    works = [prompt_work(model) for model in models]
    columns = {
        name: tuple(work[name] for work in works)
        for name in ("params_active", "attn_flops_per_pair")
    }
    # A prompt leaves room for an answer of one token at least.
    columns["most_context"] = tuple(map(longest, models))
    names = tuple(model.name for model in models)
    return LiveFigure(
        name="attention-share",
        title="In large models attention overtakes after tens of thousands of tokens",
        chart=charts.share,
        controls=(
            Choice("model", "Model", names, "Llama-3.1-8B", columns),
            Slider(
                quantity("row_prompt"), PROMPTS, 1000.0, "Prompt of the average row"
            ),
        ),
        readouts=(
            Readout(
                f.ATTN_SHARE,
                "Attention's share of the FLOPs",
                batch=1.0,
                mean_prompt="row_prompt",
                row_prompt="row_prompt",
            ),
            Readout(f.OVERTAKE_PROMPT, "Attention overtakes at"),
            Verdict(
                "larger", "More FLOPs are in", "row_prompt", "overtake_prompt", SIDES
            ),
            Verdict("read_whole", "The prompt is", "row_prompt", "most_context", READS),
        ),
        sentence=(
            "{model}: attention does more FLOPs than the linear layers from prompts of "
            "{overtake_prompt} on; a prompt of {row_prompt} is {read_whole} of the "
            "model, and most of its FLOPs are in the {larger}."
        ),
    )
