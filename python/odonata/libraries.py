"""The libraries of statistics and optimisation, which are installed on request."""

from __future__ import annotations

import importlib
from typing import Any

from odonata.errors import LibraryError


def _needed(module: str, package: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise LibraryError(
            f"this needs {package}, which is not installed: pip install 'odonata[statistics]'"
        ) from error


def scipy_stats() -> Any:
    """``scipy.stats``.

    Raises:
        LibraryError: If SciPy is not installed.
    """
    return _needed("scipy.stats", "SciPy")


def scipy_optimize() -> Any:
    """``scipy.optimize``.

    Raises:
        LibraryError: If SciPy is not installed.
    """
    return _needed("scipy.optimize", "SciPy")


def scipy_sparse() -> Any:
    """``scipy.sparse``.

    Raises:
        LibraryError: If SciPy is not installed.
    """
    return _needed("scipy.sparse", "SciPy")


def mixture_class() -> Any:
    """``sklearn.mixture.GaussianMixture``.

    Raises:
        LibraryError: If scikit-learn is not installed.
    """
    return _needed("sklearn.mixture", "scikit-learn").GaussianMixture


def gradient_boosting() -> Any:
    """``sklearn.ensemble``, of which the histogram gradient boosting is used.

    Raises:
        LibraryError: If scikit-learn is not installed.
    """
    return _needed("sklearn.ensemble", "scikit-learn")


def linear_models() -> Any:
    """``sklearn.linear_model``.

    Raises:
        LibraryError: If scikit-learn is not installed.
    """
    return _needed("sklearn.linear_model", "scikit-learn")


def one_thread() -> Any:
    """A context in which scikit-learn computes with one thread: small tables are faster so.

    Raises:
        LibraryError: If scikit-learn is not installed.
    """
    return _needed("threadpoolctl", "scikit-learn").threadpool_limits(1)
