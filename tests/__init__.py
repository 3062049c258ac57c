"""Tests that count: nothing here types a formula of the book a second time."""
