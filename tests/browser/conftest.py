"""Fixtures that the tests of pages share."""

from tests.browser.browser import chromium

__all__ = ["chromium"]
