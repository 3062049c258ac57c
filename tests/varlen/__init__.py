"""Tests of the chapter on requests of different lengths."""
