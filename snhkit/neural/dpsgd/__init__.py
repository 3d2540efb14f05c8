"""DP-SGD: training on the records themselves, as a demonstration."""
