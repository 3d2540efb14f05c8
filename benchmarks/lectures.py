"""What each lecture needs of a server: python benchmarks/lectures.py [--help].

Runs all cells of each lecture in a kernel of its own, and prints, as Markdown, the largest memory
of the kernel and the seconds that it took.
"""

import argparse
import tempfile
import time
from pathlib import Path

import nbformat
from tqdm.auto import tqdm

from snhkit.teaching.kernels import notebook_client

NOTEBOOKS = sorted((Path(__file__).parents[1] / "notebooks").glob("*.ipynb"))
PEAK = "import resource; print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"


def needs(path: Path) -> tuple[float, float]:
    """Return the largest memory in GB of a lecture's kernel, and the seconds to run all cells."""
    notebook = nbformat.read(path, as_version=4)
    notebook.cells.append(nbformat.v4.new_code_cell(PEAK))
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        notebook_client(notebook, folder, 900).execute()
    kilobytes = int(notebook.cells[-1].outputs[0].text)
    return kilobytes * 1024 / 1e9, time.perf_counter() - began


def main() -> None:
    """Print a row for each lecture."""
    parser = argparse.ArgumentParser(description="What each lecture needs of a server.")
    parser.add_argument("--only", default="", help="part of a lecture's name, such as 04")
    args = parser.parse_args()
    print("| lecture | memory, GB | seconds |\n|---|---|---|")
    for path in tqdm([p for p in NOTEBOOKS if args.only in p.stem], unit="lecture"):
        gigabytes, seconds = needs(path)
        print(f"| `{path.stem}` | {gigabytes:.1f} | {seconds:.0f} |", flush=True)


if __name__ == "__main__":
    main()
