"""Which H3 cells areas hold, by the h3 package alone."""

from __future__ import annotations

import h3


def holds(area: str, cell: str) -> bool:
    """Whether an area holds a cell: a cell, a group of cells (PARENT:DIGITS), or a rectangle of a lattice (l:...)."""
    if area == "world":
        return True
    if area.startswith("l:"):
        base, wide, high, x, y = map(int, area[2:].split("/"))
        middle = h3.cell_to_center_child(h3.cell_to_parent(cell, 0), h3.get_resolution(cell))
        u, v = h3.cell_to_local_ij(middle, cell)
        return (h3.get_base_cell_number(cell), u >> wide, v >> high) == (base, x, y)
    whole, _, digits = area.partition(":")
    inside = h3.cell_to_parent(cell, h3.get_resolution(whole)) == whole
    if not inside or not digits:
        return inside
    child = h3.cell_to_parent(cell, h3.get_resolution(whole) + 1)
    return str((int(child, 16) >> (3 * (15 - h3.get_resolution(child)))) & 7) in digits
