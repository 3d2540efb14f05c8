"""Passes over records, and what counts, collects or sorts the rows of a pass."""
