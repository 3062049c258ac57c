"""Tests of what the sources say."""
