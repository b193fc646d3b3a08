"""What a person should know of a scenario whose links are faster than those its defaults are of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from odonata.declared import CongestionControl
from odonata.units import Duration, Quantity, Rate, Size

#: Schemes of congestion control: the rate of the links that the defaults of their source are of, in
#: bytes per second, the source, and the keys of which as much as links are faster is right: what
#: counts in bytes or bytes per second grows with the rate (as Li et al., SIGCOMM 2019, section 5.1,
#: scale the thresholds of DCQCN), and a time in which packets are sent falls.
_SOURCES: Mapping[str, tuple[float, str, tuple[str, ...]]] = {
    "ecn": (
        5e9,
        "Zhu et al., 40 Gb/s",
        (
            *("mark_from", "mark_all", "increase"),
            *("additive_increase", "hyper_increase", "least_rate"),
        ),
    ),
    "hpcc": (12.5e9, "Li et al., 100 Gb/s", ("window_increase",)),
    "infiniband": (2.5e9, "Gran et al., 20 Gb/s", ("index_timer",)),
}
#: How much faster links may be before anything is said.
_MUCH = 1.5


def notices_of_rates(network: Mapping[str, Any], given: Any) -> list[str]:
    """Says that defaults of congestion control are of slower links, and what they would be here.

    Args:
        network: The network in the engine's form.
        given: What the scenario gives as `network.nic.congestion_control`.
    """
    # What is left out is none.
    scheme = network.get("nic", {}).get("congestion_control", {}).get("kind")
    terminal = (network.get("links") or {}).get("terminal")
    if scheme not in _SOURCES or terminal is None:
        return []
    rate, source, keys = _SOURCES[scheme]
    here = Rate.of_engine(terminal["bandwidth_bytes_per_s"])
    factor = int(here) / rate
    plain = [key for key in keys if isinstance(given, str) or getattr(given, key, None) is None]
    if factor <= _MUCH or not plain:
        return []
    scaled = [f'{key} = "{_scaled(key, factor)}"' for key in plain]
    return [
        f"network.nic.congestion_control: the defaults of {scheme} are those of its source "
        f"({source}); a node here has {8e-9 * int(here):.0f} Gb/s. In proportion: "
        f"{', '.join(scaled)}"
    ]


def _scaled(key: str, factor: float) -> Quantity:
    """A key's default for links that are faster, to two digits: no more are known."""
    declared = CongestionControl.keys[key]
    kind = next(one for one in (Duration, Rate, Size) if declared.kind == {"quantity": one.name})
    # The engine says defaults of schemes in words, as each has its own.
    usual = kind(declared.text.rpartition("Default: ")[2].strip().removesuffix("."))
    value = int(usual) / factor if kind is Duration else int(usual) * factor
    digits = max(len(str(round(value))) - 2, 0)
    return kind(round(value / 10**digits) * 10**digits)
