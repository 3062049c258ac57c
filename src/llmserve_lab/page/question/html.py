"""A question as HTML: a field to answer in, and the explanation folded away."""

from __future__ import annotations

from typing import Any

from llmserve_lab.formula.text import said, said_unit
from llmserve_lab.page.html import (
    data_script,
    digest,
    escape,
    inline,
    prose,
    tag,
)
from llmserve_lab.page.question import judge
from llmserve_lab.page.question.content import LETTERS, QuestionContent, text_of

TITLES = {"predict": "Predict before you look", "check": "Check yourself"}


def question_html(question: QuestionContent) -> str:
    """The whole question: without scripts the prompt, its options, room to write.

    What a script is needed for is hidden until there is one.
    """
    key = f"question-{question.name}"
    math = "question-text tex2jax_process mathjax_process"
    body = [
        tag("p", TITLES[question.kind], class_="question-kind", id=f"{key}-kind"),
        tag("div", prose(text_of(question.prompt)), class_=math, id=f"{key}-prompt"),
        _form(question, key),
        tag("details", _why(question), class_=math),
        data_script(question_data(question), "question-data"),
    ]
    return tag(
        "div",
        "\n".join(body),
        class_="question",
        id=key,
        role="group",
        aria_labelledby=f"{key}-kind",
        data_name=question.name,
    )


def _why(question: QuestionContent) -> str:
    return tag("summary", "Answer and explanation") + prose(text_of(question.why))


def question_data(question: QuestionContent) -> dict[str, Any]:
    """What the page needs to judge an answer, in the question's own unit."""
    base = question.unit or "dimensionless"
    common = {"answer": question.right, "kind": question.kind}
    if question.choices:
        own: dict[str, Any] = {"choices": judge.spoken_choices(question)}
    else:
        own = {
            "tol": question.rel_tol,
            "hint_tol": judge.HINT_TOL,
            "unit": base,
            "asked": question.shown_unit,
            "scale": judge.scale_of(question.shown_unit, base),
            "said": said(question.right, question.unit),
            "said_unit": said_unit(question.unit),
        }
    whole = {**common, **own, "hints": judge.hints(question)}
    return {**whole, "version": digest([whole, text_of(question.prompt)])[:6]}


def _form(question: QuestionContent, key: str) -> str:
    """The fields; the buttons appear when the runtime can judge what is written."""
    fields = _choices(question, key) if question.choices else _field(question, key)
    button = tag("button", "Check", type="submit")
    more = tag("button", "Show the solution", type="button", hidden=True)
    legend = tag("legend", "Your answer") + " "
    fieldset = tag("fieldset", legend + fields, aria_describedby=f"{key}-prompt")
    result = tag("p", "", class_="question-result", role="status", aria_live="polite")
    row = tag("div", f"{button} {more}", class_="question-buttons", hidden=True)
    return tag("form", fieldset + row + result, novalidate=True)


def _field(question: QuestionContent, key: str) -> str:
    """A text field, and a line to write on where nothing can be typed."""
    unit = question.unit_label
    field = tag(
        "input",
        id=f"{key}-field",
        name="answer",
        type="text",
        autocomplete="off",
        spellcheck="false",
        aria_label=f"Your answer in {unit}" if unit else "Your answer",
        hidden=True,
    )
    room = tag("span", "Your answer:", class_="question-room")
    return room + field + " " + tag("span", escape(unit), class_="question-unit")


def _choices(question: QuestionContent, key: str) -> str:
    rows = []
    for i, (letter, text) in enumerate(zip(LETTERS, question.choices, strict=False)):
        at = f"{key}-{letter}"
        radio = tag(
            "input", id=at, type="radio", name="answer", value=str(i), hidden=True
        )
        label = tag("label", f"({letter}) {inline(text)}", for_=at)
        rows.append(tag("div", radio + label, class_="question-choice"))
    return "".join(rows)
