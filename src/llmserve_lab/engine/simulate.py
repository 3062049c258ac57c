"""Simulation of a workload on a deployment: from requests to a report."""

from __future__ import annotations

from collections.abc import Iterable, Sized

from llmserve_lab.engine.arrivals import ArrivalSource, ClosedLoop, OpenLoop
from llmserve_lab.engine.deployment import Disaggregated, Pool
from llmserve_lab.engine.metrics.report import Report, report_of
from llmserve_lab.engine.metrics.request_log import RequestLog
from llmserve_lab.engine.scheduler.request import Request
from llmserve_lab.engine.system import StopCondition, System


def simulate(
    requests: Iterable[Request],
    deployment: Pool | Disaggregated,
    *,
    clients: int | None = None,
    think_s: float = 0.0,
    leap: bool = True,
    log: bool = False,
    progress: bool = False,
    stop: StopCondition | None = None,
) -> Report:
    """Serve ``requests`` on ``deployment``; nothing is random, nothing is measured.

    Args:
        requests: in order of arrival; read one by one, so a generator will do.
        deployment: one pool, or two with a link between them.
        clients: instead of arriving by themselves, requests are sent by so many
            clients, each of which waits for its answer.
        think_s: seconds that a client lets pass before it sends the next.
        leap: whether iterations in which nothing changes are taken in one step; the
            times are the same to rounding.
        log: keep iterations and events for ``report.log``; with ``leap=False``, one
            record for each iteration, from which ``report.log.frames()`` are made.
        progress: show a bar.
        stop: asked with the time whenever a request arrives or iterations end, of which
            a leap takes many at once; if true, the run ends there. So does it at
            Ctrl-C. The report then holds what was computed.

    Raises:
        TypeError: the deployment is something else, or one of the requests is.
        ValueError: requests do not come in order, one is longer than the model's
            maximum context or can never fit into the cache, or there are fewer than 1
            clients.
    """
    if not isinstance(deployment, Pool | Disaggregated):
        raise TypeError(
            f"deployment must be a Pool or a Disaggregated, got {deployment!r}"
        )
    if clients is None and think_s:
        raise ValueError(f"think_s must be 0 where nobody waits, got {think_s}")
    source: ArrivalSource = (
        OpenLoop(requests)
        if clients is None
        else ClosedLoop(requests, clients=clients, think_s=think_s)
    )
    system = System(deployment, leap=leap, log=log)
    record = RequestLog(total=_length(requests), progress=progress)
    try:
        stopped = not system.serve(source, record, stop)
    except KeyboardInterrupt:
        stopped = True
    finally:
        record.close()
    return report_of(system, record, stopped=stopped)


def _length(requests: Iterable[Request]) -> int | None:
    return len(requests) if isinstance(requests, Sized) else None
