"""Tests of the chapter on cost, service levels and capacity."""
