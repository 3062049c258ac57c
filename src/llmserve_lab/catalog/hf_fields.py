"""Fields of a ``config.json``, read one at a time, with errors that say where."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class ConfigFields:
    """Fields of one config, with errors that say where they were looked for."""

    fields: Mapping[str, Any]
    where: str

    def error(self, field: str, rule: str) -> ValueError:
        """Say which field broke which rule, where, and what was found."""
        got = f", got {self.fields[field]!r}" if field in self.fields else ""
        return ValueError(f"{field} {rule} in {self.where}{got}")

    def count(self, field: str, default: int | None = None, *, least: int = 1) -> int:
        """A whole number; ``default`` stands in for a missing field or null."""
        value = self.fields.get(field)
        if value is None and default is not None:
            return default
        if field not in self.fields:
            raise self.error(field, "is required but missing")
        if isinstance(value, bool) or not isinstance(value, int):
            raise self.error(field, "must be a whole number")
        if value < least:
            raise self.error(field, f"must be at least {least}")
        return value

    def is_null(self, field: str) -> bool:
        """Whether the field is there and says null."""
        return field in self.fields and self.fields[field] is None

    def flag(self, field: str, default: bool = False) -> bool:
        """A true or false; ``default`` stands in for a missing field."""
        value = self.fields.get(field, default)
        if not isinstance(value, bool):
            raise self.error(field, "must be true or false")
        return value

    def must_be(self, field: str, only: Any) -> None:
        """Refuse a setting that would change the shape in a way the book has not."""
        if self.fields.get(field, only) != only:
            raise self.error(field, f"must be {json.dumps(only)} to be understood")
