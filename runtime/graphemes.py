"""Where a text may be cut without tearing apart what is read as one character.

The common part of Unicode's extended grapheme clusters (UAX #29), from what the standard library knows of characters:
combining marks, joined and coloured emoji, flags, Hangul jamo, Indic conjuncts, CR LF, surrogate pairs.
"""

import unicodedata

_ZWNJ, _ZWJ = "\u200c", "\u200d"
_VIRAMA = 9  # the canonical combining class of the signs that join two consonants into one

# Joined to what is before them, though their category does not say so: Thai and Lao AM, halfwidth voicing marks.
_JOINING_LETTERS = frozenset("\u0e33\u0eb3\uff9e\uff9f")


def is_boundary(text: str, place: int, start: int = 0) -> bool:
    """Whether a cut before `text[place]` leaves whole characters on both sides. Looks no further back than `start`."""
    before, after = text[place - 1], text[place]
    if before < "\x80" and after < "\x80":
        return before + after != "\r\n"
    if before in "\r\n":
        return True
    if before == _ZWJ or is_joined(after) or unicodedata.combining(before) == _VIRAMA:
        return False
    if "\ud800" <= before <= "\udbff" and "\udc00" <= after <= "\udfff":
        return False
    if _is_lead(before):
        return not (_is_lead(after) or "\uac00" <= after <= "\ud7a3")
    if _is_regional(before) and _is_regional(after):
        return _regionals_before(text, place, start) % 2 == 0
    return True


def is_joined(char: str) -> bool:
    """Whether a character belongs to the one before it: a mark, a joiner, a skin tone, a flag's tag, a jamo."""
    return (
        unicodedata.category(char)[0] == "M"
        or char in (_ZWNJ, _ZWJ)
        or char in _JOINING_LETTERS
        or "\U0001f3fb" <= char <= "\U0001f3ff"
        or "\U000e0020" <= char <= "\U000e007f"
        or "\u1160" <= char <= "\u11ff"
        or "\ud7b0" <= char <= "\ud7fb"
    )


def _is_lead(char: str) -> bool:
    """A leading Hangul jamo, which takes another one or a syllable with it."""
    return "\u1100" <= char <= "\u115f" or "\ua960" <= char <= "\ua97c"


def _is_regional(char: str) -> bool:
    """One of the two letters a flag is made of."""
    return "\U0001f1e6" <= char <= "\U0001f1ff"


def _regionals_before(text: str, place: int, start: int) -> int:
    first = place
    while first > start and _is_regional(text[first - 1]):
        first -= 1
    return place - first
