"""The exercises of the lectures, one module a lecture: name to judge."""
