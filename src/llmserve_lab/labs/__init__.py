"""Graded labs: the numbers that are drawn for a student, and the servers to write for.

A lab is a notebook in ``labs/`` of the repository. What it needs beside the library is
here, so that a student's notebook holds little more than the student's own code.
"""
