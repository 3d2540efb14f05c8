"""Draws per second of the exact discrete Laplace sampler: ``python benchmarks/noise.py``."""

import time
from fractions import Fraction

from snhkit.privacy import ReplayableEntropy, SystemEntropy, discrete_laplace

DRAWS = 1_000_000
SCALES = (Fraction(1, 2), Fraction(5), Fraction(20), Fraction(10**12, 7))


def main() -> None:
    """Print the rate for each source of entropy and each noise scale."""
    for entropy in (SystemEntropy(), ReplayableEntropy(0)):
        for scale in SCALES:
            start = time.perf_counter()
            discrete_laplace(DRAWS, scale, entropy)
            rate = DRAWS / (time.perf_counter() - start)
            print(f"{type(entropy).__name__:<18} scale {scale!s:>15} {rate:>12,.0f} draws/s")


if __name__ == "__main__":
    main()
