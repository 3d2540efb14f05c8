"""Functions that judge answers: the dict ``JUDGES`` of each module has them by exercise name."""
