"""Life of one request in a serving engine: arrival, queue, prefill, decode, the end.

Four requests meet a server that runs three at a time, at most 512 tokens in an
iteration. The engine runs them; what the front page shows is read off its log.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from llmserve_lab.engine import Chunked, IterationFrame, Pool, Report, Request, simulate
from llmserve_lab.running_example import PROMPT, cost, model

NAMES = ("A", "B", "C", "D")
SLOTS, BUDGET = 3, 512  # requests at a time, tokens in an iteration
SHORT_PROMPT = 160  # tokens; three such prompts are read in one iteration
ANSWERS = (5, 4, 12, 9)  # tokens; short, so that a whole life fits into a picture
ARRIVES_S = 0.024  # A, during the second iteration
STATIONS = ("arrival", "queue", "prefill", "decode", "end")


def requests() -> list[Request]:
    """B, C and D with short prompts; then A with the book's usual prompt."""
    first = [
        Request(arrival_s=0.0, prompt_len=SHORT_PROMPT, output_len=ANSWERS[i], id=i)
        for i in range(1, len(NAMES))
    ]
    late = Request(arrival_s=ARRIVES_S, prompt_len=PROMPT, output_len=ANSWERS[0], id=0)
    return [*first, late]


@cache
def run() -> Report:
    """The four requests under chunked prefill, every iteration logged."""
    pool = Pool(cost(), Chunked(BUDGET, max_batch=SLOTS))
    return simulate(requests(), pool, log=True, leap=False)


def iterations() -> list[IterationFrame]:
    """The iterations of the run, in their order."""
    log = run().log
    return log.frames() if log is not None else []


@dataclass(frozen=True, kw_only=True)
class Moment:
    """A's state at ``at_s``, the end of an iteration that lasted ``seconds``.

    It stands at ``station``; the iteration computed ``rows`` of its tokens beside those
    of ``beside`` other requests. ``read`` tokens of its prompt are in the KV cache, and
    ``written`` tokens of its answer exist.
    """

    at_s: float
    station: str
    seconds: float = 0.0
    rows: int = 0
    beside: tuple[int, ...] = ()
    read: int = 0
    written: int = 0

    @property
    def waited_s(self) -> float:
        """Time since A arrived."""
        return self.at_s - ARRIVES_S

    @property
    def cache_bytes(self) -> float:
        """Memory that A holds; the cache of its newest token is not made yet."""
        if self.station == "end":
            return 0.0
        return (self.read + max(0, self.written - 1)) * model().kv_bytes_per_token()


def moments() -> list[Moment]:
    """A's arrival, and its state at the end of each iteration until its last token."""
    found = [Moment(at_s=ARRIVES_S, station="arrival")]
    for step in iterations():
        if step.end_s > ARRIVES_S and found[-1].station != "end":
            found.append(_after(found[-1], step))
    return found


def _after(before: Moment, step: IterationFrame) -> Moment:
    """A's state when an iteration has ended."""
    rows = sum(each.rows for each in step.running if each.id == 0)
    reading = rows > 0 and before.written == 0
    read = before.read + rows * reading
    written = before.written + (rows > 0 and read == PROMPT)
    station = "prefill" if reading else "decode" if rows else "queue"
    return Moment(
        at_s=step.end_s,
        station="end" if written == ANSWERS[0] else station,
        seconds=step.end_s - step.start_s,
        rows=rows,
        beside=tuple(each.id for each in step.running if each.id),
        read=read,
        written=written,
    )


def gap_s(*, is_reading: bool) -> float:
    """Longest inter-token latency of C, while A's prompt is read or without A."""
    took = [
        step.end_s - step.start_s
        for step in iterations()
        if any(each.id == 2 and each.rows == 1 for each in step.running)
        and is_reading == any(each.rows > 1 for each in step.running)
    ]
    return max(took)


def ttft_s() -> float:
    """A's time to first token, as the engine's report has it."""
    report = run()
    return float(report.ttft_s[report.id == 0][0])


def tpot_s() -> float:
    """A's time per output token: the mean gap between its tokens, as reported."""
    report = run()
    return float(report.tpot_s[report.id == 0][0])
