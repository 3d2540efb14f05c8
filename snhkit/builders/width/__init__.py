"""The cell width of a grid: from public numbers, or from a number that was bought."""
