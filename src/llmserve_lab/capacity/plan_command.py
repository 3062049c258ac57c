"""``python -m llmserve_lab plan``: a plan for a model of one's own, on a command line.

>>> main(
...     "--model llama-3.1-8b --gpu h100-sxm --prompt 1000 --answer 200 --gpus 1 "
...     "--ttft 500ms --tpot 20ms --rate 10/s".split()
... )  # doctest: +ELLIPSIS
Llama-3.1-8B on H100 SXM, BF16: 1,000 tokens in, 200 out
...
By means: 1 server of 1 H100 SXM for 10 requests/s; ...
"""

from __future__ import annotations

import json
import re
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Sequence

from llmserve_lab import catalog
from llmserve_lab.capacity.demand import ServerDemand
from llmserve_lab.capacity.plan import SizingPlan, plan
from llmserve_lab.capacity.plan_run import decision
from llmserve_lab.capacity.plan_text import record, text

NUMBER = re.compile(r"(\d+\.?\d*|\.\d+)(.*)")
SECONDS = {"": 1.0, "s": 1.0, "ms": 1e-3, "us": 1e-6}
PER_SECOND = {"": 1.0, "/s": 1.0, "/min": 1 / 60, "/h": 1 / 3600}


def seconds(said: str) -> float:
    """A time with its unit: ``50ms``, ``1s``; without one, seconds.

    >>> seconds("50ms")
    0.05
    """
    return _measured(said, SECONDS)


def per_second(said: str) -> float:
    """A rate with its unit: ``10/s``, ``600/min``; without one, per second."""
    return _measured(said, PER_SECOND)


def planned(arguments: Namespace) -> SizingPlan:
    """The plan that the arguments ask for."""
    model = (
        catalog.model_from_config(arguments.config)
        if arguments.config
        else catalog.model(arguments.model)
    )
    asked = ServerDemand(
        prompt=arguments.prompt,
        answer=arguments.answer,
        ttft_s=arguments.ttft,
        tpot_s=arguments.tpot,
        rate=arguments.rate,
        cached=arguments.cached,
        gpus=arguments.gpus,
        precision=arguments.precision,
    )
    return plan(model, catalog.accelerator(arguments.gpu), asked)


def main(words: Sequence[str] | None = None) -> None:
    """Read the arguments, print the plan; what is impossible ends with its reason."""
    parser = _parser()
    arguments = parser.parse_args(words)
    try:
        found = planned(arguments)
    except (LookupError, OSError, ValueError) as error:
        parser.error(str(error))
    print(json.dumps(record(found), indent=1) if arguments.json else text(found))
    if arguments.simulate and found.choice:
        try:
            print(decision(found))
        except ValueError as error:
            parser.error(str(error))


def _measured(said: str, units: dict[str, float]) -> float:
    found = NUMBER.fullmatch(said.strip())
    if not found or found[2].strip() not in units:
        known = ", ".join(f"5{unit}" for unit in units if unit)
        raise ArgumentTypeError(f"must be like {known}, got {said!r}")
    return float(found[1]) * units[found[2].strip()]


def _parser() -> ArgumentParser:
    parser = ArgumentParser(
        prog="python -m llmserve_lab plan",
        description="What a model needs on a GPU, by the models of the book.",
    )
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--config", help="a config.json of Hugging Face, or its folder")
    which.add_argument("--model", help="a model of the catalog")
    parser.add_argument("--gpu", required=True, help="a GPU of the catalog")
    parser.add_argument("--gpus", type=int, default=8, help="GPUs of a node")
    parser.add_argument("--prompt", type=int, required=True, help="tokens in")
    parser.add_argument("--answer", type=int, required=True, help="tokens out")
    parser.add_argument("--cached", type=float, default=0.0, help="share of a prompt")
    parser.add_argument("--ttft", type=seconds, required=True, help="mean, like 1s")
    parser.add_argument("--tpot", type=seconds, required=True, help="mean, like 50ms")
    parser.add_argument("--rate", type=per_second, help="requests, like 10/s")
    parser.add_argument("--precision", help="bf16, fp8, ...")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--json", action="store_true", help="print plain data")
    how.add_argument("--simulate", action="store_true", help="decide by simulation")
    return parser
