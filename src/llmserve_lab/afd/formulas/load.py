"""How many tokens a full batch attends to: a recursion, its solution, its long run.

The recursion is typed; what follows from it is not.
"""

from __future__ import annotations

from typing import Any

from llmserve_lab import notation as q
from llmserve_lab.formula.derive import limit
from llmserve_lab.formula.formula import Formula

PAPER = "AFD paper"
VERSION_3 = "AFD paper, version 3"
MEMORYLESS = "every answer ends with the same chance at every step"

__all__ = [
    "DECODE_LOAD",
    "HORIZON_LOAD",
    "MEAN_DECODE",
    "NEXT_DECODE_LOAD",
    "N_STEPS",
    "SLOT_SD",
    "SLOT_TOKENS",
    "SLOT_TOKENS_GEOMETRIC",
    "STEP_LOAD",
    "TOKEN_LOAD",
]


def root(square: Any) -> Any:
    """The square root, under one sign and not factor by factor."""
    import sympy

    return sympy.Pow(square, sympy.Rational(1, 2), evaluate=False)


def solved(recursion: Formula) -> Any:
    """A recursion like ``next_decode_load`` from empty slots on, solved by SymPy."""
    import sympy

    k, load = sympy.Symbol("k", integer=True), sympy.Function("load")
    after = recursion.teaching.xreplace({q.decode_load.sympy: load(k)})
    found = sympy.rsolve(load(k + 1) - after, load(k), {load(0): 0})
    settled = found.subs((1 - q.p_stop.sympy) ** k, 0)
    slots = sympy.simplify(settled / MEAN_DECODE.teaching)
    missing = sympy.simplify(1 - found / settled).xreplace({k: q.step_index.sympy})
    return slots * q.mean_decode.sympy * (1 - missing)


def averaged(load: Formula) -> Any:
    """The mean of ``load`` over the steps of a run, its geometric sum closed."""
    import sympy

    i, stop = q.step_index.sympy, q.p_stop.sympy
    ratio = sympy.Symbol("ratio", positive=True)  # of the sum; not 1
    each = load.expanded(keep=frozenset({"mean_decode"})).xreplace({1 - stop: ratio})
    settled = sympy.expand(each).subs(ratio**i, 0)
    missing = sympy.simplify((settled - each) / ratio**i)
    total = missing * (1 - ratio**q.n_steps.sympy) / (1 - ratio)
    return settled - (total / q.n_steps.sympy).subs(ratio, 1 - stop)


def in_the_long_run(load: Formula) -> Any:
    """The limit of ``load`` per slot: what was there at the start is long gone."""
    import sympy

    left = sympy.Symbol("left", positive=True)  # of the first requests
    mean = load.teaching.subs((1 - q.p_stop.sympy) ** q.n_steps.sympy, left)
    return limit(mean / q.batch.sympy, q.n_steps, "oo")


def looked_at() -> Any:
    """What a look finds: tokens of a request summed over its steps, per step."""
    import sympy

    s, u, age = sympy.symbols("s u age", positive=True)
    held = sympy.Poly(sympy.summation(s + age, (age, 0, u - 1)), s, u)
    means = {
        (1, 1): q.mean_prompt_steps.sympy,
        (0, 2): q.mean_square_steps.sympy,
        (0, 1): q.token_a_step.sympy * q.mean_steps.sympy,
    }
    total = sum(share * means[powers] for powers, share in held.terms())
    return sympy.together(total / q.mean_steps.sympy)


MEAN_DECODE = Formula(
    result=q.mean_decode,
    expr=lambda token_a_step, p_stop: token_a_step * (1 - p_stop) / p_stop,
    title="Mean answer, geometric",
    source=f"{PAPER}, §3.3",
    holds=MEMORYLESS,
)
NEXT_DECODE_LOAD = Formula(
    result=q.next_decode_load,
    expr=lambda p_stop, decode_load, token_a_step, batch: (
        (1 - p_stop) * (decode_load + token_a_step * batch)
    ),
    title="Generated tokens, one step on",
    source=f"{PAPER}, appendix A.1",
    holds=MEMORYLESS,
)
DECODE_LOAD = Formula(
    result=q.decode_load,
    expr=lambda: solved(NEXT_DECODE_LOAD),
    uses=(MEAN_DECODE,),
    derived=True,
    title="Generated tokens after i steps",
    source=(
        f"{PAPER}, equation 10; solved from [next_decode_load](#eq-next_decode_load)"
    ),
    holds=f"{MEMORYLESS}; every slot starts with a new request",
)
STEP_LOAD = Formula(
    result=q.step_load,
    expr=lambda batch, mean_prompt, decode_load: batch * mean_prompt + decode_load,
    uses=(DECODE_LOAD,),
    title="Tokens in all slots after i steps",
    source=f"{PAPER}, equation 11",
    holds=MEMORYLESS,
)
N_STEPS = Formula(
    result=q.n_steps,
    expr=lambda n_requests, batch, p_stop: n_requests / (batch * p_stop),
    title="Steps of a run",
    source=f"{PAPER}, equation 12",
    holds=f"{MEMORYLESS}; one batch holds all slots of an instance",
)
HORIZON_LOAD = Formula(
    result=q.horizon_load,
    expr=lambda: averaged(STEP_LOAD),
    uses=(MEAN_DECODE,),
    derived=True,
    title="Tokens in all slots, mean over a run",
    source=f"{PAPER}, appendix A.2; summed from [step_load](#eq-step_load)",
    holds=f"{MEMORYLESS}; every slot starts with a new request",
)
SLOT_TOKENS_GEOMETRIC = Formula(
    result=q.slot_tokens,
    expr=lambda: in_the_long_run(HORIZON_LOAD),
    derived=True,
    variant="geometric",
    title="Tokens in a slot, geometric answers",
    source=f"{PAPER}, equation 14; limit of [horizon_load](#eq-horizon_load)",
    holds=f"{MEMORYLESS}; prompt and answer independent",
)
SLOT_TOKENS = Formula(
    result=q.slot_tokens,
    expr=lambda: looked_at(),
    derived=True,
    title="Tokens in a slot, any law",
    source=f"{VERSION_3}; summed over the steps of a request",
    holds="any joint law of prompt and answer, in steady state",
)
SLOT_SD = Formula(
    result=q.slot_sd,
    expr=lambda prompt_variance, mean_decode, token_a_step: root(
        prompt_variance + mean_decode * (token_a_step + mean_decode)
    ),
    title="Spread of the tokens in a slot, geometric answers",
    source="ours",
    holds=f"{MEMORYLESS}; prompt and answer independent",
)
TOKEN_LOAD = Formula(
    result=q.token_load,
    expr=lambda batch, slot_tokens: batch * slot_tokens,
    title="Tokens that attention reads",
    source=f"{PAPER}, equation 14",
    holds="steady state",
)
