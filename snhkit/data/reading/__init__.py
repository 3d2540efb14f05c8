"""Readers of points and boxes from files and data frames, and reports on rows left out."""
