"""What the map asks of a run: its dashboard, and what the owner of a server knows."""

from __future__ import annotations

from llmserve_lab.engine import Chunked, Pool
from llmserve_lab.kv_memory.machine import blocks_with
from llmserve_lab.running_example import cost
from llmserve_lab.symptoms.case import Symptom
from llmserve_lab.symptoms.cases.experts import RoutedWindow
from llmserve_lab.symptoms.dashboard import computed_requests
from llmserve_lab.symptoms.served import WatchedRun
from llmserve_lab.symptoms.triage import Leaf, cause_of


def panel_of(run: WatchedRun) -> dict[str, float]:
    """What the map asks for.

    Beside the dashboard: the slots, the bits of a number of the cache, the share of the
    blocks that the GPU can hold, whether prompts begin alike, and whether the server is
    one that the map leaves out.
    """
    seen, pool = run.observe(), run.deployment
    found = dict(seen.values)
    if not isinstance(pool, Pool) or not isinstance(pool.policy, Chunked):
        return found | {"elsewhere": 1.0}
    log = run.report().log
    assert log is not None, "every watched run keeps its log"
    return found | {
        "elsewhere": float(pool.speculation is not None or run.before is not None),
        "cache_bits": 16 * pool.cost.kv_bytes_per_token / cost().kv_bytes_per_token,
        "slots": float(pool.policy.max_batch * pool.replicas),
        "running_most": float(max(map(computed_requests, log)) * pool.replicas),
        "claimed": seen["blocks"] / blocks_with(pool.policy.max_batch),
        "shared": float(any(each.prefix for each in run.requests)),
    }


def led_to(of: Symptom, cause: str | None = None, seed: int = 0) -> Leaf:
    """Where the map leads a cause's run, or the healthy one.

    Experts that are spread over GPUs are asked for first, and left to their section.
    """
    run = (of.healthy if cause is None else of.cause(cause).setup)(seed)
    if isinstance(run, RoutedWindow):
        return cause_of({"elsewhere": 1.0})
    assert isinstance(run, WatchedRun), "a run of the engine"
    return cause_of(panel_of(run))
