"""What to guess before reading the chapter on cuts, and what to work out after it."""

from __future__ import annotations

from llmserve_lab import catalog
from llmserve_lab.catalog import machine, wire
from llmserve_lab.formula.text import plain, si
from llmserve_lab.page.question.question import Hint, Question
from llmserve_lab.tensor_parallel import article
from llmserve_lab.tensor_parallel import formulas as f
from llmserve_lab.tensor_parallel.arguments import DEFAULT, sizes_of

BLOCK = sizes_of(article.SHAPE) | {"batch": 1.0, "chunk": float(article.N_ROWS)}
MODEL = catalog.model("llama-3-70b")
SMALL = (
    sizes_of(catalog.model("llama-3-8b"))
    | machine(catalog.accelerator("h100-sxm"))
    | wire(catalog.link("nvlink4"))
)
ONE = {"batch": 1.0, "chunk": 1.0, "context": 1024.0}
ROWS, RANKS, MANY = 2048, 8, 16
KV_HEADS = int(float(DEFAULT["n_kv_heads"]))
DEGREES = (1, 2, 4, 8, 16)
FEWER = "With fewer ranks each reads more weights, and the ring is short yet."
MORE = "With more ranks the weights are read sooner, but the ring takes longer."


def _fastest() -> float:
    """Index into ``DEGREES`` of the shortest iteration for one request."""
    times = [f.TP_S.at(SMALL | ONE, n_ranks=float(g)) for g in DEGREES]
    return float(times.index(min(times)))


def _degree_hint(index: int) -> Hint:
    """What to say of a degree that is not the fastest."""
    return Hint(lambda: float(index), lambda: FEWER if index < _fastest() else MORE)


def _share() -> float:
    return float(f.PAIRED_SHARE.at(BLOCK))


def _kv_share() -> float:
    """One rank's part of the cache at a degree above the number of KV heads."""
    return float(f.KV_COPIES.at(DEFAULT, n_ranks=float(MANY)) / MANY)


def _all_reduce_bytes(factor: float = 1.0) -> float:
    """Bytes that leave a rank in a whole prefill, all layers."""
    here = {"batch": 1.0, "chunk": float(ROWS), "n_ranks": float(RANKS)}
    return float(factor * MODEL.n_layers * f.PAIRED_BYTES.at(DEFAULT, **here))


predict_bytes = Question(
    name="tensor-parallel.predict-bytes",
    kind="predict",
    prompt=(
        "Cut by columns throughout, a block makes four gathers. Paired, it makes two "
        "all-reduces. The bytes that leave each GPU fall …"
    ),
    choices=("to less than half", "to one half", "to more than half"),
    answer=lambda: float(1 + (_share() > 0.5) - (_share() < 0.5)),
    why=lambda: (
        "An all-reduce is a reduce-scatter and then an all-gather: it sends twice what "
        f"a gather of the same rows sends. In the article's block {plain(_share(), 3)} "
        "of the bytes are left."
    ),
    hints=(
        Hint(lambda: 1.0, "That is the calls. Does each send as much?"),
        Hint(
            lambda: 0.0,
            "There are half as many calls, and each sends more.",
        ),
    ),
)
predict_degree = Question(
    name="tensor-parallel.predict-degree",
    kind="predict",
    prompt=(
        "Llama-3-8B writes one answer, batch one, on H100s over NVLink, with a ring. "
        "How many GPUs make a token fastest?"
    ),
    choices=tuple(map(str, DEGREES)),
    answer=_fastest,
    why=lambda: (
        "A rank reads fewer weights, but every one of the all-reduces takes longer "
        f"with each rank that the ring has. On {RANKS} ranks communication takes "
        f"{plain(100 * f.LINK_SHARE.at(SMALL | ONE, n_ranks=float(RANKS)), 3)} % "
        "of the time."
    ),
    hints=tuple(_degree_hint(i) for i in range(len(DEGREES))),
)
predict_head = Question(
    name="tensor-parallel.predict-head",
    kind="predict",
    prompt=(
        "There is one head only, and its features are cut over two GPUs. Each takes "
        "the scores of its half, and the softmax of those. What does that give, once "
        "the outputs are added up?"
    ),
    choices=("the right output", "a wrong output"),
    answer=lambda: 1.0,
    why="Half a score is a partial sum. The softmax of a sum is no sum of softmaxes, "
    "so the scores have to be whole before it.",
    hints=(Hint(lambda: 0.0, "Is the softmax linear?"),),
)
prefill_bytes = Question(
    name="tensor-parallel.prefill-bytes",
    prompt=(
        f"{MODEL.name} reads a prompt of {ROWS} tokens on {RANKS} GPUs, columns and "
        f"rows paired, 16-bit numbers. It has {MODEL.n_layers} layers and rows of "
        f"{MODEL.d_model} numbers. How many bytes leave each GPU?"
    ),
    answer=_all_reduce_bytes,
    unit="byte",
    asked_in="GB",
    rel_tol=0.02,
    hints=(
        Hint(
            lambda: _all_reduce_bytes(0.5), "An all-reduce is two rounds of the ring."
        ),
        Hint(lambda: _all_reduce_bytes(1 / MODEL.n_layers), "That is one block."),
    ),
    why=lambda: (
        f"Equation {f.PAIRED_BYTES.link} times the layers: "
        f"{si(_all_reduce_bytes(), 'byte')}."
    ),
)
score_rows = Question(
    name="tensor-parallel.score-rows",
    prompt=(
        "A block with the article's width but a single head is cut through that head. "
        "From how many rows on is the all-reduce of scores larger than the two others "
        "together?"
    ),
    answer=lambda: f.SCORE_ROWS.at(BLOCK, n_heads=1.0),
    unit="token",
    rel_tol=0.01,
    hints=(
        Hint(
            lambda: f.SCORE_ROWS.at(BLOCK, n_heads=1.0) / 2,
            "That is against one of the two.",
        ),
    ),
    why=lambda: (
        f"Equation {f.SCORE_ROWS.link}: "
        f"{si(f.SCORE_ROWS.at(BLOCK, n_heads=1.0), 'token')}. "
        "Scores grow with the square of the rows."
    ),
)
kv_share = Question(
    name="tensor-parallel.kv-share",
    prompt=(
        f"{MODEL.name} has {KV_HEADS} key–value heads and runs on {MANY} ranks. What "
        "part of the cache does each rank hold?"
    ),
    answer=_kv_share,
    rel_tol=0.01,
    hints=(Hint(lambda: 1 / MANY, "A head cannot be halved: somebody holds a copy."),),
    why=lambda: (
        f"Equation {f.KV_COPIES.link} gives "
        f"{f.KV_COPIES.at(DEFAULT, n_ranks=float(MANY)):g} "
        f"copies of each head, so a rank holds {si(_kv_share(), 'dimensionless')}."
    ),
)
