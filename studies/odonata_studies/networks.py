"""The networks at about the same cost that studies compare."""

from __future__ import annotations

from typing import Any

from odonata.network.layouts import KINDS

#: What ``odonata design`` knows of every family: its links, and its adaptive routing.
FAMILIES = {
    "fat-tree": KINDS["fat tree"],
    "dragonfly": KINDS["dragonfly"],
    "dragonfly+": KINDS["dragonfly+"],
    "hyperx": KINDS["HyperX 2-D"],
    "torus": KINDS["torus 3-D"],
    "slim-fly": KINDS["Slim Fly"],
    "jellyfish": KINDS["Jellyfish"],
}
#: Name, network and the offset of its worst shift: to the nodes of the next pod, group, router
#: or half ring. By number of nodes, about.
NETWORKS: dict[int, dict[str, tuple[dict[str, Any], int]]] = {
    1024: {
        "fat tree": ({"family": "fat-tree", "radix": 16, "nodes": 1024, "levels": 3}, 64),
        "fat tree, tapered 1:2": ({"family": "fat-tree", "down": [8, 8, 16], "up": [8, 4]}, 64),
        "dragonfly": ({"family": "dragonfly", "p": 4, "a": 8, "h": 4, "g": 32}, 32),
        "dragonfly+": (
            {"family": "dragonfly+", "leaves": 8, "spines": 8, "p": 8, "h": 8, "g": 17},
            64,
        ),
        "HyperX 3-D": ({"family": "hyperx", "size": [6, 6, 6], "p": 5}, 5),
        "HyperX 2-D": ({"family": "hyperx", "size": [11, 11], "p": 8}, 8),
        "torus 3-D": ({"family": "torus", "size": [8, 8, 8], "p": 2}, 448),
        "Slim Fly": ({"family": "slim-fly", "q": 9, "p": 6}, 6),
        "Jellyfish": (
            {"family": "jellyfish", "routers": 162, "degree": 13, "p": 6, "wiring_seed": 1},
            6,
        ),
    },
    4608: {
        "fat tree": ({"family": "fat-tree", "radix": 28, "nodes": 4704, "levels": 3}, 196),
        "fat tree, tapered 1:2": ({"family": "fat-tree", "down": [14, 14, 24], "up": [14, 7]}, 196),
        "dragonfly": ({"family": "dragonfly", "p": 6, "a": 12, "h": 6, "g": 65}, 72),
        "dragonfly+": (
            {"family": "dragonfly+", "leaves": 12, "spines": 12, "p": 12, "h": 16, "g": 33},
            144,
        ),
        "HyperX 3-D": ({"family": "hyperx", "size": [9, 8, 8], "p": 8}, 8),
        "HyperX 2-D": ({"family": "hyperx", "size": [18, 18], "p": 14}, 14),
        "torus 3-D": ({"family": "torus", "size": [16, 12, 12], "p": 2}, 1920),
        "Slim Fly": ({"family": "slim-fly", "q": 17, "p": 8}, 8),
        "Jellyfish": (
            {"family": "jellyfish", "routers": 578, "degree": 25, "p": 8, "wiring_seed": 1},
            8,
        ),
    },
}
