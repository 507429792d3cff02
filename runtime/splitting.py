"""Long text, and text still coming in, cut into pieces that can be spoken one after the other.

Length is measured in characters, an East Asian wide one (Han, kana, Hangul, full-width forms) counting `WIDE`: so
measured, speech in all ten languages runs at 16 to 27 a second (the first article of the Declaration of Human Rights
at each language's average pace), where by plain characters Chinese takes three times as long as English.

Nothing is lost, added or reordered: the pieces joined are the text, blanks included. A blank belongs to the piece
before it and does not count at a piece's ends, where whoever speaks it strips it off.
"""

from collections.abc import Iterable, Iterator

from qwen3_tts_ncnn.runtime.errors import OptionError
from qwen3_tts_ncnn.runtime.graphemes import is_boundary, is_joined
from qwen3_tts_ncnn.runtime.sentence_ends import Break, Level, find_break, is_wide, lookahead

WIDE = 3

PIECE_LIMIT = 300
"""The longest piece by default, 15 to 20 seconds of speech."""

# A comma is a better cut than a later space, unless it leaves a piece shorter than this part of the longest.
_SHORTEST_CLAUSE = 1 / 3

# Stops, quotes and brackets that may end a sentence together: 」……」。
_LONGEST_CLOSING = 8


def measure(text: str) -> int:
    """The length of a text: its characters, a wide one counting `WIDE`."""
    return len(text) + (WIDE - 1) * sum(map(is_wide, text))


def split_text(text: str, *, limit: int = PIECE_LIMIT) -> list[str]:
    """Pieces of whole sentences, as many to a piece as `limit` holds; a longer one is cut as `SentenceStream` does.

    `"".join(pieces) == text`, and `measure(piece.strip()) <= limit` for every piece. No piece is blank unless the text
    is; no text, no pieces. Raises `OptionError` for a limit below `WIDE`.
    """
    pieces, room, begun = [""], limit, False
    for sentence in sentences([text], limit=limit):
        body = sentence.lstrip()
        blanks = len(sentence) - len(body)
        pieces[-1] += sentence[:blanks]
        room -= blanks if begun else 0
        if body and begun and measure(body.rstrip()) > room:
            pieces.append("")
            room = limit
        pieces[-1] += body
        room -= measure(body)
        begun = begun or body != ""
    return pieces if text else []


def sentences(chunks: Iterable[str], *, limit: int = PIECE_LIMIT) -> Iterator[str]:
    """The sentences of a text that comes in chunks, each as soon as it is complete; see `SentenceStream`."""
    stream = SentenceStream(limit=limit)
    for chunk in chunks:
        yield from stream.feed(chunk)
    yield from stream.close()


class SentenceStream:
    """Text in, in chunks of any size, sentences out, the same whatever the chunks.

    A sentence is complete when the next one begins: its first letter or digit tells an end from an abbreviation.
    A sentence longer than `limit` is cut: after a clause, else at a blank, else between two letters, else anywhere, and
    never within what is read as one character unless that alone is longer. So no more than a sentence, one run of
    blanks, and a few characters are ever held.

    The sentences joined are the text, and `measure(sentence.strip()) <= limit`. None is blank, except where more than
    `limit` blanks follow each other: they are cut too.
    """

    def __init__(self, *, limit: int = PIECE_LIMIT) -> None:
        """Raises `OptionError` for a limit below `WIDE`."""
        if limit < WIDE:
            raise OptionError(f"limit is {limit}, expected {WIDE} or more (a Chinese character counts {WIDE})")
        self._limit = limit
        self._text = ""
        self._begin(0)

    def feed(self, text: str) -> list[str]:
        """Takes the next chunk; returns the sentences it completes, often none."""
        self._text += text
        return self._take(closed=False)

    def close(self) -> list[str]:
        """Ends the text; returns what is left of it. The stream may then take another text."""
        pieces = [*self._take(closed=True), self._text]
        self._text = ""
        self._begin(0)
        return [piece for piece in pieces if piece]

    def _begin(self, start: int) -> None:
        """Starts a piece at `text[start]`."""
        self._start = self._at = start
        self._gap: int | None = start  # where the gap before `at` begins; None within a word
        self._length = 0  # measure of what was read, blanks at both ends left out
        self._blanks = 0  # in a row, up to `at`
        self._clause: int | None = None
        self._space: int | None = None

    def _take(self, *, closed: bool) -> list[str]:
        pieces = []
        while (cut := self._next_cut(closed)) is not None:
            pieces.append(self._text[self._start : cut])
            self._begin(cut)
        self._forget(self._start)
        return pieces

    def _forget(self, count: int) -> None:
        """Drops the first characters of the text; all places move."""
        self._text = self._text[count:]
        self._start -= count
        self._at -= count
        self._gap = None if self._gap is None else self._gap - count
        self._clause = None if self._clause is None else self._clause - count
        self._space = None if self._space is None else self._space - count

    def _next_cut(self, closed: bool) -> int | None:
        """Reads on to the next cut; None when all that came in is read, or when more must come in to tell."""
        text = self._text
        while self._at < len(text):
            char = text[self._at]
            if char.isalnum() or (self._gap is None and is_joined(char)):
                if self._gap is not None:
                    if len(text) < self._at + lookahead(text, self._gap, self._at) and not closed:
                        return None
                    if (cut := self._sentence_end()) is not None:
                        return cut
                    self._gap = None
            elif self._gap is None:
                self._gap = self._at
            if (cut := self._count(char)) is not None:
                return cut
            self._at += 1
        return None

    def _count(self, char: str) -> int | None:
        """Measures the next character; a cut if the piece has no room for it."""
        if char.isspace():
            self._blanks += 1
            return self._at if self._blanks > self._limit else None
        length = self._length + (WIDE if is_wide(char) else 1) + (self._blanks if self._length else 0)
        if length > self._limit:
            return self._forced_cut()
        self._length, self._blanks = length, 0
        return None

    def _sentence_end(self) -> int | None:
        """Judges the gap before `at`: where a sentence ends in it, or None, with lesser breaks kept in mind."""
        if self._gap is None or self._gap == self._start:
            return None  # nothing was said before it
        match find_break(self._text, self._start, self._gap, self._at):
            case Break(Level.SENTENCE, place):
                return place
            case Break(Level.CLAUSE, place):
                self._clause = self._space = place
            case Break(Level.SPACE, place):
                self._space = place
        return None

    def _forced_cut(self) -> int:
        """The best cut of `text[start:at]`, which is as long as a piece may be."""
        sentence = self._sentence_end()
        shortest = self._start + (self._at - self._start) * _SHORTEST_CLAUSE
        clause = None if self._clause is None or self._clause < shortest else self._clause
        for cut in (sentence, clause, self._space):
            # An emoji that goes with the sentence may go on where there is no more room.
            if cut is not None and is_boundary(self._text, cut, self._start):
                return cut
        return self._cut_within_a_word()

    def _cut_within_a_word(self) -> int:
        """The last place between two characters; before a letter, if one is near, lest a stop be left alone."""
        places = range(self._at, self._start, -1)
        last = next((place for place in places if is_boundary(self._text, place, self._start)), self._at)
        for place in range(last, max(self._start, last - _LONGEST_CLOSING), -1):
            if self._text[place].isalnum() and is_boundary(self._text, place, self._start):
                return place
        return last
