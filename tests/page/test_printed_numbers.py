"""Numbers that a code cell prints, computed again from what the chapter says.

A cell that prints another quantity, or one in another unit, stores its output as well.
Each line here is read from the stored output and compared with arithmetic of its own.
"""

import math
import re
from collections.abc import Iterator

import pytest

from llmserve_lab import running_example
from llmserve_lab.moe import toy
from tests.page.cells import number
from tests.page.records import ROOT, notebook_of

SETTING = {name: float(x) for name, x in running_example.setting().items()}
READ = 2 * SETTING["params_read"]  # bytes of the weights, FLOPs of a row
RATE = SETTING["peak_flops"] * SETTING["eff_compute"]
WORTH = {2: 10, 1: 20, 3: 30, 5: 40, 4: 50}  # value of the key with each score
VALUE = r"([-−+]?\d[\d,]*(?:\.\d+)?%?)"
PRINTED: dict[str, list[tuple[str, list[float]]]] = {}


def printed(chapter: str) -> str:
    """All that the cells of a chapter print, in one line, one space between words."""
    cells = notebook_of(ROOT / "chapters" / f"{chapter}.ipynb")["cells"]
    outputs = (each for cell in cells for each in cell.get("outputs", ()))
    return " ".join(" ".join("".join(e.get("text", "")) for e in outputs).split())


def in_chapter(chapter: str, *said: tuple[str, list[float]]) -> None:
    """Lines of a chapter: words in which ``#`` is a number, and those numbers."""
    PRINTED.setdefault(chapter, []).extend(said)


def all_pairs(first: int, many: int) -> int:
    """Pairs of query and key when each of ``many`` passes reads all of its text."""
    return sum(n * (n + 1) // 2 for n in range(first, first + many))


def ratios(prompt: int, many: int) -> list[float]:
    """How many times more rows, and pairs, without a cache than with one."""
    last = prompt + many - 1
    rows = sum(range(prompt, last + 1)) / last
    return [rows, all_pairs(prompt, many) / (last * (last + 1) / 2)]


def exp_sum(*scores: float) -> float:
    return sum(math.exp(score - max(scores)) for score in scores)


def weighed(values: dict[int, int]) -> float:
    """Values by the softmax of their scores."""
    most = max(values)
    parts = [math.exp(score - most) * value for score, value in values.items()]
    return sum(parts) / exp_sum(*values)


def flash_numbers(rows: int, *, keys_outside: bool) -> float:
    """Millions of numbers that tiles move: 1,000 tokens, one head of 128, causal."""
    inner = range(0, 1000, 128 if keys_outside else rows)
    if not keys_outside:
        seen = sum(min(start + rows, 1000) for start in inner)
        return (2 * 1000 * 128 + 2 * 128 * seen) / 1e6
    seen = sum(1000 - start for start in inner)  # queries that a tile of keys meets
    state = 128 + 2  # output, maximum and sum of a row: not read the first time
    return (2 * 1000 * 128 + 128 * seen + state * (2 * seen - 1000)) / 1e6


def apart(copies_of: str) -> int:
    """Bytes of rows between GPUs: two experts each, out and back, 16 numbers a row."""
    rows = 0
    for gpu, tokens in enumerate(toy.tokens()):
        for token in tokens:
            scores = token @ toy.layer().weights["router"]
            homes = [int(expert) // 2 for expert in scores.argsort()[-2:]]
            far = [home for home in homes if home != gpu]
            rows += len(far) if copies_of == "expert" else len({*far})
    return 2 * rows * 16 * 8


def prompt_ms(lengths: list[int], way: str) -> list[float]:
    """Time in matrix products, in attention, and in both, of prompts in one batch."""
    longest, tokens = max(lengths), sum(lengths)
    rows = len(lengths) * longest if way == "padded" else tokens
    alike = {"padded": [longest] * len(lengths), "masked": [tokens], "varlen": lengths}
    pairs = sum(n * (n + 1) / 2 for n in alike[way])
    parts = [rows * READ, pairs * SETTING["attn_flops_per_pair"]]
    return [1e3 * flops / RATE for flops in (*parts, sum(parts))]


def free_rows(batch: int, context: int) -> float:
    """Rows that a step could have more until arithmetic lasts as long as reading."""
    read = READ + batch * context * SETTING["kv_bytes_per_token"]
    seconds = read / SETTING["hbm_bw"]
    return seconds * SETTING["peak_flops"] / READ - batch


in_chapter("capacity", ("# replicas for # and #", [-(-(95 + 101) // 35), 95, 101]))
in_chapter(
    "catalog",
    (
        "# parameters # bytes in the cache",
        [
            2 * 32000 * 2048 + 2048
            + 16 * (2 * 2048 * (32 + 8) * 64 + 3 * 2048 * 8192 + 2 * 2048),
            2 * 8 * 64 * 2 * 16,
        ],
    ),
)  # fmt: skip
in_chapter(
    "disaggregation",
    *(
        (f"32 requests with {n} in cache: # rows for free", [free_rows(32, n)])
        for n in (256, 1024, 4096)
    ),
)
in_chapter(
    "end_to_end",
    *(
        (f"{p:,} + 1,000: rows #, pairs #", ratios(p, 1000))
        for p in (1, 1000, 1_000_000)
    ),
    ("rows, again : # = # counted", [sum(range(6, 14))] * 2),
    ("rows, once : # = # counted", [6 + 7] * 2),
    ("pairs, again: # = # counted", [all_pairs(6, 8)] * 2),
    ("pairs, once : # = # counted", [13 * 14 / 2] * 2),
    ("# kB", [2 * 80 * 8 * 128 * 2 / 1e3]),
)
in_chapter(
    "flash_attention",
    (
        "maximum #, sum #, rescaled by # maximum #, sum #, rescaled by # output #",
        [3, exp_sum(2, 1, 3), 0, 5, exp_sum(*WORTH), math.exp(3 - 5), weighed(WORTH)],
    ),
    ("plain: # million", [(4 * 1000 * 128 + 4 * 1000 * 1000) / 1e6]),
    (
        "queries outside, 128 queries: # million",
        [flash_numbers(128, keys_outside=False)],
    ),
    ("keys outside, 128 queries: # million", [flash_numbers(128, keys_outside=True)]),
    (
        "queries outside, 256 queries: # million",
        [flash_numbers(256, keys_outside=False)],
    ),
    ("maximum #, sum # maximum #, sum #",
     [3, exp_sum(1, 3), 5, exp_sum(1, 3, 2, 5)]),
    ("at most # keys: #", [(232_448 - 24_576) / 768, 256]),
)  # fmt: skip
in_chapter(
    "how_wrong",
    ("MAPE # %, bias # %", [10, (10 - 10 + 20) / 4]),
    ("# ms, # s, # tokens/s a server", [15, 8, 30 * 501 / 8]),
    ("#, so # servers: # GPUs", [40_000 / (30 * 501 / 8), 22, 88]),
)
in_chapter(
    "kv_memory",
    ("B finds # of # tokens D finds # of # tokens", [8, 10, 0, 10]),
    ("# GiB", [2 * 8 * 128 * 2 * (12 * 131_072 + 36 * 8_192) / 2**30]),
)
in_chapter(
    "mixture_of_experts",
    ("a copy for each expert: equal True, # bytes", [apart("expert")]),
    ("a copy for each rank : equal True, # bytes", [apart("rank")]),
    *(
        (f"alike {n} tokens: … simulated, # closed", [256 * (1 - (1 - 8 / 256) ** n)])
        for n in (8, 64)
    ),
)
in_chapter(
    "parallelism",
    (
        "reduce_scatter: # bytes leave each rank all_reduce: # bytes leave each rank "
        "all_gather: # bytes",
        [8 * 8 * 3 / 4, 2 * (8 * 8 / 4) / 2, 8 * 8 * 3 / 4],
    ),
    *(
        (f"{n} in flight: # ticks, idle #", [31 + n, 1 - n * 8 / (31 + n)])
        for n in (1, 2, 4)
    ),
)
in_chapter(
    "speculative_decoding",
    ("kept with chance #", [0.2 + 0.3 + 0.1]),
    (
        "# tokens in # ms: # ms",
        [1 + 0.7 + 0.49 + 0.343, 12.7, 12.7 / (1 + 0.7 + 0.49 + 0.343)],
    ),
    *(
        (f"{n} drafts: # tokens", [(1 - 0.75 ** (n + 1)) / 0.25])
        for n in (4, 8, 16, 64)
    ),
    ("# ms, # plain passes", [10.8 + 15.5, (10.8 + 15.5) / 11.6]),
    ("0 drafts: … ms a token, # bursts", [32 * 199]),
)
in_chapter("symptoms", ("# # not yet", [12_000 // 107, 200 * 180.5 / 240]))
in_chapter(
    "tensor_parallel",
    *(
        (
            f"{g} ranks, by_columns right: True, sends # bytes {g} ranks, by_rows "
            "right: True, sends # bytes",
            [n * 4 * 512 * 8 * (g - 1) / g for n in (1, 2)],
        )
        for g in (2, 4, 8)
    ),
    *(
        (f"{way} TP {g}: equal True, # calls, # bytes leave",
         [calls, many * 4 * 512 * 8 * (g - 1) / g])
        for way, calls, many in (("gathered", 4, 7), ("paired", 2, 4))
        for g in (1, 2, 4, 8)
    ),
    ("2048 x 8192 x 2 = # MB", [2048 * 8192 * 2 / 1e6]),
    ("2 x 7/4 x that = # MB", [2 * 7 / 4 * 2048 * 8192 * 2 / 1e6]),
    ("80 x that = # GB", [80 * 2 * 7 / 4 * 2048 * 8192 * 2 / 1e9]),
    *(
        (f"TP {g}: # MB of cache", [8192 * 2 * 8 * 128 * 2 * 80 / min(g, 8) / 1e6])
        for g in (1, 2, 4, 8, 16, 32)
    ),
)  # fmt: skip
in_chapter(
    "varlen_batching",
    *(
        (f"{words} … {way}: # + # = # ms", prompt_ms(lengths, way))
        for words, lengths in (
            ("4 prompts, 2,000 tokens:", [100, 200, 500, 1200]),
            ("64 prompts, 8,192 tokens:", [128] * 64),
        )
        for way in ("padded", "masked", "varlen")
    ),
    ("# rows, # s", [16_000, 16_000 * READ / RATE]),
    *(
        (f"{n} tokens: # tiles, #", [tiles, n * (n + 1) / 2 / (tiles * 128**2)])
        for n, tiles in ((256, 3), (260, 6))
    ),
)


def lines() -> Iterator[tuple[str, str, list[float]]]:
    for chapter, said in PRINTED.items():
        for words, wants in said:
            yield chapter, words, wants


@pytest.mark.parametrize(("chapter", "words", "wants"), [*lines()])
def test_a_printed_number_is_what_its_words_say(
    chapter: str, words: str, wants: list[float]
) -> None:
    pattern = re.escape(words).replace(r"\#", VALUE).replace("#", VALUE)
    found = re.search(pattern.replace("…", ".*?"), printed(chapter))
    assert found, f"{words} is not printed in {chapter}"
    for cell, want in zip(found.groups(), wants, strict=True):
        value, off = number(cell)
        assert abs(value - want) <= off + 1e-9, (cell, want)


def test_a_draft_adds_the_same_to_every_pass() -> None:
    """Time a token and the number of bursts are those of one run: a pass is both."""
    found = re.findall(
        r"(\d) drafts: ([\d.]+) ms a token, ([\d,]+) bursts",
        printed("speculative_decoding"),
    )
    (none, *_), *others = passes = [
        (float(ms) * 32 * 199 / float(bursts.replace(",", "")), int(drafts))
        for drafts, ms, bursts in found
    ]
    assert [drafts for _, drafts in passes] == [0, 2, 8]
    each, also = ((pass_ms - none) / drafts for pass_ms, drafts in others)
    assert each == pytest.approx(also, rel=0.05)
    assert 0.1 * none < each < 0.5 * none  # a small model's own pass, and more rows
