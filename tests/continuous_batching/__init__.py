"""Tests of the chapter on iteration-level scheduling and chunked prefill."""
