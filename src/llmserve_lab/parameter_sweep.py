"""Many settings, one function: answers come as they are ready, and none is lost.

A sweep takes any ``concurrent.futures.Executor``: processes of this machine, a Dask
client's executor, MPI ranks, or nothing at all. What was computed lies in a file of
JSON lines, one a setting, so a sweep that was stopped goes on where it was.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Executor, Future, as_completed
from pathlib import Path
from typing import Any, NamedTuple

Setting = Mapping[str, Any]


class Answer(NamedTuple):
    """What the function returned, beside the setting that it was called with."""

    setting: Setting
    result: Any


def sweep(
    function: Callable[..., Any],
    settings: Iterable[Setting],
    *,
    executor: Executor | None = None,
    file: str | Path | None = None,
) -> Iterator[Answer]:
    """Call ``function(**setting)`` for every setting, and yield answers as they come.

    Settings that ``file`` already answers are yielded first and not computed again;
    every new answer is on disk before it is yielded, as JSON gives it back: NumPy's
    numbers become Python's, tuples and arrays lists. Without a file, settings and
    results may be anything. A bar shows the progress in a terminal. With an executor
    the function is one that it can send (top level of a module); if the caller stops
    listening, what has not begun is cancelled.

    Raises:
        TypeError: a result is to be kept in ``file`` and is not of JSON's kinds.
        ValueError: a setting comes twice, or ``file`` holds another function's answers.
    """
    from llmserve_lab.extras import tqdm

    wanted = keyed(settings)
    known = {} if file is None else _stored(Path(file), name_of(function))
    found = {key: known[key] for key in wanted if key in known}
    missing = {key: each for key, each in wanted.items() if key not in found}
    with tqdm.tqdm(total=len(wanted), initial=len(found), disable=None) as bar:
        yield from (Answer(wanted[key], result) for key, result in found.items())
        for key, result in _computed(function, missing, executor):
            if file is not None:
                result = _store(Path(file), name_of(function), missing[key], result)
            bar.update()
            yield Answer(missing[key], result)


def keyed(settings: Iterable[Setting]) -> dict[str, Setting]:
    """Settings by their key, the text that tells one from another.

    Raises:
        ValueError: a setting comes twice.
    """
    found: dict[str, Setting] = {}
    for setting in settings:
        if found.setdefault(key_of(setting), setting) is not setting:
            raise ValueError(f"settings must differ, got {dict(setting)} twice")
    return found


def key_of(setting: Setting) -> str:
    """The setting as JSON with its names in order; what is no JSON as it is printed."""
    return json.dumps(dict(setting), sort_keys=True, default=_plain_or_printed)


def _plain(value: Any) -> Any:
    """A number or an array of NumPy as JSON knows it."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"to be kept in a file it must be JSON, got {value!r}")


def _plain_or_printed(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else repr(value)


def name_of(function: Callable[..., Any]) -> str:
    """Module and name, by which a file knows whose answers it holds."""
    return f"{function.__module__}.{function.__qualname__}"


def _computed(
    function: Callable[..., Any],
    missing: Mapping[str, Setting],
    executor: Executor | None,
) -> Iterator[tuple[str, Any]]:
    """Key and result of each setting, here or wherever the executor puts them."""
    if executor is None:
        yield from ((key, function(**each)) for key, each in missing.items())
        return
    sent: dict[Future[Any], str] = {
        executor.submit(function, **each): key for key, each in missing.items()
    }
    try:
        yield from ((sent[done], done.result()) for done in as_completed(sent))
    finally:
        for waiting in sent:
            waiting.cancel()


def _stored(path: Path, function: str) -> dict[str, Any]:
    """Results by key; a last line that was cut off while it was written is no line."""
    if not path.exists():
        return {}
    text = path.read_text("utf8")
    # A run that was stopped while it wrote leaves half a line: dropping it costs one
    # result, reading it would cost all.
    whole = text[: text.rfind("\n") + 1]
    if whole != text:
        path.write_text(whole, "utf8")
    rows = [json.loads(line) for line in whole.splitlines()]
    for number, row in enumerate(rows, start=1):
        if row["function"] != function:
            raise ValueError(
                f"{path}, line {number}: function must be {function}, "
                f"got {row['function']}"
            )
    return {key_of(row["setting"]): row["result"] for row in rows}


def _store(path: Path, function: str, setting: Setting, result: Any) -> Any:
    """Write an answer down; return it as it will be read."""
    row = {"function": function, "setting": dict(setting), "result": result}
    line = json.dumps(row, default=_plain)
    with path.open("a", encoding="utf8") as lines:
        lines.write(line + "\n")
    return json.loads(line)["result"]
