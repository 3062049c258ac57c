"""Fixtures that the tests of pages share."""

from tests.pages.browser import chromium

__all__ = ["chromium"]
