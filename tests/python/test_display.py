"""Numbers as people read them."""

from collections.abc import Callable

import pytest

from odonata import display


@pytest.mark.parametrize(
    ("ps", "text"),
    [
        (None, "–"),
        (0, "0 ps"),
        (999, "999 ps"),
        (1_250, "1.25 ns"),
        (999_999, "1.00 µs"),
        (12_345_678, "12.3 µs"),
        (5e12, "5.00 s"),
        (3725e12, "1 h 02 min"),
    ],
)
def test_durations(ps: float | None, text: str) -> None:
    assert display.duration(ps) == text


def test_sizes_rates_counts_and_shares() -> None:
    assert display.size(1_500_000) == "1.50 MB"
    assert display.rate(5_637_144_576) == "5.64 GB/s"
    assert display.count(99_999) == "99,999"
    assert display.count(1_234_567) == "1.23 M"
    assert display.percent(0.4215) == "42.1 %"
    assert display.percent(0.00001) == "< 0.01 %"
    assert display.percent(0) == "0.0 %"


@pytest.mark.parametrize(
    "show",
    [
        display.duration,
        display.size,
        display.rate,
        display.count,
        display.percent,
        display.decimal,
    ],
)
@pytest.mark.parametrize("value", [None, float("nan")])
def test_what_has_no_value_is_a_dash(show: Callable[[float | None], str], value: None) -> None:
    assert show(value) == "–"


def test_ticks_have_no_digits_that_say_nothing() -> None:
    assert display.tick(5e6, "size") == "5 MB"
    assert display.tick(2.5e9, "duration") == "2.5 ms"


def test_axis_scales() -> None:
    assert display.scale_for(2.5e6, "duration") == (1e6, "µs")
    assert display.scale_for(999, "size") == (1.0, "B")
    assert display.scale_for(3e9, "rate") == (1e9, "GB/s")
