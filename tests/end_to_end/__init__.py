"""Tests of the roofline chapter."""
