"""Numbers that code cells print of runs, from simple loops of the tests.

A server with slots is played request by request, numbers are rounded one by one, and
experts are drawn again. As in ``test_printed_numbers`` the stored output is read.
"""

import re
from collections import deque
from collections.abc import Iterable
from functools import cache

import numpy as np
import pytest

from llmserve_lab import catalog
from llmserve_lab.continuous_batching.workloads import crowd
from llmserve_lab.how_wrong import exercise
from llmserve_lab.quantization import outliers
from llmserve_lab.running_example import cost
from llmserve_lab.tensor_parallel import article, midhead
from llmserve_lab.tensor_parallel.arguments import DEFAULT
from tests.page.cells import number
from tests.page.test_printed_numbers import SETTING, VALUE, printed

Asked = tuple[float, int, int]  # arrival in s, prompt, answer
COST = cost()


def read(chapter: str, words: str) -> list[tuple[float, float]]:
    """Numbers that stand for ``#`` in the words, and half of their last digits."""
    pattern = re.escape(words).replace(r"\#", VALUE).replace("#", VALUE)
    found = re.search(
        pattern.replace("…", ".*?").replace(r"\ ", r"\s+"), printed(chapter)
    )
    assert found, f"{words} is not printed in {chapter}"
    return [number(cell) for cell in found.groups()]


def says(chapter: str, words: str, *wants: float, slack: float = 0.0) -> bool:
    """Whether they are these, rounded, or by no more than a share of them off."""
    found = read(chapter, words)
    return all(
        abs(value - want) <= off + slack * abs(want)
        for (value, off), want in zip(found, wants, strict=True)
    )


def step_s(prompts: list[int], rows: int, cached: int) -> float:
    """Time of an iteration: whole prompts, and rows behind so many tokens in all."""
    requests = len(prompts) + rows
    low, high = sorted(((sum(prompts) + rows) * COST.row_s, COST.weights_s))
    pairs = sum(n * (n + 1) / 2 for n in prompts) + cached + rows
    own = COST.overhead_s + (COST.prompt_s if prompts else 0.0)
    seen = pairs * COST.pair_s + cached * COST.kv_token_s
    return high + (1 - COST.overlap) * low + seen + own + requests * COST.request_s


def slots(asked: Iterable[Asked], many: int, *, static: bool) -> dict[int, list[float]]:
    """When each request gets its first and its last token, in slots.

    Static slots are refilled when all have ended; till then their rows go on.
    """
    waiting, times = deque(enumerate(asked)), dict[int, list[float]]()
    ends: dict[int, list[tuple[int, int]]] = {}  # request and its tokens, by step
    now, step, rows, cached = 0.0, 0, 0, 0
    while waiting or ends:
        fresh = list[tuple[int, Asked]]()
        room = many - rows if not (static and ends) else 0
        while waiting and waiting[0][1][0] <= now and len(fresh) < room:
            fresh.append(waiting.popleft())
        if not ends and not fresh:
            now = waiting[0][1][0]
            continue
        now += step_s([prompt for _, (_, prompt, _) in fresh], rows, cached)
        cached += rows + sum(prompt for _, (_, prompt, _) in fresh)
        rows += len(fresh)
        for request, (_, prompt, answer) in fresh:
            times[request] = [now]
            ends.setdefault(step + answer - 1, []).append(
                (request, prompt + answer - 1)
            )
        for request, tokens in ends.pop(step, []):
            times[request].append(now)
            if not static:
                rows, cached = rows - 1, cached - tokens
        if not ends:
            rows = cached = 0
        step += 1
    return times


@pytest.mark.parametrize("name", ["Static", "Continuous"])
def test_c_waits_as_in_slots_that_are_played(name: str) -> None:
    four = [(0.0, 1000, 200), (0.0, 1000, 1000), (2.0, 1000, 250), (2.3, 1000, 300)]
    first_s, _ = slots(four, 2, static=name == "Static")[2]
    said = f"{name}: C's first token after # s"
    assert says("continuous_batching", said, first_s - 2.0)


@pytest.mark.long
@pytest.mark.parametrize("name", ["Static", "Continuous"])
def test_goodput_is_that_of_slots_that_are_played(name: str) -> None:
    asked = [
        (each.arrival_s, each.prompt_len, each.output_len)
        for each in crowd(per_s=3.0, num_requests=4000)
    ]
    times = slots(asked, 32, static=name == "Static")
    good = 0
    for request, (arrival_s, _, answer) in enumerate(asked):
        first_s, last_s = times[request]
        tpot_s = (last_s - first_s) / max(1, answer - 1)
        good += first_s - arrival_s <= 1 and tpot_s <= 0.02
    elapsed_s = max(last for *_, last in times.values())
    said = f"{name}: # per s, good # per s"
    rates = (len(asked) / elapsed_s, good / elapsed_s)
    assert says("continuous_batching", said, *rates, slack=0.01)


def rounded(group: int, largest: int) -> np.ndarray:
    """The matrix with outliers in whole multiples of each group's scale."""
    made = outliers.matrix()
    found = np.empty_like(made)
    for row, numbers in enumerate(made):
        for start in range(0, made.shape[1], group):
            part = slice(start, start + group)
            scale = float(np.float16(max(map(abs, numbers[part])) / largest))
            found[row, part] = [scale * round(x / scale) for x in numbers[part]]
    return found


@pytest.mark.parametrize(
    ("name", "code", "group", "scale_bits"),
    [("INT8", 8, 512, 32), ("INT4, groups of 128", 4, 128, 16),
     ("INT4, groups of 32", 4, 32, 16)],
)  # fmt: skip
def test_bits_and_errors_are_those_of_numbers_rounded_one_by_one(
    name: str, code: int, group: int, scale_bits: int
) -> None:
    made, found = outliers.matrix(), rounded(group, 2 ** (code - 1) - 1)
    usual = np.abs(made).max(axis=0) < 7  # an outlier column is 20 times as large
    assert (~usual).sum() == outliers.NUM_OUTLIERS
    errors = [
        np.sqrt(((found - made)[:, of] ** 2).sum() / (made[:, of] ** 2).sum())
        for of in (usual, slice(None))
    ]
    said = [code + scale_bits / group, *errors]
    assert says("quantization", f"{name} # # #", *said, slack=0.01)


@pytest.mark.parametrize(
    ("name", "code", "group", "scale_bits"),
    [("FP8 E4M3", 8, 512, 32), ("MXFP4", 4, 32, 8), ("NVFP4", 4, 16, 8)],
)
def test_bits_of_floating_codes_are_theirs_and_their_scales_share(
    name: str, code: int, group: int, scale_bits: int
) -> None:
    (bits, off), (usual, _), (every, _) = read("quantization", f"{name} # # #")
    assert abs(bits - code - scale_bits / group) <= off
    # half a step of three bits behind the point, or of one, over a typical number
    least, most = {8: (0.01, 0.04), 4: (0.08, 0.3)}[code]
    assert least < every < usual < most


def test_less_is_lost_the_more_tokens_are_kept() -> None:
    errors = [
        read("quantization", f"{n} of 128 tokens kept: logits off by #")[0][0]
        for n in (16, 64, 112)
    ]
    assert errors == sorted(errors, reverse=True)
    assert errors[0] > 2 * errors[1] > 4 * errors[2]


@pytest.mark.parametrize("kind", ["small model", "own head", "prompt"])
def test_tokens_of_a_pass_are_those_of_drafts_kept_in_a_row(kind: str) -> None:
    words = f"{kind} # tokens a pass, drafts kept by place: # # # #"
    (tokens, _), *kept = read("speculative_decoding", words)
    in_a_row = [float(np.prod([share for share, _ in kept[:n]])) for n in range(5)]
    # where nothing in the text matches, a pass of prompt lookup has no drafts
    assert tokens == pytest.approx(
        sum(in_a_row), rel=0.05 if kind == "prompt" else 0.01
    )
    assert tokens <= sum(in_a_row) + 0.05


@cache
def touched(kind: str, tokens: int) -> float:
    """Mean number of different experts, drawn one after another."""
    chance = 1 / np.arange(1, 257) if kind == "Zipf" else np.ones(256)
    rng = np.random.default_rng(77)
    found = []
    for _ in range(120):
        keys = rng.exponential(size=(tokens, 256)) / chance
        found.append(len({*keys.argpartition(8)[:, :8].ravel().tolist()}))
    return float(np.mean(found))


@pytest.mark.parametrize("kind", ["alike", "Zipf"])
@pytest.mark.parametrize("tokens", [8, 64])
def test_experts_touched_are_as_many_as_when_drawn_again(
    kind: str, tokens: int
) -> None:
    closed = 256 * (1 - (1 - 8 / 256) ** tokens)
    words = f"{kind} {tokens} tokens: # simulated, # closed form"
    (seen, _), (law, off) = read("mixture_of_experts", words)
    assert seen == pytest.approx(touched(kind, tokens), rel=0.03)
    assert abs(law - closed) <= off


def test_copies_that_were_counted_are_near_the_law() -> None:
    for gpus in (2, 8, 64, 256):
        words = f"{gpus} GPUs: # counted, # by the law; as if independent #"
        (counted, _), (law, _), (naive, _) = read("mixture_of_experts", words)
        assert counted == pytest.approx(law, rel=0.01)
        assert naive <= law <= 8


@pytest.mark.parametrize("gpus", [2, 4, 8])
def test_room_for_tokens_is_what_weights_leave_in_whole_blocks(gpus: int) -> None:
    stored = 2 * float(catalog.model("llama-3.1-70b").params_total)
    left = gpus * float(DEFAULT["hbm_bytes"]) - stored
    blocks = left // (16 * 2 * 80 * 8 * 128 * 2)
    words = f"{gpus} GPUs: room for # cached tokens"
    assert says("tensor_parallel", words, 16 * blocks)


def test_scores_that_nobody_adds_up_are_off_as_by_half_a_head() -> None:
    rows, weights = article.batch()[:, :64], midhead.projections(64, 1)
    q, k, v = (rows @ weights[part][:, 0] for part in midhead.PARTS)
    width = q.shape[1]
    mixed = []
    for scores in (q @ k.T, q[:, :32] @ k[:, :32].T, q[:, 32:] @ k[:, 32:].T):
        parts = np.tril(np.exp(scores / width**0.5))
        mixed.append(parts / parts.sum(axis=1, keepdims=True) @ v)
    right, first, last = mixed
    halves = np.concatenate([first[:, :32], last[:, 32:]], axis=1) @ weights["output"]
    whole = right @ weights["output"]
    off = np.abs(halves - whole).max() / np.abs(whole).max()
    words = (
        "scores summed True : # calls, off by # scores summed False: # calls, off by #"
    )
    assert says("tensor_parallel", words, 2, 0, 1, off)


def test_plain_tokens_take_the_time_of_their_iterations() -> None:
    tpot_s = np.mean([step_s([], 32, 32 * (1000 + n)) for n in range(199)])
    assert says("speculative_decoding", "0 drafts: # ms a token", 1e3 * float(tpot_s))


def test_a_decode_s_rates_are_its_work_over_its_time() -> None:
    batch, context = 32, 1100
    seconds = step_s([], batch, batch * context)
    read_bytes = 2 * SETTING["params_read"]
    read_bytes += batch * context * SETTING["kv_bytes_per_token"]
    flops = 2 * SETTING["params_active"]
    flops = batch * (flops + (context + 1) * SETTING["attn_flops_per_pair"])
    words = "MFU: # TF/s/device # GB/s/device"
    assert says("roofline", words, flops / seconds / 1e12, read_bytes / seconds / 1e9)


@pytest.mark.parametrize(
    ("kind", "rows", "context", "params"),
    [("decode ", 32, 1100, 7_504_924_672), ("prefill", 1000, 0, 6_979_588_096)],
)
def test_bytes_that_are_left_out_lower_the_intensity(
    kind: str, rows: int, context: int, params: float
) -> None:
    pairs = rows * (context + 1) if context else rows * (rows + 1) / 2
    flops = 2 * rows * params + pairs * SETTING["attn_flops_per_pair"]
    if not context:
        flops += 2 * (7_504_924_672 - params)  # the LM head, for the last row
    counted = 2 * SETTING["params_read"]
    counted += rows * context * SETTING["kv_bytes_per_token"]
    (more, off), (left, _) = read("roofline", f"{kind}: # more bytes, # FLOP/byte left")
    assert left == pytest.approx(flops / counted / (1 + more), rel=off + 0.005)


def test_errors_of_the_exercise_are_those_of_its_rows() -> None:
    chapter, rows = "how_wrong", [row for row, _ in exercise.sample()]
    errors = exercise.errors_of(lambda _, cost: cost.weights_s)
    words = "mean error # %, bias # % on # rows; most"
    assert says(
        chapter, words, 100 * np.abs(errors).mean(), 100 * errors.mean(), len(rows)
    )
    errors = exercise.errors_of(exercise.decode_and_prefill)
    words = "well done: mean error # %, bias # % on # rows."
    assert says(
        chapter, words, 100 * np.abs(errors).mean(), 100 * errors.mean(), len(rows)
    )
    biases = [
        np.mean(
            [e for e, row in zip(errors, rows, strict=True) if row.engine == engine]
        )
        for engine in ("sglang", "trtllm", "vllm")
    ]
    words = "SGLang # %, TensorRT-LLM # %, vLLM # %"
    assert says(chapter, words, *(100 * float(bias) for bias in biases))
