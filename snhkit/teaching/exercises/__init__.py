"""Functions that judge answers to exercises: ``JUDGES`` of each module, by exercise name."""
