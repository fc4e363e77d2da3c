"""A picture of seconds against users, both axes logarithmic."""

from __future__ import annotations

import math

from flowveil._charts.ticks import log_ticks

WIDTH, HEIGHT = 640, 400
LEFT, RIGHT, TOP, BOTTOM = 64, 36, 44, 48


def growth_svg(title, points, gpu):
    """Draw measured (users, seconds), and the band of a GPU that compares so many pairs a second."""
    users = [point[0] for point in points]
    band = [[(size, size * size / 2 / speed) for size in users] for speed in gpu]
    values = [second for _, second in [*points, *band[0], *band[1]]]
    low, high = min(values) / 1.2, max(values) * 1.2

    def across(size):
        return LEFT + (WIDTH - LEFT - RIGHT) * math.log(size / users[0]) / math.log(users[-1] / users[0])

    def down(seconds):
        return TOP + (HEIGHT - TOP - BOTTOM) * math.log(high / seconds) / math.log(high / low)

    def places(line):
        return " ".join(f"{across(size):.1f},{down(seconds):.1f}" for size, seconds in line)

    size = f'viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}"'
    font = 'font-family="system-ui, sans-serif" font-size="12"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} {font} fill="#222">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
        f'<text x="{LEFT}" y="20" font-size="15" font-weight="600">{title}</text>',
        f'<text x="{LEFT}" y="36" fill="#666">seconds of one core; gray: the paper\'s GPU, all pairs</text>',
        f'<polygon points="{places(band[0])} {places(band[1][::-1])}" fill="#ddd"/>',
    ]
    for tick in log_ticks(low, high):
        y = down(tick)
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="#e4e4e4"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{tick:g}</text>')
    parts += [f'<text x="{across(u):.1f}" y="{HEIGHT - 28}" text-anchor="middle">{u:,}</text>' for u in users]
    parts.append(f'<polyline points="{places(points)}" fill="none" stroke="#0b6e99" stroke-width="2"/>')
    parts += [f'<circle cx="{across(u):.1f}" cy="{down(s):.1f}" r="3.5" fill="#0b6e99"/>' for u, s in points]
    parts.append(f'<text x="{WIDTH / 2}" y="{HEIGHT - 8}" text-anchor="middle">users</text>')
    return "\n".join([*parts, "</svg>", ""])
