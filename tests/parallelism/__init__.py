"""Tests of the axes: pipeline, sequence, context and data parallelism."""
