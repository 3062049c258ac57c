"""M/D/1 queue: a GPU that prefills one prompt after the other."""

from __future__ import annotations

from llmserve_lab.disaggregation import capacity_sim, served
from llmserve_lab.disaggregation import formulas as f
from llmserve_lab.engine import Continuous, Pool, simulate
from llmserve_lab.formula.origin import Sourced
from llmserve_lab.formula.text import si
from llmserve_lab.page.table import Table
from llmserve_lab.running_example import cost, device, model
from llmserve_lab.workloads import Always, poisson_requests

N_LAYERS = float(model().n_layers)


def wait_table(*, prompt_len: int, num_requests: int = 3200) -> Table:
    """Table of mean TTFT by load: ``ttft``, and one simulated GPU that prefills."""
    has = served.known(served.load(prompt_len), decode_emits=0.0, orchestration_s=0.0)
    prefill_s = served.value(f.PREFILL_S, has)
    rows = []
    for busy in (0.2, 0.5, 0.8):
        found = served.computed(f.TTFT, has | {"n_layers": N_LAYERS}, prefill_busy=busy)
        requests = poisson_requests(
            rate_per_s=busy / prefill_s,
            prompt=Always(prompt_len),
            output=Always(1),
            num_requests=num_requests,
            seed=0,
        )
        alone = Pool(cost(), Continuous(max_batch=1))
        simulated = float(simulate(requests, alone).ttft_s.mean())
        closed = Sourced(si(found.value, "s"), found)
        shown = (closed, si(simulated, "s"), f"{simulated / found.value:.2f}")
        rows.append((f"{busy:.0%} busy", *shown))
    columns = ("load", "closed form", "simulated", "ratio")
    what = f"{model().name} on one {device().name}"
    caption = f"Mean TTFT, {what}, prompts of {prompt_len:,} tokens"
    settings = capacity_sim.FLEET | {"seed": 0}
    return Table(caption, columns, rows, settings=settings)
