"""A browser for every test of the pages, and time to draw on a busy machine."""

from playwright.sync_api import expect

from tests.browser.browser import chromium

__all__ = ["chromium"]

expect.set_options(timeout=20_000)  # a first chart may wait for the other core
