"""Tests of the chapter on tensor-parallel cuts."""
