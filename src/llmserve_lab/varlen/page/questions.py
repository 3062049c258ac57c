"""What to guess before reading about requests of different lengths, or work out."""

from __future__ import annotations

from llmserve_lab.catalog import MODELS
from llmserve_lab.catalog.evidence.packing import AZURE_MEAN, TILE
from llmserve_lab.formula.text import si
from llmserve_lab.page.question.question import Hint, Question
from llmserve_lab.running_example import cost, model
from llmserve_lab.transformer import tiles_of
from llmserve_lab.varlen import formulas as f
from llmserve_lab.varlen.arguments import batch_of, prompt_work
from llmserve_lab.varlen.lengths import padding_share

THREE = batch_of((20, 50, 80))
LONG, EQUAL = batch_of((20_000,)), batch_of((128,) * 64)
LLAMA, LARGER = prompt_work(model()), prompt_work(MODELS["llama-3.1-70b"])
PARAMS = f"{float(LARGER['params_active']) / 1e9:.2f} billion"
PER_PAIR = f"{float(LARGER['attn_flops_per_pair']):,.0f}"
SIXTEEN = {"batch": 16.0, "mean_prompt": 500.0, "longest_prompt": 1500.0}
SHORT = (260,) * 64  # two tiles and four tokens each
MEAN = f"{float(AZURE_MEAN['conversation']):,.0f}"
BRANCHES = ("attention", "the linear layers")
SHARES = ("about 20 %", "about 40 %", "about 60 %")


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _padding_s() -> float:
    """Seconds of linear work on padding, in the batch of sixteen."""
    rows = f.PADDED_ROWS.at(SIXTEEN) - f.PACKED_ROWS.at(SIXTEEN)
    return float(rows) * cost().row_s


def _useful_in_tiles(tiles: int) -> float:
    """Share of useful pairs in so many tiles, for the short requests."""
    return float(f.USEFUL_PAIRS.at(batch_of(SHORT))) / (tiles * float(TILE) ** 2)


predict_padding = Question(
    name="varlen.predict-padding",
    kind="predict",
    prompt=(
        "A chat service pads its prompts to the longest of each batch. It takes eight "
        f"prompts at a time, at random, from a real trace with a mean of {MEAN} "
        "tokens. "
        "What share of its rows is padding?"
    ),
    choices=SHARES,
    answer=lambda: float(round(padding_share("conversation", 8) / 0.2) - 1),
    why=lambda: (
        f"It is {_percent(padding_share('conversation', 8))}. The longest of eight "
        "prompts is more than twice as long as the mean; each row up to it is paid for."
    ),
    hints=(
        Hint(
            lambda: 0.0, "Prompts differ by factors, and the longest of eight decides."
        ),
        Hint(
            lambda: 1.0, "More: the longest of eight is more than twice the mean one."
        ),
    ),
)
predict_masked = Question(
    name="varlen.predict-masked",
    kind="predict",
    prompt=(
        "Sixty-four prompts of 128 tokens each lie end to end. One kernel computes "
        "the whole square of rows by keys and masks it, another only a block for "
        "each request. "
        "How many times as many pairs does the first compute?"
    ),
    answer=lambda: f.MASKED_RATIO.at(EQUAL),
    rel_tol=0.01,
    hints=(
        Hint(
            lambda: f.MASKED_RATIO.at(EQUAL) ** 2,
            "So many blocks fit into the square, but the other kernel computes 64.",
        ),
    ),
    why=lambda: (
        f"The square has {f.MASKED_PAIRS.at(EQUAL):,.0f} pairs, the 64 blocks have "
        f"{f.VARLEN_PAIRS.at(EQUAL):,.0f}: as many times fewer as there are "
        "requests."
    ),
)
predict_dominates = Question(
    name="varlen.predict-dominates",
    kind="predict",
    prompt=(
        "Llama-3.1-8B reads one prompt of 20,000 tokens. Where are most of the FLOPs?"
    ),
    choices=BRANCHES,
    answer=lambda: float(f.ATTN_SHARE.at(LONG, LLAMA) < 0.5),
    why=lambda: (
        "In the linear layers: attention does "
        f"{100 * float(f.ATTN_SHARE.at(LONG, LLAMA)):.1f} % of the FLOPs. It draws "
        f"level at {si(f.OVERTAKE_PROMPT.at(LLAMA), 'token', 2)}."
    ),
    hints=(
        Hint(
            lambda: 0.0,
            "Attention grows with the square of the length, but from a small start.",
        ),
    ),
)
waste = Question(
    name="varlen.waste",
    prompt=(
        "Requests of 20, 50 and 80 tokens are padded to the longest. What share of "
        "the rows is padding (a number between 0 and 1)?"
    ),
    answer=lambda: f.PADDING_SHARE.at(THREE),
    rel_tol=0.01,
    hints=(
        Hint(
            lambda: f.PADDED_ROWS.at(THREE) / f.PACKED_ROWS.at(THREE) - 1,
            "That is padding over tokens; it was asked for padding over rows.",
        ),
    ),
    why=lambda: (
        "Equation [padding_share](#eq-padding_share), one minus mean over longest: "
        f"{si(f.PADDING_SHARE.at(THREE), 'dimensionless')}."
    ),
)
padding_time = Question(
    name="varlen.padding-time",
    prompt=(
        "Sixteen prompts, 500 tokens on average, the longest 1,500, are padded to the "
        "longest. For Llama-3.1-8B on one H100 the linear layers take "
        f"{1e6 * cost().row_s:.2f} µs a row. How many seconds do they spend on the "
        "padding alone?"
    ),
    answer=_padding_s,
    unit="s",
    rel_tol=0.02,
    hints=(
        Hint(
            lambda: float(f.PADDED_ROWS.at(SIXTEEN)) * cost().row_s,
            "That is the time of all rows; the tokens among them are not padding.",
        ),
    ),
    why=lambda: (
        "The padding is 16 · (1,500 − 500) rows, each at the price of a row: "
        f"{si(_padding_s(), 's')}, twice what the tokens themselves cost."
    ),
)
tiles = Question(
    name="varlen.tiles",
    prompt=(
        "64 requests of 260 tokens are packed. A varlen kernel works in tiles of 128 "
        "rows by 128 keys, starts anew with each request, and skips tiles that lie "
        "wholly in the future. What share of the pairs in its tiles is useful (a "
        "number between 0 and 1)?"
    ),
    answer=lambda: _useful_in_tiles(tiles_of(SHORT, int(float(TILE)))),
    rel_tol=0.02,
    hints=(
        Hint(
            lambda: _useful_in_tiles(9 * len(SHORT)),
            "The three upper right tiles of the nine are skipped.",
        ),
        Hint(
            lambda: _useful_in_tiles(3 * len(SHORT)),
            "The last four tokens of each request need tiles of their own.",
        ),
    ),
    why=lambda: (
        "Four tokens too many cost three more tiles: six tiles of 16,384 pairs a "
        "request, for 260 · 261 / 2 = 33,930 useful pairs, so "
        f"{si(_useful_in_tiles(tiles_of(SHORT, int(float(TILE)))), 'dimensionless')}."
    ),
)
overtake = Question(
    name="varlen.overtake",
    prompt=(
        f"Llama-3.1-70B multiplies each row of a prompt with {PARAMS} parameters, two "
        f"FLOPs each, and attention does {PER_PAIR} FLOPs for each pair (all layers "
        "and heads). It reads one prompt with a kernel that computes only what the "
        "causal mask allows. From what length on is more of the work in attention?"
    ),
    answer=lambda: f.OVERTAKE_PROMPT.at(LARGER),
    unit="token",
    rel_tol=0.02,
    hints=(
        Hint(
            lambda: f.OVERTAKE_SQUARE.at(LARGER),
            "So it is if the masked half of the square is computed too.",
        ),
    ),
    why=lambda: (
        "Four FLOPs a parameter (a row's two, doubled because the mask leaves half of "
        "the pairs) over the FLOPs of a pair, less one: "
        f"{si(f.OVERTAKE_PROMPT.at(LARGER), 'token', 3)} ({f.OVERTAKE_PROMPT.link})."
    ),
)
