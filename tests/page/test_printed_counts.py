"""Numbers that code cells print, counted once more: shapes, bytes, pairs, laws.

As in ``test_printed_numbers``: words in which ``#`` is a number, and those numbers by
arithmetic of their own. Here are the lines whose numbers follow from a few sizes.
"""

import math
import re
from collections.abc import Iterator

import pytest

from llmserve_lab import catalog
from llmserve_lab.end_to_end.tokens import RANKS
from llmserve_lab.moe import toy
from llmserve_lab.running_example import cost
from llmserve_lab.tensor_parallel.arguments import DEFAULT
from tests.page.cells import number
from tests.page.test_printed_numbers import (
    RATE,
    READ,
    SETTING,
    VALUE,
    WORTH,
    exp_sum,
    printed,
    weighed,
)

LINES: list[tuple[str, str, list[float]]] = []
LARGE = catalog.model("llama-3.1-70b")
BANDWIDTH = SETTING["hbm_bw"] * SETTING["eff_mem"]
LINK = float(DEFAULT["link_bw"]) * float(DEFAULT["eff_link"])
LAYER_S = cost().overhead_s / 32  # beside reading and arithmetic, of one layer


def line(chapter: str, words: str, *wants: float) -> None:
    LINES.append((chapter, words, [*wants]))


def looked_at(*tokens: str) -> list[float]:
    """Causal attention by hand: what nouns and articles ask for, by what is there."""
    has = {"give": "1", "the": "2", "dog": "03", "ball": "3"}  # features of a word
    wants = {"2": {"1": 1.0}, "3": {"1": 3.0, "2": 2.0}}  # of an article, of a noun
    rows = list[float]()
    for last, word in enumerate(tokens):
        asks = [wants.get(feature, {}) for feature in has[word]]
        parts = [
            math.exp(sum(2 * a.get(f, 0.0) for a in asks for f in has[key]) / 2)
            for key in tokens[: last + 1]
        ]
        rows += [
            sum(p for p, key in zip(parts, tokens, strict=False) if str(f) in has[key])
            / sum(parts)
            for f in range(4)
        ]
    return rows


def chosen() -> Iterator[float]:
    """Two experts of each token of the first GPU, the better first; then weights."""
    weights = list[float]()
    for token in toy.tokens()[0]:
        scores = [float(token @ column) for column in toy.layer().weights["router"].T]
        best = sorted(range(8), key=lambda expert: -scores[expert])[:2]
        parts = [math.exp(scores[expert]) for expert in best]
        weights += [part / sum(parts) for part in parts]
        yield from best
    yield from weights


def pairs_of(dealt: list[list[int]]) -> list[int]:
    """Pairs that each rank computes in eight layers, by its tokens' places."""
    return [8 * sum(place + 1 for place in mine) for mine in dealt]


def reached(gpus: int, experts: int = 256, k: int = 8) -> float:
    """GPUs with at least one of k different experts, all choices equally likely."""
    without = math.comb(experts - experts // gpus, k) / math.comb(experts, k)
    return gpus * (1 - without)


def two_servers(tokens: int, copies: int) -> tuple[float, float, float]:
    """Room, users and ms a token of Llama-3.1-405B on 16 GPUs, as the exercise says."""
    room = 16 * 75.25e9 - copies * 406e9
    users = min(64, copies * math.floor(room / copies / 516_096 / tokens))
    each = users / 2
    stages = 1 if copies == 2 else 2  # a replica has all layers, a stage half of them
    read = stages * (406e9 / stages + each * tokens * 516_096 / stages) / 8 / 3.17e12
    return room / 516_096, users, 1e3 * (read + 126 * 68e-6 + stages * each * 16e-6)


def served_s(batch: int, gpus: int) -> float:
    """Time of a decode of the 70B model cut over GPUs; layers' own time is not cut."""
    read = 2 * float(LARGE.params_active) / BANDWIDTH
    compute = 2 * batch * float(LARGE.params_active) / RATE
    pairs = batch * 1001 * 4 * 80 * 64 * 128 / RATE
    cache = batch * 1000 * 327_680 / BANDWIDTH
    cut = max(read, compute) + 0.5 * min(read, compute) + pairs + cache
    sent = 2 * 80 * 2 * (gpus - 1) / gpus * batch * 8192 * 2
    return cut / gpus + 80 * LAYER_S + batch * cost().request_s + sent / LINK


line("catalog", "# GB (estimate: its box)", min(
    24 * float(each.driver_bytes) / float(each.hbm_bytes)
    for each in catalog.ACCELERATORS.values() if each.driver_bytes is not None
))  # fmt: skip
line("continuous_batching", "here: chunks of # rows",
     RATE / BANDWIDTH * SETTING["kv_bytes_per_token"] / SETTING["attn_flops_per_pair"]
)  # fmt: skip
line("disaggregation", "# that prefill, # that decode", 78 * 0.0325, 78 * 0.0267)
for key in ("llama-2-7b", "llama-3.1-8b", "qwen3-32b", "deepseek-v3"):
    each = catalog.model(key)
    made = RATE * each.kv_bytes_per_token() / (2 * float(each.params_active))
    line("disaggregation", f"{each.name} at most # GB/s of cache", made / 1e9)
line("end_to_end", "Give # ␣the # ␣dog # ␣the # ␣ball # ␣unbelie # vably #",
     *(RANKS[each] for each in ("Give", " the", " dog", " the", " ball", " unbelie")),
     RANKS["vably"])  # fmt: skip
line("end_to_end", f"[[# # # # ]{4 * ' [# # # # ]'}]",
     *looked_at("give", "the", "dog", "the", "ball"))  # fmt: skip
block = [4096 * 128 * (32 + 8 + 8 + 32), 4096 * 14336 * 3]
line("end_to_end", "one block: # + #", *block)
line("end_to_end", "32 blocks and two tables: # the published checkpoint: #",
     32 * sum(block) + 2 * 128256 * 4096,
     32 * sum(block) + 2 * 128256 * 4096 + (2 * 32 + 1) * 4096)  # fmt: skip
line("end_to_end", "# # # # # # # # tokens in the cache, pass by pass",
     *range(4, 12))  # fmt: skip
of_70b = [2 * (80 * 8192 * (128 * 2 * (64 + 8) + 3 * 28672) + 128256 * 8192) / 1e9,
          4 * 80 * 64 * 128 * 8001 / 1e9]  # fmt: skip
line("end_to_end", "# + # = # GFLOP", *of_70b, sum(of_70b))
line("end_to_end", "p = #: # words do, you keep #", 0.9, 4, 5)
for before, new in ((1, 1000), (1000, 1000), (1000, 100)):
    rows = sum(range(before, before + new))
    line("end_to_end", f"{before} + {new} tokens: # × the count",
         (before + new) ** 2 / 2 / rows)  # fmt: skip
line("flash_attention", "output # maximum #, sum #, rescaled by # maximum #, sum #, "
     "rescaled by # output #", weighed(WORTH), 5, exp_sum(5, 4), 0,
     5, exp_sum(*WORTH), 1, weighed(WORTH))  # fmt: skip
line("how_wrong", "# blocks",
     math.floor((2 * (0.85 * 85.030e9 - 1.224e9) - 24.496e9) / 2.62144e6))  # fmt: skip
line("kv_memory", "--max-num-seqs # --max-model-len #",
     math.floor((58_263 - 133) / (150 + 39 * 128_256 / 2**20)), 1200)  # fmt: skip
line("mixture_of_experts", "experts [[#, #], [#, #]], weights [[#, #], [#, #]]",
     *chosen())  # fmt: skip
for gpus in (2, 8, 64, 256):
    line("mixture_of_experts",
         f"{gpus} GPUs: … counted, # by the law; as if independent #",
         reached(gpus), gpus * (1 - (1 - 1 / gpus) ** 8))  # fmt: skip
four = "pairs of each rank: [#, #, #, #]"
line("parallelism", f"zigzag same logits: True {four}",
     *pairs_of([[2 * r, 2 * r + 1, 14 - 2 * r, 15 - 2 * r] for r in range(4)])
)  # fmt: skip
line("parallelism", f"contiguous same logits: True {four}",
     *pairs_of([[*range(4 * r, 4 * r + 4)] for r in range(4)]))  # fmt: skip
sizes = [516_096 * 24_000, 8_289_792 * 4_000]
line("parallelism", "pass-KV # GB, pass-Q # GB # times",
     *(each / 1e9 for each in sizes), sizes[0] / sizes[1])  # fmt: skip
for tokens in (4_000, 16_000):
    for copies, name in ((2, "replicas"), (1, "pipeline")):
        line("parallelism",
             f"{tokens:,} each, {name}: room for # tokens, # users run, # ms",
             *two_servers(tokens, copies))  # fmt: skip
line("parallelism", "compute #, # pairs", sum(range(1, 9)), sum(range(9, 17)))
line("parallelism", "sums: [# # # #]", *[sum(range(8))] * 4)
# Eight layers, three hops; a token's keys and values in two heads of eight; a new row's
# query in eight heads of eight goes out, its output comes back with a sum of each head.
line("parallelism", "pass-KV: # bytes leave a rank; … pass-Q: # bytes leave a rank",
     8 * 3 * (48 + 8) / 4 * 2 * 2 * 8 * 8, 8 * 3 * 8 / 4 * (64 + 64 + 8) * 8
)  # fmt: skip
ring = 2 * 3 / 4 * 16 * 64 * 8  # bytes of a rank in an all-reduce of sixteen rows
line("parallelism", "all-reduce: # calls, # bytes two halves: # calls, # bytes",
     4 * 8 * 2, 4 * 8 * 2 * ring, 4 * 8 * 2 * 2, 4 * 8 * 2 * ring)  # fmt: skip
line("parallelism", "# bytes, cut # bytes",
     *(2 * 8 * many * 2 * 1 / 2 * 16 * 64 * 8 for many in (1, 2)))  # fmt: skip
line("quantization", "[ # # # #] times # = [ # # # #]",
     *(round(w / 0.1) for w in (0.21, -0.53, 0.70, -0.34)), 0.70 / 7,
     0.2, -0.5, 0.7, -0.3)  # fmt: skip
line("quantization", "true sum # + # = # to nearest # + # = # "
     "error handed on # + # = # since # is rounded",
     0.44, 0.43, 0.87, 0.4, 0.4, 0.8, 0.4, 0.5, 0.9, 0.43 + 0.04)  # fmt: skip
for count in (1, 32):
    for name, fetched in (("multiply", 16), ("multiply_row_by_row", 16 * count)):
        line("roofline", f"{name} {count} rows # fetches # FLOP/byte",
             fetched, 2 * 16 * 16 * count / (fetched * 4 * 4 * 2))  # fmt: skip
line("roofline", "Memory taken by one request: #.",
     (2 * SETTING["params_total"] + 1100 * SETTING["kv_bytes_per_token"])
     / SETTING["hbm_bytes"])  # fmt: skip
line("sources", "recomputed: # tokens", 7e9 * 2 / 32 / (2 * 32 * 4096 * 2))
line("speculative_decoding", "# texts of two words", 20**2)
line("tensor_parallel", "(# - #) MB / # MB = # tokens in whole blocks: # tokens",
     150_502, 141_107, 327_680 / 1e6, 28_668.5, 28_668 // 16 * 16)  # fmt: skip
line("tensor_parallel", "exchanges, and each GPU sends # numbers",
     3 / 4 * (24 * 4 + 24))  # fmt: skip
line("tensor_parallel", "one exchange, and each GPU sends # numbers", 2 * 3 / 4 * 24)
for kind in ("grouped queries", "latent attention", "experts"):
    for gpus in (2, 4, 8):
        line("tensor_parallel", f"{kind} TP {gpus}: equal logits True, # all-reduces",
             2 * 2)  # fmt: skip
line("tensor_parallel",
     "arithmetic # ms cache # ms attention # ms request # ms bytes # ms",
     *(1e3 * each for each in (
         0.5 * 2 * float(LARGE.params_active) / RATE / 4,
         1000 * 327_680 / BANDWIDTH / 4, 1001 * 4 * 80 * 64 * 128 / RATE / 4,
         cost().request_s, 2 * 80 * 2 * 3 / 4 * 8192 * 2 / LINK,
     )))  # fmt: skip
for batch in (1, 16, 256):
    line("tensor_parallel", f"{batch} requests of 1,000 tokens: #, #, # times faster",
         *(served_s(batch, 1) / served_s(batch, g) for g in (2, 4, 8)))  # fmt: skip
for step in ("LayerNorm", "QKV projection", "output projection", "FFN up", "FFN down"):
    line("varlen_batching", f"{step} # of #", 10 + 30, 40)
for step in ("rotary positions", "attention"):
    line("varlen_batching", f"{step} # of #", 1, 40)
line("varlen_batching", "without boundaries # of # rows are right", 3, 16)
for length in (100, 250):
    row = READ + SETTING["attn_flops_per_pair"] * (length + 1) / 2
    line("varlen_batching", f"prompts of {length} tokens: # rows",
         RATE / BANDWIDTH * READ / row)  # fmt: skip


def pattern(words: str) -> re.Pattern[str]:
    """What finds the words in a printed text, with a group for each number."""
    found = re.escape(words).replace(r"\#", VALUE).replace("#", VALUE)
    found = found.replace("…", ".*?").replace(r"\ ", r"\s*").replace(" ", r"\s*")
    return re.compile(rf"(?<![\w,.]){found}")


def plain(text: str) -> str:
    """A text in which NumPy's whole numbers have no point behind them."""
    return re.sub(r"(\d)\.(?=[ \]])", r"\1", text)


@pytest.mark.parametrize(("chapter", "words", "wants"), LINES)
def test_a_printed_number_is_what_its_sizes_make(
    chapter: str, words: str, wants: list[float]
) -> None:
    found = pattern(words).search(plain(printed(chapter)))
    assert found, f"{words} is not printed in {chapter}"
    for cell, want in zip(found.groups(), wants, strict=True):
        value, off = number(cell)
        assert abs(value - want) <= off + 1e-9, (cell, want)


def test_two_shots_take_over_where_the_question_s_numbers_say() -> None:
    text = printed("tensor_parallel")
    found = re.findall(r"(\d+) tokens: one shot (.+?) µs, two shots (.+?) µs", text)
    assert [int(tokens) for tokens, *_ in found] == [16, 32, 38, 39, 64]
    for tokens, one, two in found:
        sent = int(tokens) * 8192 * 2
        assert float(one) == pytest.approx(4.50 + 1e6 * 3 * sent / 276e9, rel=2e-3)
        assert float(two) == pytest.approx(8.20 + 1e6 * 1.5 * sent / 296e9, rel=2e-3)
        assert (float(two) < float(one)) == (int(tokens) > 38.9)
