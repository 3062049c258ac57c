"""Any model on disk: read the shape out of a Hugging Face ``config.json``.

Only the fields that change the shape are read. Defaults are used where the public
configuration classes have one that is never wrong for that family; everything else
that is missing is an error that names the field.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from llmserve_lab.catalog.hf_families import FAMILIES, GATES, NORMS, TIED
from llmserve_lab.catalog.hf_fields import ConfigFields
from llmserve_lab.catalog.records.shape import ModelShape

MOST_BYTES = 2**20  # public ones have a few thousand
QUANTIZED = ("fp8", "mxfp4", "gptq", "awq", "compressed-tensors", "modelopt")


def families() -> tuple[str, ...]:
    """Every ``model_type`` whose config can be read."""
    return tuple(FAMILIES)


def model_from_config(
    config: str | PathLike[str] | Mapping[str, Any], *, name: str | None = None
) -> ModelShape:
    """Read a model's shape from a ``config.json``: its path, its folder, or its dict.

    The ``model_type`` is one of :func:`families`. Of a model that sees, its
    ``text_config`` is read. A sliding window does not change the shape and is ignored,
    and so is a head for multi-token prediction. A ``quantization_config`` is kept as
    ``quantized``: such a shape says how many parameters there are, and asks for the
    bytes of each. ``name`` defaults to the folder, or else to the family.

    Raises:
        OSError: the file cannot be read.
        ValueError: the file is not JSON, the family is unknown, or a field is missing,
            of the wrong type, out of range or at odds with another one. The message
            names the field, the family and the file.
    """
    fields, place = _load(config)
    quantized = _quantized(ConfigFields(fields, f"the config{place}"))
    fields = fields.get("text_config", fields)
    if not isinstance(fields, Mapping):
        raise ValueError(f"text_config must be an object{place}, got {fields!r}")
    family = fields.get("model_type")
    if not isinstance(family, str) or family not in FAMILIES:
        known = ", ".join(FAMILIES)
        raise ValueError(f"model_type must be one of {known}{place}, got {family!r}")
    read = ConfigFields(fields, f"the {family} config{place}")
    _check_gate(read, family)
    attention, ffn = FAMILIES[family](read)
    label = name or _folder(config) or family
    return ModelShape(
        name=label,
        key=label.lower().replace(" ", "-"),
        source=f"a config.json of type {family}",
        n_layers=read.count("num_hidden_layers"),
        d_model=read.count("hidden_size"),
        vocab=read.count("vocab_size"),
        attention=attention,
        ffn=ffn,
        tied=read.flag("tie_word_embeddings", family in TIED),
        max_context=_max_context(read),
        norms_per_block=NORMS.get(family, 2),
        quantized=quantized,
    )


def _quantized(config: ConfigFields) -> str:
    """How the checkpoint stores its weights, empty where they are not quantized."""
    found = config.fields.get("quantization_config")
    if found is None:
        return ""
    if not isinstance(found, Mapping) or found.get("quant_method") not in QUANTIZED:
        known = ", ".join(QUANTIZED)
        raise config.error(
            "quantization_config", f"must have a quant_method of {known}"
        )
    bits = f" {found['bits']} bits" if "bits" in found else ""
    return f"{found['quant_method']}{bits}"


def _check_gate(config: ConfigFields, family: str) -> None:
    """Refuse an activation that would mean another feed-forward half."""
    known = GATES.get(family, ("silu",))
    for field in ("hidden_act", "hidden_activation"):
        if config.fields.get(field) not in (None, *known):
            raise config.error(field, f"must be {' or '.join(known)}")


def _max_context(config: ConfigFields) -> int | None:
    """Tokens that the model may read, where the file says so."""
    if config.fields.get("max_position_embeddings") is None:
        return None
    return config.count("max_position_embeddings")


def _load(config: str | PathLike[str] | Mapping[str, Any]) -> tuple[Any, str]:
    """Return the fields and where they are from, as an error message says it."""
    if isinstance(config, Mapping):
        return config, ""
    path = _file(config)
    place = f" ({path})"
    with path.open("rb") as file:  # no more, whatever size it says that it has
        found = file.read(MOST_BYTES + 1)
    if len(found) > MOST_BYTES:
        raise ValueError(
            f"config must have at most {MOST_BYTES:,} bytes{place}, got more"
        )
    try:
        fields = json.loads(found.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"config must be JSON{place}: {error}") from None
    if not isinstance(fields, dict):
        raise ValueError(
            f"config must be a JSON object{place}, got a {type(fields).__name__}"
        )
    return fields, place


def _file(config: str | PathLike[str]) -> Path:
    """The file itself, where its folder was named."""
    path = Path(config)
    return path / "config.json" if path.is_dir() else path


def _folder(config: str | PathLike[str] | Mapping[str, Any]) -> str:
    """Name of the folder that the file lies in, where it is a file."""
    return "" if isinstance(config, Mapping) else _file(config).absolute().parent.name
