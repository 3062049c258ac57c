"""Tests of the chapter on mixtures of experts."""
