"""The package's boundary: which argument is to blame where a call from outside fails.

A callable checks what it alone can know, by name, rule and value
(:mod:`llmserve_lab.checks`). What passes these checks ends further down, in an
``AttributeError`` that names no argument, or in NaN. Here such an end is traced back,
to facts, never to a guess: an argument that is not of its annotated kind, or a number
that is not finite.

Calls from one module of the package to another are not looked at, and a call from
outside only when it has ended, so that an import stays quick, a loop as fast as it was,
and every message of a check is the first to be heard. The callables are found, not
listed: importing a module wraps its public functions and the ``__init__`` of its public
classes.

Where neither is known, Python's own complaint is read
(:mod:`llmserve_lab.boundary.complaint`): it names an argument if one alone fits. A
check further down speaks of an argument of its own: the caller's are added.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Sequence
from functools import wraps
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import FunctionType, ModuleType
from typing import Any

PACKAGE = "llmserve_lab."
# These check by themselves, and most of their calls are made once per token or mark.
BARE = ("boundary", "checks", "extras", "page", "engine", "paged_cache", "workloads",
        "parameter_sweep")  # fmt: skip
# Of the engine what is called once a run, or makes a record of one.
ONCE = frozenset(
    f"{PACKAGE}engine.{name}"
    for name in (
        "arrivals", "deployment", "execute", "kv_transfer", "replica", "simulate",
        "system", "timing.cost_from_roofline", "metrics.counters",
        "metrics.iteration_log", "metrics.percentile", "metrics.report",
        "metrics.utilization",
    )
)  # fmt: skip


def install() -> None:
    """Wrap what is imported from now on."""
    if _Finder not in sys.meta_path:
        sys.meta_path.insert(0, _Finder)


class _Loader(SourceFileLoader):
    def exec_module(self, module: ModuleType) -> None:
        super().exec_module(module)
        wrap(module)


class _Finder:
    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Leave it to Python to find a module of ours, and load it with the wrapper."""
        is_ours = name.startswith(PACKAGE)
        if not is_ours or (name.split(".")[1] in BARE and name not in ONCE):
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and type(spec.loader) is SourceFileLoader:
            spec.loader = _Loader(name, spec.loader.path)
        return spec


def wrap(module: ModuleType) -> None:
    """Wrap what a module defines under a name without underscore."""
    for name, thing in list(vars(module).items()):
        if name.startswith("_") or getattr(thing, "__module__", "") != module.__name__:
            continue
        if inspect.isfunction(thing):
            setattr(module, name, judged(thing))
        elif inspect.isclass(thing) and inspect.isfunction(vars(thing).get("__init__")):
            type.__setattr__(thing, "__init__", judged(vars(thing)["__init__"]))


class _Inside(dict[str | None, bool]):
    """Whether a module is one of the package: of some hundred names, asked every call.

    To look a name up takes a third of the time less than to read how it begins.
    """

    def __missing__(self, name: str | None) -> bool:
        found = self[name] = (name or "").startswith(PACKAGE)
        return found


_INSIDE = _Inside()


def judged(function: FunctionType) -> Callable[..., Any]:
    """The same function; a call from outside that fails names the argument."""
    frame, inside = sys._getframe, _INSIDE

    @wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        if inside[frame(1).f_globals.get("__name__")]:
            return function(*args, **kwargs)
        from llmserve_lab.boundary import blame

        try:
            found = function(*args, **kwargs)
        except Exception as error:
            blame.raised(function, args, kwargs, error)
            raise
        if inspect.isgenerator(found):
            return blame.yielded(function, args, kwargs, found)
        blame.returned(function, args, kwargs, found)
        return found

    return called
