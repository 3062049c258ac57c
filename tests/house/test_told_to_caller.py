"""An error names an argument of the callable that was called from outside."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from llmserve_lab import boundary, catalog
from llmserve_lab.afd.coupled import slowest_context
from llmserve_lab.afd.deployment import ffn_bytes
from llmserve_lab.afd.simulation.length_distributions import moments
from llmserve_lab.capacity.by_hand import rent
from llmserve_lab.capacity.measured import rates_at, real
from llmserve_lab.capacity.tables import at_level
from llmserve_lab.checks import (
    NotWholeError,
    UnknownKeyError,
    at_least,
    key_of,
    whole_number,
)
from llmserve_lab.claims.cuts_executed import step, weight
from llmserve_lab.continuous_batching.machine import DECODES
from llmserve_lab.continuous_batching.tuning import longest_s
from llmserve_lab.deepseek.calibration.host_time import fit_host
from llmserve_lab.deepseek.defaults import book_assumptions as assumed
from llmserve_lab.deepseek.evaluation.group_size import rate_with
from llmserve_lab.deepseek.page.controls import twin
from llmserve_lab.disaggregation.goodput import HANDS, WAYS, rate_kept, served_best
from llmserve_lab.disaggregation.page.questions import served
from llmserve_lab.disaggregation.worked_example import ratio_if
from llmserve_lab.engine import Request
from llmserve_lab.formula.vega import printed
from llmserve_lab.how_wrong.record import switched_ends
from llmserve_lab.kv_memory.page.playground import memory
from llmserve_lab.moe.hybrid_parallel_block import all_reduced
from llmserve_lab.moe.parallel import pack
from llmserve_lab.moe.placement import contiguous
from llmserve_lab.moe.routing_sampler import popular
from llmserve_lab.paged_cache import PagedAllocator
from llmserve_lab.quantization.page.playground import weights
from llmserve_lab.quantization.schemes import relative_error
from llmserve_lab.roofline.page.stills import tflops
from llmserve_lab.running_example import device
from llmserve_lab.speculative.enumeration import law_of_a_text
from llmserve_lab.tensor_parallel import cuts, midhead
from llmserve_lab.tensor_parallel.worked_example import reduces_s
from llmserve_lab.transformer.hbm import HbmMeter, plain_attention
from llmserve_lab.transformer.rowwise import layer_norm
from llmserve_lab.validation.experts import expert_rows
from llmserve_lab.validation.exposure import exposures_of_all
from llmserve_lab.validation.intervals import mean_interval
from llmserve_lab.validation.rows import dense_rows
from llmserve_lab.varlen.arguments import square_share
from llmserve_lab.workloads.loads import faster
from tests.validation.test_experts import line

Call = Callable[[], object]


def stairs(n_floors: int, height_m: float = 3.0, way: str = "up", at: int = 0) -> int:
    """Steps of a house; the checks further down have names of their own."""
    key_of("direction", way, ("up", "down"))
    at_least("rise_m", height_m / 10, 0.1)
    return whole_number("n_steps", 10 * n_floors) + [0][at]


counted = boundary.judged(stairs)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: counted(0, 2.5),
            ValueError,
            "^n_steps must be at least 1, got 0, from n_floors=0, height_m=2.5$",
        ),
        # What was refused is unmistakable: a text that one argument alone is.
        (
            lambda: counted(1, way="x"),
            UnknownKeyError,
            "^direction must be one of up, down, got 'x', from way='x'$",
        ),
        (
            lambda: counted(1, math.nan),
            ValueError,
            r"^height_m must be finite, got nan \(rise_m must be finite",
        ),
        (
            lambda: counted(0.5),
            NotWholeError,
            r"^n_floors must be of type int, got 0.5 \(n_steps must be a whole",
        ),
        # These words of Python's are no check's, though they hold a "must".
        (
            lambda: counted(1, at="x"),
            TypeError,
            r"^at must be of type int, got 'x'$",
        ),
        (lambda: counted(1), None, ""),
    ],
)
def test_what_a_check_further_down_refuses_is_told_in_the_caller_s_names(
    call: Call, error: type[Exception] | None, message: str
) -> None:
    if error is None:
        assert call() == 10
        return
    with pytest.raises(error, match=message):
        call()


def test_a_look_up_that_says_its_own_name_is_told_already() -> None:
    with pytest.raises(UnknownKeyError, match=r"^model must be one of .*, got 'x'$"):
        catalog.model("x")


def test_a_refusal_in_the_reader_s_own_code_is_left_as_it_is() -> None:
    def mapped(hook: Any, n: int) -> Any:
        return hook(n)

    source = "def hook(_):\n    raise ValueError('mine must be so, got 3')\n"
    exec(compile(source, "a notebook", "exec"), own := dict[str, Any]())
    with pytest.raises(ValueError, match=r"^mine must be so, got 3$"):
        boundary.judged(mapped)(own["hook"], 1)  # type: ignore[arg-type]


FORM, ROWS = np.ones((4, 4)), np.ones((5, 4))
PAIR = np.array([1.0, -1.0])
# One argument is wrong: it has the name that the call's text has for it.
WRONG: dict[str, tuple[str, Call]] = {
    "no GPU": ("n_gpus", lambda: slowest_context(1000.0, 0.5, 0, 1)),
    "a table of another length": ("values", lambda: moments(PAIR, np.ones(9))),
    "a rate off by all of it": ("off", lambda: real(1.0, -1)),
    "a GPU that was not run": ("device", lambda: at_level("x")),
    "an error that leaves no time": (
        "error",
        lambda: rate_with("h100-sxm", 8, context=1.0, tpot_s=0.05, error=-1),
    ),
    "less than a token": (
        "context",
        lambda: rate_with("h100-sxm", 32, context=0.5, tpot_s=0.05, error=0.0),
    ),
    "a GPU that was not rented": ("device", lambda: rent("x", 40.0)),
    "a third side of a weight": ("axis", lambda: weight("paired", "o_proj", 2)),
    "a step that is none": ("name", lambda: step("paired", "x")),
    "a budget that decodes fill": ("budget", lambda: longest_s(DECODES, 1000)),
    "a model that is none": ("shape", lambda: twin(device(), 8, 10**7)),
    "an error without a batch": ("error", lambda: ratio_if(1e7, 0.02)),
    "a third end": ("place", lambda: switched_ends("", 2)),
    "a GPU without a name": ("gpu", lambda: memory("Llama-3.1-8B", "", 1, 1000)),
    "more columns than there are": ("outliers", lambda: weights(10**7, 2)),
    "a text too long to play out": (
        "length",
        lambda: law_of_a_text(lambda _: PAIR, lambda _: PAIR, 1, 10**7),
    ),
    "rows of another width": ("bias", lambda: layer_norm(ROWS, np.ones(4), PAIR)),
    "no mask": (
        "mask",
        lambda: plain_attention(FORM, FORM, FORM, None, hbm=HbmMeter()),  # type: ignore
    ),
    "a rank's weight": ("weight", lambda: cuts.execute(cuts.by_columns, 2, ROWS, PAIR)),
    "no array on ranks": (
        "rows",
        lambda: all_reduced({}, num_ranks=4),  # type: ignore[arg-type]
    ),
    "arrivals beyond numbers": (
        "times",
        lambda: [
            *faster(
                [Request(arrival_s=99, prompt_len=1, output_len=1, id=0)], times=1e-308
            )
        ],
    ),
    "no arrays on ranks": ("weights", lambda: midhead.execute(2, ROWS, {})),
    "a device without a record": (
        "system",
        lambda: replace(expert_rows([line()]).rows[0], system="x"),
    ),
    "no protocol": ("protocols", lambda: exposures_of_all(dense_rows()[:1], [])),
    "work without a number": (
        "work",
        lambda: square_share({"batch": 1.0, "mean_square_prompt": 1.0}, {}),
    ),
    "more than all kept": ("enough", lambda: rate_kept((1.0,), (0.9,), 10**7)),
    "a way that is none": ("way", lambda: served_best("x", 0.02, HANDS[0])),
    "a promise that was not played": ("limit_s", lambda: served(WAYS[0], 0)),
    "a load that was not played": ("load_at", lambda: served(WAYS[0], 0.02, 10**7)),
    "a start below zero": ("start_s", lambda: fit_host(assumed(), start_s=-1)),
    "an expression that is none": ("expression", lambda: printed({}, {}, "the goal")),
    "rows without ranks": (
        "chosen",
        lambda: pack(PAIR, FORM, contiguous(4, 2), copies="rank"),
    ),
    "no expert": (
        "n_experts",
        lambda: popular(n_experts=0, n_rows=1, top_k=1, steepness=1.0),
    ),
    "a log that is an array": (
        "log",
        lambda: PagedAllocator(4, log=PAIR),  # type: ignore[arg-type]
    ),
    "a name that is no number": (
        "prefix",
        lambda: Request(
            arrival_s=0,
            prompt_len=1,
            output_len=1,
            id=0,
            prefix=(math.nan,),  # type: ignore[arg-type]
        ),
    ),
    "no requests": ("requests", lambda: [*faster([3], times=2)]),  # type: ignore
    "nothing to compare": ("x", lambda: relative_error(None, PAIR)),  # type: ignore
    "nothing known": ("known", lambda: tflops({}, 3.0)),
    "groups of another length": ("group", lambda: mean_interval(np.ones(9), PAIR)),
    "a time of nothing": ("tpot_s", lambda: rates_at(None)),  # type: ignore[arg-type]
    "a GPU for its accelerator": ("gpu", lambda: ffn_bytes("x", 8)),
    "ranks for its GPUs": ("n_gpus", lambda: reduces_s(0)),
}


@pytest.mark.parametrize("call", WRONG)
def test_the_wrong_argument_has_its_name(call: str) -> None:
    name, wrong = WRONG[call]
    with pytest.raises((ValueError, TypeError), match=rf"\b{name}\b") as caught:
        wrong()
    assert " must " in str(caught.value)
