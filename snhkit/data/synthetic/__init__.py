"""Synthetic cities, whose streets, venues and people are randomly generated."""
