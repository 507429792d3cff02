"""What a sentence ends with, in the scripts the models speak: a judgement on every gap between two words.

A gap is all that stands between two words: blanks, stops, quotes, brackets, dashes, symbols. What it is depends on the
word before it (an abbreviation?), on its own characters, and on the one character after it; nothing else is looked at,
so that a text that is still coming in can be judged, and is judged as it would be whole. Where a gap could be either,
it is no end: two sentences spoken in one go are heard as two, half a sentence is not heard as a whole.
"""

import re
import unicodedata
from enum import IntEnum
from typing import NamedTuple


class Level(IntEnum):
    """How good a place is for a cut."""

    SPACE = 1
    CLAUSE = 2
    SENTENCE = 3


class Break(NamedTuple):
    """A cut before `text[place]`."""

    level: Level
    place: int


# Stops that need a blank after them, and those that do not, being no part of numbers, names or addresses.
_DOTS = ".…‥⋯"
_ASCII_STOPS = ".!?"
_FULL_STOPS = "。！？｡．‼⁇⁈⁉؟۔।॥։።፧။។"
_STOPS = _ASCII_STOPS + _DOTS[1:] + _FULL_STOPS
_CLOSING = r"”’›)\]}」』】〉》〕〗）］｝｣"
# Quotes that close in one language and open in another: what follows them tells.
_EITHER = "\"'“‘«»‹"
_MARKS = ",;:，、；：،؛—–"
_GOING_ON = tuple(",;:，、；：،؛")
_SYMBOLS = "\u2600-\u27bf\u2b00-\u2bff\U0001f000-\U0001faff\ufe0f\u200d\U000e0020-\U000e007f"
_WIDE = "\u1100-\u11ff\u2e80-\u9fff\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff"
_TOGETHER = "\u00a0\u2007\u202f"  # blanks that are there to keep what is around them together

_END = re.compile(
    rf"""
    (?P<before>[^{_STOPS}]*+)
    (?P<stops>[{_STOPS}]
      (?: [{_STOPS}{_CLOSING}]
        | [{_EITHER}](?=[{_STOPS}{_CLOSING}{_EITHER}]*+[\s{_MARKS}{_SYMBOLS}])
        | \s?»(?=\s)                  # « Oui ! » Il …
        | \s++[{_STOPS}]              # . . .
      )*+
    )
    (?P<tail>[\s{_SYMBOLS}]*+)        # an emoji goes with what it comments on
    (?P<rest>.*)                      # what opens the next sentence
    """,
    re.VERBOSE | re.DOTALL,
)
_PARAGRAPH = re.compile(r"\n[^\S\n]*+\n\s*+|\u2029\s*+")
_ITEM = re.compile(r"\n[^\S\n]*+(?=[-*+•‣▪◦·–—]\s|\d{1,3}(?:[.)]\s|[、．）]))")
_ITEM_LOOKAHEAD = 5  # "123. "
_CLAUSE = re.compile(
    rf"(?:[，、；：،؛—⸺]++|[,;:](?=[{_CLOSING}{_EITHER}]*+[\s{_WIDE}])|(?<=\s)[-–]++(?=\s)|\n)"
    rf"[{_CLOSING}]*+(?:[{_EITHER}](?=\s))?+\s*+"
)
_IN_NUMBER = re.compile(r"[.,:;/·'’．，：–—-]+")

_TOKEN = re.compile(r"[^\s\"'“‘«„‹(\[{/—–-]*\Z")
_TOKEN_LOOKBACK = 24
_LINE_START = re.compile(r"(?:\n|\A)[ \t>#*(]*\Z")
_LINE_LOOKBACK = 16
_ITEM_NUMBER = re.compile(r"[\d.]{1,8}|[IVXLC]{1,6}")
_DOTTED = re.compile(r"(?:[^\W\d_]{1,2}\.)+[^\W\d_]{1,2}")
_WORDS_OF_ONE_LETTER = frozenset("яéèàó")

# What a name or an explanation follows, by language: English, German, Spanish and Portuguese, French, Italian, Russian.
# Written with a capital: only so ("Rep. Smith", but "one more rep. Then"). An abbreviation that may as well end a
# sentence (etc., Inc., usw.) is not here: the capital or small letter after it tells.
_ABBREVIATIONS = """
    mr mrs ms dr prof st Gen Col Lt Sgt Capt Cpt Cmdr Adm Maj Rev Hon Gov Sen Rep Pres Supt Mt Ft Messrs
    vs viz cf approx
    Hr Fr Frl Nr Str bzw ca vgl evtl ggf inkl exkl zzgl geb gest sog bspw Dipl Ing Mag
    Sr Sra Srta Sres Dña Ud Uds Vd Vds Exmo Exma Dra Profa Av Gral
    Mme Mlle Mmes MM Mgr Me env
    Sig Sigg Dott Avv Arch Geom Rag Egr Spett
    ул пр просп пер пл проф акад доц см ср напр св оз пос обл тел стр рис гл тов
"""
# Words of their own, unless a number follows.
_BEFORE_NUMBER = """
    no nos nr fig figs vol p pp pg art sec ch chap eq abs bd kap tab abb núm pág págs pag ст пп
    jan feb mar apr jun jul aug sep sept oct okt nov dec dez
"""


def is_wide(char: str) -> bool:
    """Whether a character is East Asian wide: Han, kana, Hangul, full-width forms, most emoji; no blank is."""
    return char >= "\u1100" and char != "\u3000" and unicodedata.east_asian_width(char) in "WF"


def lookahead(text: str, gap: int, word: int) -> int:
    """How many characters from `text[word]` on `find_break` may look at: what must have come in before it is asked."""
    return _ITEM_LOOKAHEAD if text[word].isdigit() and "\n" in text[gap:word] else 1


def find_break(text: str, start: int, gap: int, word: int) -> Break | None:
    """The best cut in the gap `text[gap:word]`, after a word and before another one; None if it holds none.

    The place is after `gap` and at most `word`. Looks no further back than `start`, and ahead by `lookahead`.
    """
    between, left, right = text[gap:word], text[gap - 1], text[word]
    if between == " ":
        return Break(Level.SPACE, word)
    if left.isdigit() and right.isdigit() and _IN_NUMBER.fullmatch(between):
        return None
    if paragraph := _PARAGRAPH.search(between):
        return Break(Level.SENTENCE, gap + paragraph.end())
    item = _ITEM.search(text, gap, word + lookahead(text, gap, word)) if "\n" in between else None
    if item and item.end() <= word:
        return Break(Level.SENTENCE, item.end())
    return _stop_break(text, start, gap, word) or _clause_break(text, gap, word) or _space_break(text, gap, word)


def _stop_break(text: str, start: int, gap: int, word: int) -> Break | None:
    """The cut after the gap's stops; None if it has none or they stop nothing."""
    end = _END.match(text[gap:word])
    if end is None or end["rest"].startswith(_GOING_ON):
        return None
    stops = [char for char in end["stops"] if char in _STOPS]
    full = any(char in _FULL_STOPS for char in stops)
    left, right, place = text[gap - 1], text[word], gap + end.end("tail")
    if all(char in _DOTS for char in stops) and stops != ["."]:
        return Break(Level.CLAUSE, place)
    # "What?Yes" may be an address, "什么?Yes" hardly; "使用.NET" is a name.
    apart = full or is_wide(right) or end["tail"].strip(_TOGETHER) != ""
    if not apart and (stops == ["."] or not is_wide(left) or _is_lower(right)):
        return None
    if stops == ["."]:
        if not end["before"] and _is_abbreviated(text, start, gap, right):
            return None
        return Break(Level.CLAUSE if _is_lower(right) else Level.SENTENCE, place)
    closed = len(stops) < len("".join(end["stops"].split()))
    if not full and _is_lower(right) and (closed or end["rest"]):
        return Break(Level.CLAUSE, place)  # "Stop!" he said. — Что? — спросил он.
    if end["stops"][-1] in "」』" and not end["tail"] + end["rest"] and "\u3041" <= right <= "\u309f":
        return None  # 「行くぞ。」と彼は言った。
    if full and end["rest"][:1] == '"' and text.count('"', start, gap) % 2:
        place += 1  # no blank tells whether it opens or closes: the quotes before it do
    return Break(Level.SENTENCE, place)


def _clause_break(text: str, gap: int, word: int) -> Break | None:
    place = max((mark.end() for mark in _CLAUSE.finditer(text, gap, word + 1) if mark.start() < word), default=None)
    return None if place is None else Break(Level.CLAUSE, min(place, word))


def _space_break(text: str, gap: int, word: int) -> Break | None:
    for place in range(word, gap, -1):
        if text[place - 1].isspace() and text[place - 1] not in _TOGETHER:
            return Break(Level.SPACE, place)
    return None


def _is_abbreviated(text: str, start: int, gap: int, right: str) -> bool:
    """Whether the dot at `text[gap]` belongs to what is before it: an abbreviation, an initial, a number in a list."""
    found = _TOKEN.search(text[max(start, gap - _TOKEN_LOOKBACK) : gap])
    token = found[0] if found else ""
    if len(token) == 1 and token.lower() != token.upper():
        return token not in _WORDS_OF_ONE_LETTER
    if token.isdigit() and len(token) <= 2:
        return True  # 3. Oktober; on page 12. Then … is spoken in one go
    if _DOTTED.fullmatch(token) or _is_listed(token):
        return True
    if right.isdigit() and token.lower() in _BEFORE_NUMBER.split():
        return True
    first = gap - len(token)
    line = text[max(start, first - _LINE_LOOKBACK) : first]
    return bool(_ITEM_NUMBER.fullmatch(token)) and bool(_LINE_START.search(line))


def _is_listed(token: str) -> bool:
    listed = _ABBREVIATIONS.split()
    return token in listed or token.lower() in listed or (token.isupper() and token.capitalize() in listed)


def _is_lower(char: str) -> bool:
    """Whether a capital could have stood here and does not; scripts without capitals never say so."""
    return char.islower() and char.title() != char
