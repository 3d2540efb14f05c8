"""DP-SGD: training of a network on the private records themselves, for demonstrations only."""
