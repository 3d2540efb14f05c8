"""The exercises of the lectures: each module's ``JUDGES`` maps names to judging functions."""
