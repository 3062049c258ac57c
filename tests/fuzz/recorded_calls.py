"""One real call of each public function and class: taken while the chapters run."""

from __future__ import annotations

import ast
import importlib
import inspect
import io
import json
import pkgutil
import sys
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from types import CodeType, FrameType, ModuleType
from typing import Any

import llmserve_lab

CHAPTERS = Path(__file__).resolve().parents[2] / "chapters"
PATIENCE = 300_000  # calls of a cell without a new one
# What draws hands its work to threads, which a process that is forked off lacks.
DRAWN = "llmserve_lab.page."
JUDGE = "llmserve_lab.boundary."  # of the calls themselves
SHOWN = ("_repr_html_", "_repr_mimebundle_", "_repr_latex_", "_repr_markdown_")


@dataclass
class Public:
    """A public callable of the package, and the arguments of a call that worked."""

    name: str
    called: Callable[..., Any]
    code: CodeType | None
    usual: dict[str, Any] = field(default_factory=dict)
    is_recorded: bool = False


def modules() -> Iterator[ModuleType]:
    """Every module of the package."""
    found = pkgutil.walk_packages(llmserve_lab.__path__, "llmserve_lab.")
    for each in sorted(found, key=lambda it: it.name):
        if not each.name.endswith("__main__"):
            yield importlib.import_module(each.name)


def publics() -> Iterator[Public]:
    """Functions and classes that a module defines under a name without underscore."""
    for module in modules():
        if f"{module.__name__}.".startswith((DRAWN, JUDGE)):
            continue
        for name, thing in sorted(vars(module).items()):
            own = getattr(thing, "__module__", "") == module.__name__
            if name.startswith("_") or not own:
                continue
            if inspect.isfunction(thing):
                code = inspect.unwrap(thing).__code__
                yield Public(f"{module.__name__}.{name}", thing, code)
            elif inspect.isclass(thing) and not issubclass(thing, Enum):
                made = getattr(inspect.unwrap(thing.__init__), "__code__", None)
                yield Public(f"{module.__name__}.{name}", thing, made)


def arguments(frame: FrameType, code: CodeType) -> dict[str, Any] | None:
    """What a call was given, by name; None where it has arguments without a name."""
    if code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS):
        return None
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    return {name: frame.f_locals[name] for name in names if name in frame.f_locals}


class Recorder:
    """Keeps the first call of each that is made while it watches."""

    def __init__(self, found: list[Public]) -> None:
        self.wanted = {id(each.code): each for each in found if each.code}
        self.idle = 0

    def watch(self) -> None:
        """Look at every call from now on, until long nothing new was called."""
        self.idle = 0
        sys.setprofile(self._note)

    def _note(self, frame: FrameType, event: str, _: object) -> None:
        if event != "call":
            return
        self.idle += 1
        if each := self.wanted.pop(id(frame.f_code), None):
            self.idle = 0
            given = arguments(frame, frame.f_code)
            if given is not None:
                if inspect.isclass(each.called):
                    given.pop(next(iter(given)), None)
                each.usual, each.is_recorded = given, True
        elif self.idle > PATIENCE:
            sys.setprofile(None)

    def run_chapter(self, path: Path) -> None:
        """Run the code of a notebook in this process; show what each cell ends with."""
        names: dict[str, Any] = {"__name__": path.stem}
        cells = json.loads(path.read_text("utf8"))["cells"]
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            for cell in cells:
                if cell["cell_type"] == "code":
                    self.watch()
                    show("".join(cell["source"]), names)
        sys.setprofile(None)


def show(source: str, names: dict[str, Any]) -> None:
    """Run a cell; draw its last expression as a notebook would."""
    body = ast.parse(source).body
    last = body.pop() if body and isinstance(body[-1], ast.Expr) else None
    exec(compile(ast.Module(body, []), "<cell>", "exec"), names)
    if isinstance(last, ast.Expr):
        value = eval(compile(ast.Expression(last.value), "<cell>", "eval"), names)
        for name in SHOWN:
            if callable(draw := getattr(value, name, None)):
                draw()
                return
