"""What is counted in texts is counted right, and in no other texts."""

from pathlib import Path

import pytest

from llmserve_lab.claims.counted import (
    COUNTS,
    DIGESTS,
    entries,
    mentions,
    recount,
    shared_words,
    words,
)


def test_entries_of_a_roadmap() -> None:
    listed = "01 One — a [x] thing [done] read 02 Two in 30 lines [next]"
    text = f"{listed} Status legend 03 A [done]"
    assert entries(text) == 2


def test_mentions_and_words() -> None:
    assert mentions("The cache, Cached twice; a cash") == 2
    assert words("The Cache of caches, abc") == {"cache", "caches"}
    assert shared_words("many more words", "more words here") == 2


def test_another_text_is_refused(tmp_path: Path) -> None:
    for name in DIGESTS:
        (tmp_path / name).write_text("another")
    with pytest.raises(ValueError, match="must be the text that was counted"):
        recount(tmp_path)


def test_files_that_are_counted_have_a_digest() -> None:
    assert {name for each in COUNTS.values() for name in each.files} == set(DIGESTS)
