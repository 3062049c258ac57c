"""Tests of how a formula becomes a page."""
