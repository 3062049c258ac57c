"""What a prediction is made for, as numbers that say how near two settings are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from llmserve_lab import catalog
from llmserve_lab.catalog.records.accelerator import Accelerator
from llmserve_lab.catalog.records.shape import ModelShape
from llmserve_lab.checks import at_least, positive, whole
from llmserve_lab.validation.rows import GENERATIONS, MeasuredRow


@dataclass(frozen=True, kw_only=True)
class Setting:
    """What a prediction is made for: how large, on what, for how many and how long.

    ``params`` are those that a token is multiplied with, and ``total`` all that a
    mixture of experts stores, 0 of a dense model. ``generation`` is that of the
    devices, ``"Hopper"`` or ``"Blackwell"``, or another, which was not measured.

    Raises:
        ValueError: a number is not positive.
    """

    params: float
    tp: int
    clients: int
    prompt_len: int
    output_len: int
    precision: str
    generation: str
    total: float = 0.0

    def __post_init__(self) -> None:
        positive("params", self.params)
        at_least("total", self.total, 0)
        whole(tp=self.tp, clients=self.clients)
        whole(of="token", prompt_len=self.prompt_len, output_len=self.output_len)

    @classmethod
    def of(cls, row: MeasuredRow) -> Setting:
        """The setting of a measured row."""
        return cls(
            params=row.shape.params_active,
            tp=row.tp,
            clients=row.clients,
            prompt_len=row.prompt_len,
            output_len=row.output_len,
            precision=row.precision,
            generation=row.generation,
            total=_total(row.shape),
        )

    @classmethod
    def on(
        cls,
        model: str,
        accelerator: str,
        *,
        tp: int,
        clients: int,
        prompt_len: int,
        output_len: int,
        precision: str,
    ) -> Setting:
        """The setting of a model on an accelerator, by their keys in the catalog.

        Raises:
            LookupError: the catalog has no such record.
        """
        return cls.of_shape(
            catalog.model(model),
            catalog.accelerator(accelerator),
            tp=tp,
            clients=clients,
            prompt_len=prompt_len,
            output_len=output_len,
            precision=precision,
        )

    @classmethod
    def of_shape(
        cls,
        shape: ModelShape,
        device: Accelerator,
        *,
        tp: int,
        clients: int,
        prompt_len: int,
        output_len: int,
        precision: str,
    ) -> Setting:
        """The setting of any model, one read from a config as well."""
        return cls(
            params=shape.params_active,
            tp=tp,
            clients=clients,
            prompt_len=prompt_len,
            output_len=output_len,
            precision=precision,
            generation=GENERATIONS.get(device.key, device.name),
            total=_total(shape),
        )

    @property
    def dense(self) -> bool:
        """Whether a token is multiplied with all of the model."""
        return self.total == 0


def _total(shape: ModelShape) -> float:
    """All parameters of a model whose tokens skip more than the embedding; else 0."""
    met = shape.params_active + shape.vocab * shape.d_model
    return 0.0 if met >= shape.params_total else float(shape.params_total)


LOGS = ("params", "tp", "clients", "prompt_len", "output_len")


def names_of(setting: Setting) -> tuple[str, ...]:
    """The numbers by which settings of its sort are near to each other or far."""
    return LOGS if setting.dense else (*LOGS, "total")


def logs(setting: Setting) -> list[float]:
    """A setting's numbers, in doublings."""
    return [float(np.log2(getattr(setting, name))) for name in names_of(setting)]
