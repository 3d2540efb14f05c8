"""Wrong interface: a function in place of a builder."""


def mechanism(records, epsilon):
    return len(records) / epsilon
