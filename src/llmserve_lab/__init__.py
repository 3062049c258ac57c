"""How large language models are served: a serving engine, a catalog, and formulas.

The names from which most work starts are here; each is imported when it is first used:

>>> import llmserve_lab as ll
>>> gpu, model = ll.accelerator("h100-sxm"), ll.model("llama-3-8b")
>>> pool = ll.Pool(ll.IterationCost.of(model, gpu), ll.Chunked(512))
>>> one = ll.Request(arrival_s=0, prompt_len=1000, output_len=200, id=1)
>>> report = ll.simulate([one], pool)
>>> report.num_requests
1

A chapter of the book stands on a package of its own (:mod:`llmserve_lab.roofline`,
:mod:`llmserve_lab.moe`, …); each has ``formulas``, whose members compute with NumPy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from llmserve_lab import boundary

if TYPE_CHECKING:
    from llmserve_lab.catalog import ACCELERATORS as ACCELERATORS
    from llmserve_lab.catalog import LINKS as LINKS
    from llmserve_lab.catalog import MODELS as MODELS
    from llmserve_lab.catalog import accelerator as accelerator
    from llmserve_lab.catalog import link as link
    from llmserve_lab.catalog import machine as machine
    from llmserve_lab.catalog import model as model
    from llmserve_lab.catalog import model_from_config as model_from_config
    from llmserve_lab.catalog import workload as workload
    from llmserve_lab.engine import Chunked as Chunked
    from llmserve_lab.engine import Continuous as Continuous
    from llmserve_lab.engine import Disaggregated as Disaggregated
    from llmserve_lab.engine import IterationCost as IterationCost
    from llmserve_lab.engine import Pool as Pool
    from llmserve_lab.engine import Report as Report
    from llmserve_lab.engine import Request as Request
    from llmserve_lab.engine import Static as Static
    from llmserve_lab.engine.simulate import simulate as simulate
    from llmserve_lab.workloads import closed_requests as closed_requests
    from llmserve_lab.workloads import poisson_requests as poisson_requests

boundary.install()
__version__ = "0.1.0"

# Where each name comes from: a plain import of the package stays quick.
_FROM = {
    "catalog": (
        "ACCELERATORS LINKS MODELS accelerator link machine model model_from_config "
        "workload"
    ),
    "engine": (
        "Chunked Continuous Disaggregated IterationCost Pool Report Request Static "
        "simulate"
    ),
    "workloads": "closed_requests poisson_requests",
}
_HOME = {name: room for room, names in _FROM.items() for name in names.split()}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    """Import a name of the table from its room."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
