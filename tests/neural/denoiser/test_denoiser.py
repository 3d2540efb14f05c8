"""The network against one written in numpy and scipy, with weights that mean nothing."""

import jax
import numpy as np
import pytest
from scipy.ndimage import uniform_filter
from scipy.signal import correlate
from scipy.special import softmax

from snhkit.neural.denoiser.denoiser import ABOUT, PLANES, denoise, peaks, start

SHAPES = jax.eval_shape(start, jax.random.key(0))
SIDE = 16
clean = jax.jit(denoise)


def drawn(seed: int, gain: float = 1.0) -> dict:
    """Weights that keep the size of what passes through; biases and choices far from 0."""
    rng = np.random.default_rng(seed)

    def layer(shapes):
        *window, outputs = shapes["w"].shape
        kernel = rng.normal(0, gain / np.sqrt(np.prod(window)), shapes["w"].shape)
        return {"w": np.float32(kernel), "b": np.float32(rng.normal(0, gain, outputs))}

    return {name: layer(shapes) for name, shapes in SHAPES.items()}


def grids(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Two noisy grids, one of large and one of small counts, each with a few far below 0."""
    rng = np.random.default_rng(seed)
    noise = rng.laplace(0, 1, (2, SIDE, SIDE))
    counts = rng.poisson([[[30]], [[0.4]]], (2, SIDE, SIDE)) + noise
    counts[:, 3, ::5] -= 60
    blocks = rng.normal(0, 3, (2, 4, 4, PLANES - 1)).repeat(4, 1).repeat(4, 2)
    planes = np.concatenate([counts[..., None], blocks], axis=-1)
    return planes.astype(np.float32), rng.normal(0, 1, (2, ABOUT)).astype(np.float32)


def gelu(h):
    return h / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (h + 0.044715 * h**3)))


def layer(weights, h):
    """Each output by one three-dimensional correlation."""
    w, b = weights["w"].astype(float), weights["b"]
    edge = len(w) // 2
    h = np.pad(h, [(edge, edge), (edge, edge), (0, 0)])
    return np.concatenate([correlate(h, w[..., o], "valid") + b[o] for o in range(len(b))], 2)


def dense(weights, h):
    return h @ weights["w"] + weights["b"]


def halved(weights, h):
    m, _, c = h.shape
    squares = h.reshape(m // 2, 2, m // 2, 2, c)
    return np.einsum("iajbc,abco->ijo", squares, weights["w"]) + weights["b"]


def folded(h):
    return np.concatenate([h[i::2, j::2] for i in (0, 1) for j in (0, 1)], axis=2)


def unfolded(h):
    c = h.shape[2] // 4
    out = np.empty((2 * len(h), 2 * len(h), c))
    for i in (0, 1):
        for j in (0, 1):
            out[i::2, j::2] = h[..., (2 * i + j) * c : (2 * i + j + 1) * c]
    return out


def local_mean(grid, side):
    """And the roots of how many cells."""
    sums, cells = (uniform_filter(a, side, mode="constant") * side**2 for a in (grid, 0 * grid + 1))
    return sums / cells, np.sqrt(cells)


def reference(weights, planes, about):
    planes = planes.astype(float)
    grid = planes[..., 0]
    means = [local_mean(grid, side) for side in (3, 7, 15)]
    seen = [np.clip(grid, -24, 24) / 8, np.arcsinh(grid)]
    for mean, root in means:
        seen += [np.arcsinh(mean * root), np.arcsinh(mean)]
    for sure, mean in ((1, 2), (3, 4)):
        seen += [np.arcsinh(planes[..., sure]), np.arcsinh(8 * planes[..., mean])]
    blends = [grid, *(mean for mean, _ in means), planes[..., 2], planes[..., 4]]
    h = folded(np.stack(seen, 2))
    h = np.concatenate([h, np.broadcast_to(about, (*h.shape[:2], len(about)))], 2)
    h = gelu(layer(weights["in"], h))
    told = gelu(dense(weights["told"], about))

    def blocks(names, h):
        for name in names.split():
            scale, shift = np.split(dense(weights[f"film_{name}"], told), 2)
            h = h + gelu(layer(weights[name], h) * (1 + scale) + shift)
        return h

    half = blocks("d0_0", h)
    h = gelu(halved(weights["down0"], half))
    quarter = blocks("d1_0 d1_1", h)
    h = gelu(halved(weights["down1"], quarter))
    eighth = blocks("d2_0 d2_1 d2_2", h)
    h = layer(weights["up1"], eighth).repeat(2, 0).repeat(2, 1) + quarter
    h = blocks("u1_0 u1_1", h)
    h = layer(weights["up0"], h).repeat(2, 0).repeat(2, 1) + half
    h = blocks("u0_0", h)
    out = unfolded(layer(weights["out"], h) + dense(weights["film_out"], told))
    choice = softmax(out[..., :7] + [0, 1, 1, 0, -5, -5, 0], 2)
    mixed = sum(choice[..., i] * blend for i, blend in enumerate(blends))
    cell = (mixed + np.hypot(mixed, 0.1)) / 2 + np.logaddexp(0, out[..., 7] - 4)
    counts = unfolded(cell[..., None] * softmax(out[..., 11:], 2))[..., 0]
    return counts, out[..., 8:11]


def test_it_is_the_network_that_it_says():
    weights, (planes, about) = drawn(1), grids(2)
    found = clean(weights, planes, about)
    expected = [reference(weights, *pair) for pair in zip(planes, about, strict=True)]
    for ours, theirs in zip(found, zip(*expected, strict=True), strict=True):
        np.testing.assert_allclose(ours, np.stack(theirs), rtol=1e-3, atol=1e-3)
    assert [a.shape for a in found] == [(2, 2 * SIDE, 2 * SIDE), (2, SIDE, SIDE, 3)]


def test_without_an_opinion_it_blends_means_and_deals_out_evenly():
    """Of a grid of 4 all means are 4, at the borders too; the share of nothing is 1 of them all."""
    weights = drawn(4)
    for name in ("out", "film_out"):
        weights[name] = jax.tree.map(np.zeros_like, weights[name])
    about = grids(0)[1]
    found, opinion = clean(weights, np.full((2, SIDE, SIDE, PLANES), 4, np.float32), about)
    mixed = 4 * (1 - 1 / (3 + 2 * np.e + 2 * np.exp(-5)))
    cell = (mixed + np.hypot(mixed, 0.1)) / 2 + np.log1p(np.exp(-4))
    np.testing.assert_allclose(found, cell / 4, rtol=1e-5)
    assert (opinion == 0).all()


@pytest.mark.parametrize("part", [0, 1, 2, 3])
def test_a_cell_lies_in_its_own_quarters(part):
    """All of each cell in one of them: the western first, and of these the southern."""
    weights, (noisy, about) = drawn(5), grids(6)
    weights["film_out"] = jax.tree.map(np.zeros_like, weights["film_out"])
    even = jax.tree.map(np.zeros_like, weights["out"])
    sure = {"w": even["w"], "b": even["b"].copy()}
    sure["b"].reshape(4, 15)[:, 11 + part] = 99
    halves = [np.asarray(clean(weights | {"out": o}, noisy, about)[0]) for o in (even, sure)]
    cells, dealt = (h.reshape(2, SIDE, 2, SIDE, 2).transpose(0, 1, 3, 2, 4) for h in halves)
    np.testing.assert_allclose(dealt[..., part // 2, part % 2], cells.sum((3, 4)), rtol=1e-5)
    np.testing.assert_allclose(dealt.sum((3, 4)), cells.sum((3, 4)), rtol=1e-5)


@pytest.mark.parametrize("largest", [1.0, 1e3, 1e9, 2.0**56])
@pytest.mark.parametrize("gain", [1, 6])
def test_never_negative(gain, largest):
    planes, about = grids(7)
    for sign in (1, -1):
        found, opinion = clean(drawn(8, gain), sign * np.float32(largest) * planes / 50, about)
        assert np.isfinite(found).all()
        assert np.isfinite(opinion).all()
        assert (found >= 0).all()


class TestPeaks:
    def test_by_hand(self):
        """Of 5,000 units of noise, 94 and 494 stand out; by chance four cells have 2 / e^6."""
        noisy = np.array([[100, 500], [6, -900]])
        assert peaks(noisy, 5.0) == pytest.approx(np.log((588 - 2 * np.exp(-6)) / 5_000))

    def test_noise_alone_has_none(self):
        """A million cells: what stands out has a mean of 1,239, and a standard deviation of 50."""
        noise = np.random.default_rng(0).laplace(0, 1, 10**6)
        assert peaks(noise, 40.0) < -4.5

    def test_within_bounds(self):
        assert peaks(np.array([[0, 1e9]]), 1.0) == 0
        assert peaks(np.zeros((2, 2)), 1.0) == -5
