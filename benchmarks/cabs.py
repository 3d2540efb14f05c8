"""The paper's CABS experiment: python benchmarks/cabs.py [DATA_FOLDER].

The folder holds sf_cabs.npy and san_francisco_gowalla_checkins.csv.gz (default ../shared/data).
Prints mean relative errors of 5,000 squares of 25 to 100 m and build seconds.
"""

import sys
import time
from pathlib import Path

import snhkit as snh
from snhkit.experiment import relative_errors

WIDTHS_M = (15, 20, 25, 30, 40, 50, 60)


def main(folder: Path) -> None:
    """Sweep Identity's width and run each method's default, epsilon by epsilon."""
    city = snh.Region.around(lat=37.7637, lon=-122.4337, side_m=13_200)
    records = snh.read_points(folder / "sf_cabs.npy", city, report=print)
    checkins = folder / "san_francisco_gowalla_checkins.csv.gz"
    public = snh.read_points(checkins, city, report=print)
    boxes = snh.RangeQueries.sample(records, 5000)
    truth = snh.exact_counts(records, boxes)
    data = snh.PrivateDataset(records, budget=1000, unit="record", n="public")
    builders = {"UG": snh.UniformGrid()}
    builders |= {f"Identity {w} m": snh.Identity(w) for w in WIDTHS_M}
    builders |= {"AG": snh.AdaptiveGrid(), "PrivTree": snh.PrivTree(), "QuadTree": snh.QuadTree()}
    builders |= {"Identity": snh.Identity(), "AG": snh.AdaptiveGrid(), "PrivTree": snh.PrivTree()}
    builders |= {"QuadTree": snh.QuadTree(), "DAWA": snh.DAWA(), "SNH": snh.SNH()}
    for epsilon in (0.05, 0.1, 0.2, 0.4, 0.8):
        for name, builder in builders.items():
            start = time.perf_counter()
            release = data.release(builder, epsilon=epsilon, public=public)
            seconds = time.perf_counter() - start
            error = relative_errors(release.answer(boxes), truth, data.n).mean()
            print(f"epsilon {epsilon:<5} {name:14} {error:.4f} {seconds:7.2f} s", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "../shared/data"))
