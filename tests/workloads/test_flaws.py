"""A flaw in a trace is named: the file, the line, the field, and the rule it breaks."""

from pathlib import Path

import pytest

from llmserve_lab.workloads import READERS, MalformedLineError

AZURE = "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:00:01,10,5\n"
BURST = "Timestamp,Model,Request tokens,Response tokens\n5,ChatGPT,10,5\n"
MOON = '{"timestamp": 7, "input_length": 600, "output_length": 5, "hash_ids": [1, 2]}\n'
FLAWS = [
    ("azure", AZURE + "2023-11-16 18:00:02,12x,5\n", 3, "ContextTokens", "got '12x'"),
    ("azure", AZURE + "2023-11-16 18:00:02,0,5\n", 3, "ContextTokens", "at least 1"),
    ("azure", AZURE + "2023-11-16 18:00:02,3,2.5\n", 3, "GeneratedTokens", "whole"),
    ("azure", AZURE + "yesterday,3,2\n", 3, "TIMESTAMP", "a date and time"),
    ("azure", AZURE + "2023-11-16 17:59:59,3,2\n", 3, "TIMESTAMP", "no earlier"),
    ("azure", AZURE + "2023-11-16 18:00:02,3\n", 3, "GeneratedTokens", "nothing"),
    ("azure", AZURE + "2023-11-16 18:00:02,3,2,9\n", 3, "GeneratedTokens", "last of 3"),
    ("azure", AZURE + "2023-11-16 18:00:02,1_0,5\n", 3, "ContextTokens", "got '1_0'"),
    ("azure", AZURE + "2023-11-16 18:00:02,\u0663,5\n", 3, "ContextTokens", "whole"),
    ("azure", AZURE + f"2023-11-16 18:00:02,{'3' * 140_000},5\n", 3, "line", "CSV"),
    ("azure", AZURE.replace("\n", "\n\n"), 2, "line", "filled"),
    ("azure", AZURE.replace("Context", "Input"), 1, "ContextTokens", "a column"),
    ("azure", "", 1, "TIMESTAMP", "a column"),
    ("burstgpt", BURST + "6,ChatGPT,-1,5\n", 3, "Request tokens", "at least 1 token"),
    ("burstgpt", BURST + "6,ChatGPT,1,-5\n", 3, "Response tokens", "at least 0 tokens"),
    ("burstgpt", BURST + "nan,ChatGPT,1,5\n", 3, "Timestamp", "a number of s"),
    ("burstgpt", BURST + "6_0,ChatGPT,1,5\n", 3, "Timestamp", "a number of s"),
    ("mooncake", MOON.replace("7", "1" + 400 * "0"), 1, "timestamp", "a number of ms"),
    ("mooncake", MOON.replace("7", "1" + 5_000 * "0"), 1, "line", "JSON"),
    ("mooncake", MOON + 100_000 * "[" + "\n", 2, "line", "JSON"),
    ("mooncake", MOON + "\n" + MOON, 2, "line", "filled"),
    ("mooncake", MOON + MOON[:-9] + "\n", 2, "line", "JSON"),
    ("mooncake", MOON + "[7]\n", 2, "line", "a JSON object"),
    ("mooncake", MOON + MOON.replace("600", "1600"), 2, "hash_ids", "a list of 4"),
    ("mooncake", MOON + MOON.replace("2]", '"2"]'), 2, "hash_ids", "whole numbers"),
    ("mooncake", MOON + MOON.replace(": 5,", ": 5.5,"), 2, "output_length", "got 5.5"),
    ("mooncake", MOON + MOON.replace("600", "true"), 2, "input_length", "got True"),
    ("mooncake", MOON + MOON.replace("7", "6"), 2, "timestamp", "no earlier"),
    ("mooncake", MOON.replace('"timestamp": 7, ', ""), 1, "timestamp", "nothing"),
]


@pytest.mark.parametrize(("form", "text", "number", "field", "rule"), FLAWS)
def test_a_malformed_line_is_named(
    form: str, text: str, number: int, field: str, rule: str, tmp_path: Path
) -> None:
    path = tmp_path / "trace.txt"
    path.write_text(text)
    with pytest.raises(MalformedLineError, match=rule) as caught:
        list(READERS[form](path))
    error = caught.value
    assert (error.path, error.line, error.field) == (path, number, field)
    assert str(error).startswith(f"{path}, line {number}: {field} must be ")


@pytest.mark.parametrize(("form", "text"), [("azure", AZURE), ("mooncake", MOON)])
def test_blank_lines_may_end_a_file(form: str, text: str, tmp_path: Path) -> None:
    path = tmp_path / "trace"
    for end in ("\n", "\n\n\n"):
        path.write_text(text + end)
        assert len(list(READERS[form](path))) == 1


def test_what_is_no_text_is_a_flaw_too(tmp_path: Path) -> None:
    path = tmp_path / "trace"
    path.write_bytes(AZURE.encode() + b"2023-11-16 18:00:02,\xff\xfe,5\n")
    with pytest.raises(MalformedLineError, match="line 3: ContextTokens must be"):
        list(READERS["azure"](path))


def test_the_mark_that_some_programs_write_first_is_passed_over(tmp_path: Path) -> None:
    for form, text in (("azure", AZURE), ("mooncake", MOON)):
        path = tmp_path / form
        path.write_text(text, encoding="utf-8-sig")
        assert len(list(READERS[form](path))) == 1


def test_what_comes_before_a_flaw_is_read(tmp_path: Path) -> None:
    path = tmp_path / "trace.csv"
    path.write_text(AZURE + "2023-11-16 18:00:02,x,5\n")
    reader = READERS["azure"](path)
    assert next(reader).prompt_len == 10
    with pytest.raises(MalformedLineError):
        next(reader)
