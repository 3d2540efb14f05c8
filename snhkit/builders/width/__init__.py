"""The cell width of a grid, chosen from public numbers or from a noisy measurement."""
