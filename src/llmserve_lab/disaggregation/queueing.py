"""M/D/1 queue: a GPU that prefills one prompt after the other."""

from __future__ import annotations

from dataclasses import dataclass

from llmserve_lab.disaggregation import formulas as f
from llmserve_lab.disaggregation import served
from llmserve_lab.engine import Continuous, Pool, simulate
from llmserve_lab.formula.origin import Computed
from llmserve_lab.running_example import cost, model
from llmserve_lab.workloads import Always, poisson_requests

N_LAYERS = float(model().n_layers)


@dataclass(frozen=True)
class Wait:
    """Mean TTFT where a GPU is busy for a share of the time: closed form, simulated."""

    busy: float
    closed: Computed
    simulated_s: float

    @property
    def ratio(self) -> float:
        """The simulated mean over the closed form."""
        return self.simulated_s / self.closed.value


def waits(*, prompt_len: int, num_requests: int = 3200) -> tuple[Wait, ...]:
    """Mean TTFT by load: ``ttft``, and one simulated GPU that prefills."""
    has = served.known(served.load(prompt_len), decode_emits=0.0, orchestration_s=0.0)
    has |= {"n_layers": N_LAYERS}
    prefill_s = served.value(f.PREFILL_S, has)
    found = []
    for busy in (0.2, 0.5, 0.8):
        closed = served.computed(
            f.TTFT, has | {"n_layers": N_LAYERS}, prefill_busy=busy
        )
        requests = poisson_requests(
            rate_per_s=busy / prefill_s,
            prompt=Always(prompt_len),
            output=Always(1),
            num_requests=num_requests,
            seed=0,
        )
        alone = Pool(cost(), Continuous(max_batch=1))
        mean_s = float(simulate(requests, alone).ttft_s.mean())
        found.append(Wait(busy, closed, mean_s))
    return tuple(found)
