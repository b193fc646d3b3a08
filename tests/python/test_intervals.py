"""Intervals of predictions: how many new errors lie in earlier ones, and how they add up."""

import math

import numpy as np
import pytest

from odonata.machines.intervals import FEWEST, GROUPS, errors_of, percentiles

KIB = 1024


def test_one_more_ratio_of_the_same_kind_is_between_with_eight_chances_of_ten():
    """By exchangeability, whatever the distribution: of n + 1 ratios each place is alike."""
    random = np.random.default_rng(1)
    inside = 0
    draws = 2000
    for _ in range(draws):
        *seen, new = np.exp(random.standard_t(3, size=20))
        ((_, low, high),) = errors_of((KIB, ratio) for ratio in seen[:19])
        inside += low <= new <= high
    # Three standard errors.
    assert inside / draws == pytest.approx(0.8, abs=3 * math.sqrt(0.16 / draws))


def test_sizes_are_told_apart_where_there_are_enough():
    short, longer = [(64, 2.0)] * FEWEST, [(64 * KIB, 0.5)] * FEWEST
    assert errors_of(short + longer) == ((64, 2.0, 2.0), (64 * KIB, 0.5, 0.5))
    assert errors_of(short[1:]) == ()
    # Equal sizes are in one group, however many there are of them.
    assert len(errors_of(short * GROUPS)) == 1
    many = [(64 << place % 9, 1.0) for place in range(20 * FEWEST)]
    found = errors_of(many)
    assert len(found) == GROUPS and [size for size, *_ in found] == sorted(s for s, *_ in found)


def test_scatter_and_errors_add_up_in_squares_of_logarithms():
    errors = ((KIB, math.exp(-0.3), math.exp(0.3)),)
    low, high = percentiles(KIB, (math.exp(-0.4), math.exp(0.4)), errors)
    assert (math.log(low), math.log(high)) == pytest.approx((-0.5, 0.5))
    # Predictions that are always half of what is measured have a range around twice themselves.
    assert percentiles(KIB, None, ((KIB, 2.0, 2.0),)) == pytest.approx((2.0, 2.0))


def test_nothing_is_said_where_nothing_is_known():
    assert percentiles(KIB, None, ()) is None
    assert percentiles(KIB, (0.9, 1.2), ()) == (0.9, 1.2)


def test_errors_between_two_sizes_are_interpolated_in_the_logarithm():
    errors = ((KIB, 0.5, 2.0), (4 * KIB, 0.9, 1.0))
    assert percentiles(2 * KIB, None, errors) == pytest.approx((0.7, 1.5))
