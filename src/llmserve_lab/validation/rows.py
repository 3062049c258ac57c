"""Measured rows: what a benchmark of a served model printed, one setting a row.

968 runs of dense models, from a package of NVIDIA's under Apache-2.0 (``data/NOTICE``
says what was changed), and beside them those of mixtures of experts, which
:mod:`.experts`, :mod:`.second_trial`, :mod:`.third_trial` and :mod:`.fourth_trial`
score, 763, 217, 240 and 104. Each is a closed loop of ``clients`` against one
tensor-parallel group; TTFT and TPOT are means over its requests, and of some of the
later ones medians.
"""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from types import MappingProxyType

from llmserve_lab import catalog
from llmserve_lab.catalog.records.accelerator import Accelerator
from llmserve_lab.catalog.records.shape import ModelShape
from llmserve_lab.checks import key_of, positive, whole

DATA = files("llmserve_lab.validation") / "data"
SHA256: Mapping[str, str] = MappingProxyType(
    {
        "dense_rows.csv": (
            "ccd3da7ba69c5e214b51f42b0b10e56acee041108c5f6e161a98b5630b2b1b67"
        ),
        "refused_rows.csv": (
            "292d26ccc48b72b787cbc94328bff554227691ad697cc82d1ae169e08521add0"
        ),
        "expert_rows.csv": (
            "219a354e36d58d46d55e24c3aafbc61139cca905e11f49d69b79a156e4b6baaf"
        ),
        "latent_rows.csv": (
            "5aa73663a0a2dcaed6c4373cb1957ebae9878df4166c25425cd13aa865c70ce3"
        ),
        "third_rows.csv": (
            "0d09adffe9e88e4b91bfdf6343e435e59234cff8659c56bc957be099df08b932"
        ),
        "fourth_rows.csv": (
            "44ef96aecc6534e978368f36b482d37e724ac8b24344310af986b855456cf4f9"
        ),
        "fifth_rows.csv": (
            "027cce4c2771897e98a7397fc3cb51906fb7fe577036edf95e4133b702b6e15e"
        ),
        "dense_trial_rows.csv": (
            "5bfdac4b3373881c68ce5a19c8654170454e599dc99608c2236bdfef7c9c1cee"
        ),
    }
)
# Llama-3.1-70B is Llama-3-70B in shape, and 3.1-8B is 3-8B.
MODELS: Mapping[str, str] = MappingProxyType(
    {
        "meta-llama/Llama-3.1-70B": "llama-3-70b",
        "meta-llama/Llama-3.1-8B-Instruct": "llama-3-8b",
        "Qwen/Qwen3-32B": "qwen3-32b",
    }
)
SYSTEMS: Mapping[str, str] = MappingProxyType(
    {"h100_sxm": "h100-sxm", "h200_sxm": "h200-sxm", "b200_sxm": "b200-sxm"}
)
GENERATIONS: Mapping[str, str] = MappingProxyType(
    {
        "h100-sxm": "Hopper",
        "h200-sxm": "Hopper",
        "b200-sxm": "Blackwell",
        "b300-sxm": "Blackwell",
    }
)
ENGINES = ("vllm", "trtllm", "sglang")
PRECISIONS = ("bf16", "fp8", "fp4")


@dataclass(frozen=True, kw_only=True)
class MeasuredRow:
    """One setting and the times measured in it, in seconds.

    ``model`` and ``system`` are keys of the catalog; ``prompt_len`` and ``output_len``
    are nominal lengths in tokens. Where the protocol is not ``public``, the queue of
    the benchmark is not known, and TTFT is to be read with care.

    Raises:
        ValueError: a count is below 1, or a time is not positive and finite.
    """

    model: str
    system: str
    engine: str
    precision: str
    tp: int
    prompt_len: int
    output_len: int
    clients: int
    ttft_s: float
    tpot_s: float
    public: bool

    def __post_init__(self) -> None:
        whole(tp=self.tp, clients=self.clients)
        whole(of="token", prompt_len=self.prompt_len)
        whole(of="token", first=2, output_len=self.output_len)
        positive("ttft_s", self.ttft_s)
        positive("tpot_s", self.tpot_s)

    @property
    def group(self) -> str:
        """Model, system, engine and precision together."""
        return f"{self.model}, {self.system}, {self.engine}, {self.precision}"

    @property
    def server(self) -> str:
        """The group on so many devices: rows of one server are not independent."""
        return f"{self.group}, TP {self.tp}"

    @property
    def sent(self) -> tuple[int, ...]:
        """Numbers that decide what the clients send, beside the class of the row."""
        return self.public, self.prompt_len, self.output_len, self.clients

    @property
    def generation(self) -> str:
        """Hopper or Blackwell; of another device its name, which no fit has met."""
        return GENERATIONS.get(self.system, self.accelerator.name)

    @property
    def shape(self) -> ModelShape:
        """The model's record in the catalog."""
        return catalog.model(self.model)

    @property
    def accelerator(self) -> Accelerator:
        """The device's record in the catalog."""
        return catalog.accelerator(self.system)


@dataclass(frozen=True)
class Sorted:
    """Rows that can be predicted, and how many cannot, by reason."""

    rows: tuple[MeasuredRow, ...]
    left_out: Mapping[str, int]


def vendored(name: str) -> str:
    """Text of a vendored file, which must be the one whose digest is known.

    Raises:
        LookupError: there is no such file.
        ValueError: its bytes have changed.
    """
    key_of("name", name, SHA256)
    content = (DATA / name).read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    if digest != SHA256[name]:
        raise ValueError(f"{name} must have the digest {SHA256[name]}, got {digest}")
    return content.decode("utf8")


def in_full(
    name: str, rows_of: Callable[[Iterable[Mapping[str, str]]], Sorted]
) -> tuple[MeasuredRow, ...]:
    """All rows of a vendored file.

    Raises:
        ValueError: one of them cannot be predicted.
    """
    found = rows_of(csv.DictReader(vendored(name).splitlines()))
    if found.left_out:
        raise ValueError(f"{name} must be known in full, got {found.left_out}")
    return found.rows


@cache
def dense_rows() -> tuple[MeasuredRow, ...]:
    """The 968 measured rows of dense models."""
    return in_full("dense_rows.csv", sort_rows)


@cache
def refused_rows() -> tuple[MeasuredRow, ...]:
    """21 rows of one server that were refused: most prompts came from a prefix cache.

    They are neither fitted to nor in any score; the chapter says what they would do.
    """
    return sort_rows(csv.DictReader(vendored("refused_rows.csv").splitlines())).rows


def sort_rows(
    lines: Iterable[Mapping[str, str]],
    *,
    models: Mapping[str, str] = MODELS,
    of: type[MeasuredRow] | None = None,
    precisions: Sequence[str] = PRECISIONS,
    systems: Mapping[str, str] = SYSTEMS,
) -> Sorted:
    """Make rows of lines of a table, and count by reason those that are not known.

    ``models`` and ``systems`` are keys by the names in the table; the rows are ``of``
    that class and in one of the ``precisions``.

    A model, system, engine or precision without a record cannot be predicted, nor can a
    count that is none, nor a time that is no time.
    """
    rows, left_out = list[MeasuredRow](), dict[str, int]()
    for line in lines:
        try:
            made = of or MeasuredRow
            rows.append(_row(line, models, precisions, systems, made))
        except (KeyError, ValueError) as error:
            reason = str(error.args[0])  # a KeyError's text would be quoted
            left_out[reason] = left_out.get(reason, 0) + 1
    return Sorted(tuple(rows), MappingProxyType(left_out))


def _row(
    line: Mapping[str, str],
    models: Mapping[str, str],
    precisions: Sequence[str],
    systems: Mapping[str, str],
    of: type[MeasuredRow],
) -> MeasuredRow:
    return of(
        model=_known("model", models, line["model"]),
        system=_known("system", systems, line["system"]),
        engine=_known("engine", {each: each for each in ENGINES}, line["engine"]),
        precision=_known(
            "precision", {each: each for each in precisions}, line["precision"]
        ),
        tp=_count("tp", line),
        prompt_len=_count("isl", line),
        output_len=_count("osl", line),
        clients=_count("clients", line),
        ttft_s=_number("ttft_ms", line) / 1e3,
        tpot_s=_number("tpot_ms", line) / 1e3,
        public=line["protocol"] == "public",
    )


def _count(name: str, line: Mapping[str, str]) -> int:
    """A whole number, which a table may write as ``"8"`` or ``"8.0"``."""
    number = _number(name, line)
    if not number.is_integer():
        raise ValueError(f"{name} must be a whole number, got {line[name]}")
    return int(number)


def _number(name: str, line: Mapping[str, str]) -> float:
    try:
        return float(line[name])
    except ValueError:
        raise ValueError(f"{name} must be a number, got {line[name]}") from None
    except KeyError:
        raise ValueError(f"{name} must be a column, got none") from None


def _known(name: str, records: Mapping[str, str], key: str) -> str:
    key_of(name, key, records)
    return records[key]


def every(rows: Sequence[MeasuredRow], nth: int) -> tuple[MeasuredRow, ...]:
    """A sample: every ``nth`` row, so that each group is in it."""
    whole(nth=nth)
    return tuple(rows[::nth])
