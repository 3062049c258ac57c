"""Tests of the chapter on memory for keys and values."""
