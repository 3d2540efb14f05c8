"""A wrong environment of JAX is found before anything is spent; each in a process of its own."""

import os
import subprocess
import sys

import pytest

pytest.importorskip("mbi", reason="the extra pgm is not installed")

DATA = """
import numpy as np
import snhkit as snh
city = snh.Region.around(lat=45, lon=7, side_m=400)
records = snh.Points(city, np.random.default_rng(0).uniform(0, 400, (50, 2)))
data = snh.PrivateDataset(records, budget=9, unit="record", n_public=True)
builders = [snh.DenoisedGrid(cell_m=100, prior=snh.Prior(turns=1)), snh.PGM(100)]
"""
REFUSED = (
    DATA
    + """
for builder in builders:
    try:
        data.release(builder, epsilon=1)
    except snh.InputError as error:
        print(error)
print("spent", data.ledger.spent)
"""
)
FORKED = (
    DATA
    + """
import os, warnings
from snhkit.neural import MLP, Networks
networks = Networks(k=1, network=MLP(2, 4), steps=2)
release = data.release(snh.SNH(100, sizes_m=(100, 200), networks=networks), epsilon=1)
boxes = snh.RangeQueries.sample(city, 3, (100, 200))
warnings.simplefilter("ignore")
child = os.fork()
if not child:
    asked = [lambda builder=builder: data.release(builder, epsilon=1) for builder in builders]
    for act in (*asked, lambda: release.answer(boxes)):
        try:
            act()
        except snh.InputError as error:
            print(error, flush=True)
    print("spent", data.ledger.spent, flush=True)
    os._exit(0)
os.waitpid(child, 0)
print("answered", len(release.answer(boxes)))
"""
)


def output(program: str, **environment: str) -> str:
    command = [sys.executable, "-W", "ignore", "-c", program]
    done = subprocess.run(
        command, env=os.environ | environment, capture_output=True, text=True, timeout=120,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("JAX_PLATFORMS", "cuda"),
        ("JAX_TRANSFER_GUARD", "disallow"),
        ("JAX_NUMPY_DTYPE_PROMOTION", "strict"),
    ],
)
def test_an_environment_in_which_jax_cannot_build_is_refused_with_a_remedy(name, value):
    told = output(REFUSED, **{name: value})
    for method in ("DenoisedGrid", "PGM"):
        assert f"{method}: JAX cannot compute here" in told
    assert name in told.partition("Unset")[2]
    assert told.endswith("Nothing was spent.\nspent 0\n")


def test_the_remedy_works_and_arrays_of_different_ranks_need_not_combine():
    told = output(REFUSED, JAX_PLATFORMS="cpu", JAX_NUMPY_RANK_PROMOTION="raise")
    assert told == "spent 2\n"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_forked_process_neither_builds_nor_answers_and_does_not_hang():
    told = output(FORKED)
    for method in ("DenoisedGrid", "PGM", "SNH"):
        assert f"{method}: this process was forked from a process in which JAX had run" in told
    assert told.endswith("spent 1\nanswered 3\n")
