"""What one line of a benchmark's script is worth: rows predicted with it forgotten."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from llmserve_lab.checks import key_of
from llmserve_lab.engine import Chunked, ContinuousWithBudget, Request
from llmserve_lab.validation import MeasuredRow, Predictor
from llmserve_lab.validation.exposure import exposures_of
from llmserve_lab.validation.protocol import Protocol, protocol_of, requests_of
from llmserve_lab.validation.unit_work import BYTES_16

LENGTHS = "lengths at 80 to 100 % of the nominal ones"
CACHE = "cache in 8 bits"
WAITING = "prompts wait for company"
# The line that is forgotten, and what a model assumes in its place.
LINES: Mapping[str, str] = MappingProxyType(
    {
        LENGTHS: "every prompt and answer as long as its nominal length",
        CACHE: "cache in 16 bits, as the model's configuration has it",
        WAITING: "a prompt is read as soon as there is room",
    }
)


def retold(predictor: Predictor, line: str) -> Predictor:
    """The same rows, served as if one ``line`` of their script were not there.

    Raises:
        LookupError: there is no such line.
    """
    key_of("line", line, LINES)
    protocols = [_protocol(row, line) for row in predictor.rows]
    exposures = [
        exposures_of(row, protocol=protocol, requests=_requests(row, line))
        for row, protocol in zip(predictor.rows, protocols, strict=True)
    ]
    return Predictor(predictor.rows, exposures, protocols=protocols)


def with_all_slots(row: MeasuredRow) -> Protocol:
    """The protocol of a row of Llama-3.1-8B, were there a slot for each client.

    Raises:
        TypeError: its engine does not read prompts in chunks.
    """
    own = protocol_of(row)
    if not isinstance(own.policy, Chunked):
        raise TypeError(f"row must be served in chunks, got {type(own.policy)}")
    return replace(own, policy=replace(own.policy, max_batch=row.clients))


def _protocol(row: MeasuredRow, line: str) -> Protocol:
    own = protocol_of(row)
    if line == CACHE:
        return replace(own, kv_bytes=BYTES_16)
    if line == WAITING and isinstance(own.policy, ContinuousWithBudget):
        return replace(own, policy=replace(own.policy, batch_wait=0))
    return own


def _requests(row: MeasuredRow, line: str) -> list[Request]:
    return requests_of(replace(row, public=False) if line == LENGTHS else row)
