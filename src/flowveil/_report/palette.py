"""Colors that people with any kind of color vision can tell apart.

Amounts are colored with viridis (van der Walt and Smith, CC0), which also keeps its order in gray. On a light ground
more is darker, on a dark ground more is lighter. Single marks are from Okabe and Ito's set of eight.
"""

from __future__ import annotations

AMOUNTS = ("#fde725", "#b5de2b", "#6ece58", "#35b779", "#1f9e89", "#26828e", "#31688e", "#3e4989", "#482878")
BLUE, VERMILION, ORANGE, GREEN, PINK, SKY = "#0072b2", "#d55e00", "#e69f00", "#009e73", "#cc79a7", "#56b4e9"
