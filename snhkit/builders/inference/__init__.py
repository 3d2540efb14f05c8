"""Least-squares estimates from overlapping noisy sums, and the optimal choice of such sums."""
