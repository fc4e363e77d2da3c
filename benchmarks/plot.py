"""A log-log chart of cost against size."""

from __future__ import annotations

import math

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 640, 400, 64, 120, 44, 48
LINE = 18  # height of a line of text


def growth_svg(rows):
    """Draw (trips, seconds to read, seconds to solve) rows with an n log n line through the first."""
    first = rows[0]
    scale = (first[1] + first[2]) / (first[0] * math.log(first[0]))
    series = {
        "read": ("#0b6e99", [(row[0], row[1]) for row in rows]),
        "solve": ("#d1495b", [(row[0], row[2]) for row in rows]),
        "n log n": ("#999999", [(row[0], scale * row[0] * math.log(row[0])) for row in rows]),
    }
    xs = [math.log10(row[0]) for row in rows]
    ys = [math.log10(value) for _, points in series.values() for _, value in points]
    low, high = math.floor(min(ys)), math.ceil(max(ys))

    def place(x, y):
        across = LEFT + (math.log10(x) - xs[0]) / max(xs[-1] - xs[0], 1e-9) * (WIDTH - LEFT - RIGHT)
        return across, TOP + (high - math.log10(y)) / (high - low) * (HEIGHT - TOP - BOTTOM)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
        f'<text x="{LEFT}" y="22" font-size="15" font-weight="600">mosaic: seconds by number of trips</text>',
    ]
    for power in range(low, high + 1):
        _, y = place(rows[0][0], 10.0**power)
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="#e4e4e4"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{10.0**power:g}</text>')
    for row in rows:
        x, _ = place(row[0], 10.0**low)
        parts.append(f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 20}" text-anchor="middle">{row[0]:.0e}</text>')
    lowest = 0.0  # names at the ends of lines do not cover each other
    for name, (color, points) in sorted(series.items(), key=lambda item: -item[1][1][-1][1]):
        places = [place(*point) for point in points]
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        dash = ' stroke-dasharray="5 4"' if name == "n log n" else ""
        parts.append(f'<polyline points="{line}" fill="none" stroke="{color}" stroke-width="2"{dash}/>')
        x, y = places[-1]
        lowest = max(y + 4, lowest + LINE)
        parts.append(f'<text x="{x + 8:.1f}" y="{lowest:.1f}" fill="{color}">{name}</text>')
    return "\n".join([*parts, "</svg>", ""])
