"""Estimates from noisy sums that overlap: trees, hierarchies and their weights."""
