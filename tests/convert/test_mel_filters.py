"""The mel filters are the slaney ones that upstream's speaker encoder was trained with."""

import numpy as np

from qwen3_tts_ncnn.convert.mel_filters import mel_filters


def test_there_are_128_filters_over_the_513_bins_of_a_spectrum() -> None:
    filters = mel_filters()
    assert filters.shape == (128, 513)
    assert filters.dtype == np.float32


def test_filters_are_slaney_triangles_of_unit_area() -> None:
    """Slaney's scale: linear to 1000 Hz at 200/3 Hz a mel, from there a factor of 6.4 in 27 mels."""
    highest = 15 + 27 * np.log(12000 / 1000) / np.log(6.4)
    mels = np.linspace(0, highest, 130)
    edges = np.where(mels < 15, mels * 200 / 3, 1000 * 6.4 ** ((mels - 15) / 27))
    bins = np.linspace(0, 12000, 513)
    rising = (bins - edges[:-2, None]) / np.diff(edges)[:-1, None]
    falling = (edges[2:, None] - bins) / np.diff(edges)[1:, None]
    triangles = np.maximum(0, np.minimum(rising, falling)) * 2 / (edges[2:] - edges[:-2])[:, None]
    np.testing.assert_allclose(mel_filters(), triangles, rtol=0, atol=1e-8)


def test_every_filter_reaches_some_bin() -> None:
    assert (mel_filters().max(axis=1) > 0).all()


def test_two_calls_give_the_same_bytes() -> None:
    assert mel_filters().tobytes() == mel_filters().tobytes()
