"""The exercises of the lectures, one module per lecture, which map names to judges."""
