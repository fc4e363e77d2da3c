"""Changing inputs: bytes, words and lines of a few good ones, by chance."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from random import Random

INTERESTING = (0, 1, 2, 7, 8, 9, 10, 13, 31, 32, 34, 39, 44, 59, 92, 127, 128, 192, 224, 239, 240, 254, 255)
NUMBERS = (
    *(b"0", b"-0", b"1", b"-1", b"nan", b"inf", b"-inf", b"1e308", b"1e-320", b"1e999", b"180", b"-180.0000001", b"90"),
    *(b"9223372036854775807", b"9223372036854775808", b"-9223372036854775809", b"4294967296", b"2147483648", b"0x10"),
    *(b"1_000", b"1,5", b"007", b"99999999999999999999999999", b"0.1e1", b".5", b"5.", b"+3", b"\xd9\xa3", b"1e5%"),
)
TEXTS = (
    *(
        b"",
        b"null",
        b"None",
        b"NaN",
        b"true",
        b"false",
        b"'",
        b'"',
        b"''",
        b'""',
        b"\x00",
        b"\xff\xfe",
        b"\xef\xbb\xbf",
    ),
    *(
        b"\r\n",
        b"\n",
        b"\r",
        b"\t",
        b",",
        b";",
        b"|",
        b":",
        b"=",
        b"%",
        b"<",
        b"/",
        b"\\",
        b"..",
        b"*",
        b"[",
        b"]",
        b"{",
    ),
    *(b"}", b"(", b")", b"\x1b[31m", b"\xe2\x80\xae", b"\xf0\x9f\x9a\xb2", b"\xed\xa0\x80", b"\xc4\xb0", b"\xc3\x9f"),
    *(b"a" * 300, b"[" * 200, b"{}", b"[]", b"1970-01-01", b"2038-01-19T03:14:08Z", b"0000-00-00", b"9999-12-31"),
)


def change(data: bytes, chance: Random, pool: list[bytes], words: tuple[bytes, ...], largest: int) -> bytes:
    """Return bytes that are one to several changes away from `data`; the pool has others to take parts from."""
    for _ in range(chance.choice((1, 1, 1, 2, 2, 3, 4, 8))):
        data = chance.choice(_CHANGES)(data, chance, pool, words)
    return data[:largest]


def _flip(data: bytes, chance: Random, _pool: list[bytes], _words: tuple[bytes, ...]) -> bytes:
    if not data:
        return b"\x00"
    place = chance.randrange(len(data))
    return data[:place] + bytes([data[place] ^ (1 << chance.randrange(8))]) + data[place + 1 :]


def _set(data: bytes, chance: Random, _pool: list[bytes], _words: tuple[bytes, ...]) -> bytes:
    place = chance.randrange(len(data) + 1)
    return data[:place] + bytes([chance.choice(INTERESTING)]) + data[place + 1 :]


def _whole_number(data: bytes, chance: Random, _pool: list[bytes], _words: tuple[bytes, ...]) -> bytes:
    """Write a number of two, four or eight bytes somewhere: lengths and offsets of binary formats."""
    width = chance.choice((2, 4, 8))
    value = chance.choice(
        (0, 1, -1, 127, 255, 2 ** (8 * width - 1) - 1, -(2 ** (8 * width - 1)), chance.getrandbits(7))
    )
    place = chance.randrange(len(data) + 1)
    written = (value % 2 ** (8 * width)).to_bytes(width, chance.choice(("little", "big")))
    return data[:place] + written + data[place + width :]


def _insert(data: bytes, chance: Random, _pool: list[bytes], words: tuple[bytes, ...]) -> bytes:
    place = chance.randrange(len(data) + 1)
    return data[:place] + chance.choice((*words, *TEXTS, *NUMBERS)) + data[place:]


def _replace(data: bytes, chance: Random, _pool: list[bytes], words: tuple[bytes, ...]) -> bytes:
    """Put a word in the place of a word or number of the input."""
    first, last = _word(data, chance)
    return data[:first] + chance.choice((*words, *TEXTS, *NUMBERS, *NUMBERS)) + data[last:]


def _word(data: bytes, chance: Random) -> tuple[int, int]:
    if not data:
        return 0, 0
    first = last = chance.randrange(len(data))
    while first and data[first - 1 : first].isalnum() and last - first < 64:
        first -= 1
    while last < len(data) and (data[last : last + 1].isalnum() or data[last : last + 1] in b".-_"):
        last += 1
    return first, last


def _delete(data: bytes, chance: Random, _pool: list[bytes], _words: tuple[bytes, ...]) -> bytes:
    place = chance.randrange(len(data) + 1)
    return data[:place] + data[place + chance.choice((1, 1, 2, 4, 8, 32, len(data))) :]


def _repeat(data: bytes, chance: Random, _pool: list[bytes], _words: tuple[bytes, ...]) -> bytes:
    first = chance.randrange(len(data) + 1)
    part = data[first : first + chance.choice((1, 2, 8, 64))]
    return data[:first] + part * chance.choice((2, 2, 3, 50)) + data[first + len(part) :]


def _lines(data: bytes, chance: Random, _pool: list[bytes], _words: tuple[bytes, ...]) -> bytes:
    """Leave out, repeat or exchange lines."""
    lines = data.split(b"\n")
    one, other = chance.randrange(len(lines)), chance.randrange(len(lines))
    lines[one] = chance.choice((lines[other], b"", lines[one] + lines[other]))
    return b"\n".join(lines)


def _splice(data: bytes, chance: Random, pool: list[bytes], _words: tuple[bytes, ...]) -> bytes:
    other = chance.choice(pool)
    return data[: chance.randrange(len(data) + 1)] + other[chance.randrange(len(other) + 1) :]


_CHANGES = (_flip, _flip, _set, _whole_number, _insert, _replace, _replace, _replace, _delete, _repeat, _lines, _splice)
