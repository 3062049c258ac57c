"""A model on a group of GPUs: what decides how long its iterations take.

A measured row is one, and so is a deployment that was not measured.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from llmserve_lab.catalog.data.precisions import PRECISIONS
from llmserve_lab.catalog.records.accelerator import Accelerator
from llmserve_lab.catalog.records.shape import ModelShape
from llmserve_lab.checks import key_of, of_type, whole


@runtime_checkable
class OnDevices(Protocol):
    """A shape in a precision on ``tp`` devices of one tensor-parallel group."""

    @property
    def shape(self) -> ModelShape:
        """The model."""

    @property
    def accelerator(self) -> Accelerator:
        """The devices."""

    @property
    def precision(self) -> str:
        """The precision of the weights."""

    @property
    def tp(self) -> int:
        """The number of devices."""


@dataclass(frozen=True, kw_only=True)
class ModelOnDevices:
    """Such a group, measured or not.

    Raises:
        LookupError: there is no such precision.
        ValueError: there is no device.
    """

    shape: ModelShape
    accelerator: Accelerator
    precision: str
    tp: int

    def __post_init__(self) -> None:
        of_type(ModelShape, shape=self.shape)
        of_type(Accelerator, accelerator=self.accelerator)
        key_of("precision", self.precision, PRECISIONS)
        whole(of="device", tp=self.tp)
