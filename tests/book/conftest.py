"""Fixtures that the tests of pages share."""

from tests.book.browser import chromium

__all__ = ["chromium"]
