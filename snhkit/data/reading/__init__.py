"""Readers of points and boxes from files and frames, and reports of the rows left out."""
