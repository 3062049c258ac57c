"""Tests of the whole that take long: `make test-deep`."""
