"""Quantities: what is read, exactly, what is refused, and what is printed."""

import contextlib
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odonata.units import Duration, Quantity, Rate, Size, UnitError


@pytest.mark.parametrize(
    ("text", "picoseconds"),
    [
        ("100 ns", 100_000),
        ("1.5 us", 1_500_000),
        ("1.5 µs", 1_500_000),  # micro sign
        ("1.5 μs", 1_500_000),  # Greek letter
        ("0.1 ns", 100),  # 0.1 is no binary fraction: no float in between
        ("2 ms", 2_000_000_000),
        ("1e-3 s", 1_000_000_000),
        ("1 min", 60 * 10**12),
        ("0 s", 0),
        ("1_000 ps", 1_000),
        (" 7ns ", 7_000),
    ],
)
def test_durations_are_exact_picoseconds(text: str, picoseconds: int) -> None:
    assert Duration(text) == picoseconds


@pytest.mark.parametrize(
    ("text", "count"),
    [("64 B", 64), ("1 MB", 10**6), ("1 MiB", 2**20), ("1.5 KiB", 1536), ("2 kB", 2_000)],
)
def test_sizes_tell_decimal_from_binary_units(text: str, count: int) -> None:
    assert Size(text) == count


@pytest.mark.parametrize(
    ("text", "per_second"),
    [
        ("1 GB/s", 10**9),
        ("16 GiB/s", 16 * 2**30),
        ("100 Gbit/s", 12_500_000_000),
        ("5.25 GiB/s", 5_637_144_576),
        # 4.69 · 2^30 is no whole number; rates are rounded, by less than 1 in 10^9 here.
        ("4.69 GiB/s", 5_035_849_155),
        ("25 Tbit/s", 3_125_000_000_000),
    ],
)
def test_rates_are_bytes_per_second(text: str, per_second: int) -> None:
    assert Rate(text) == per_second


@pytest.mark.parametrize(
    ("kind", "text", "words"),
    [
        (Duration, "100", ["without a unit", "ns", "us"]),
        (Duration, "100 nanoseconds", ['unit "nanoseconds"', "allowed", "ps, ns, us"]),
        (Duration, "100 NS", ['did you mean "ns"?']),
        (Duration, "-1 ns", ["at least 0"]),
        (Duration, "0.5 ps", ["0.5 ps", "whole number of ps"]),
        (Duration, "ten ns", ['"ten ns"']),
        (Duration, "", ['""']),
        (Duration, "1e99 s", ["50 days"]),
        (Duration, "1201 h", ["1201 h", "between 0 and 50 days"]),
        (Size, "1e99 B", ["2^63"]),
        (Size, "1.5 B", ["whole number of B"]),
        (Size, "1 mb", ['did you mean "MB"?']),
        (Size, "8 Gbit", ["sizes are in bytes"]),
        (Rate, "4 Gb/s", ['"GB/s" (bytes) or "Gbit/s" (bits)']),
        (Rate, "10 Gbps", ['"GB/s" (bytes) or "Gbit/s" (bits)']),
        (Rate, "4 GB", ['did you mean "GB/s"?']),
        (Rate, "4 gb/S", ['did you mean "GB/s"?']),
    ],
)
def test_what_is_no_quantity_names_what_is_allowed(
    kind: type[Quantity], text: str, words: list[str]
) -> None:
    with pytest.raises(UnitError) as caught:
        kind(text)
    for word in words:
        assert word in str(caught.value)


def test_bool_and_float_are_no_numbers_of_base_units() -> None:
    for value in (True, 1.5, None, [1]):
        with pytest.raises(UnitError):
            Size(value)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("quantity", "text"),
    [
        (Duration(100_000), "100 ns"),
        (Duration(1_500_000), "1.5 us"),
        (Duration(0), "0 s"),
        (Duration(1), "1 ps"),
        (Size(4096), "4 KiB"),
        (Size(1_000_000), "1 MB"),
        (Size(64), "64 B"),
        (Rate(5_637_144_576), "5.25 GiB/s"),
        (Rate(12_500_000_000), "12.5 GB/s"),
    ],
)
def test_quantities_print_short(quantity: Quantity, text: str) -> None:
    assert str(quantity) == text
    assert f"{quantity}" == text
    assert repr(quantity) == f"{type(quantity).__name__}({text!r})"


@pytest.mark.parametrize("kind", [Duration, Size, Rate])
@given(value=st.integers(min_value=0, max_value=2**63 - 1))
def test_printing_and_reading_is_the_identity(kind: type[Quantity], value: int) -> None:
    value = min(value, kind.largest)
    assert kind(str(kind(value))) == value


@given(
    number=st.decimals(min_value=0, max_value=10**6, places=3, allow_nan=False),
    unit=st.sampled_from([u for u in Duration.units if u not in ("ps", "min", "h")]),
)
def test_reading_agrees_with_fractions(number: object, unit: str) -> None:
    # Three decimals of ns or more are whole picoseconds, so nothing may be refused or rounded.
    assert Duration(f"{number} {unit}") == Fraction(str(number)) * Duration.units[unit]


@given(text=st.text(max_size=20))
def test_any_text_is_read_or_refused(text: str) -> None:
    for kind in (Duration, Size, Rate):
        with contextlib.suppress(UnitError):
            assert 0 <= kind(text) < 2**63
