"""Long text is cut where its sentences end, in every script, and nothing of it is lost, moved or cut too late."""

import time
from collections.abc import Iterator
from itertools import accumulate

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from qwen3_tts_ncnn.runtime.errors import OptionError
from qwen3_tts_ncnn.runtime.splitting import PIECE_LIMIT, SentenceStream, measure, sentences, split_text

quick = settings(max_examples=150, deadline=None)


def cut(text: str, limit: int = PIECE_LIMIT) -> list[str]:
    return list(sentences([text], limit=limit))


def check_sentences(marked: str) -> None:
    """Checks that a text has the sentences that `|` marks."""
    expected = marked.split("|")
    assert cut("".join(expected)) == expected


@pytest.mark.parametrize(
    "marked",
    [
        "Hello. |How are you? |Fine! |Good.",
        "One.  |Two.\t|Three.\u3000|Four.",
        "Really?! |Yes!!! |No?",
        "He said it. |(Twice.) |Then [sic]. |Done.",
        "“Stop.” |He left. |‘Why?’ |She stayed.",
        "„Komm!“ |Er ging. |»So.« |«Sí.» |Vale.",
        "Vraiment ? |Oui ! |« Oui. » |Il part.",
        "¿Qué tal? |¡Hola! |¿Y tú?",
        "Привет. |Как дела? |Это я. |Хорошо!",
        "«Да!» |Она ушла. |— Привет. |— Здравствуй.",
        "안녕하세요. |저는 학생입니다. |네. |그래요?",
        "你好。|世界！|你好吗？|好的。",
        "“他走了。”|他说。|「好。」|『是。』|（完。）|“你好！”|“走吧。”",
        "今日は晴れ。|本当？|はい。|（笑）そうですか。",
        "你好! |Next one.|然后",
        "Hello!|你好.|再见。|Hello.",
        "नमस्ते। |आप कैसे हैं? |ठीक।",
        "مرحبا. |كيف حالك؟ |بخير.",
        "Great! 🎉🎉 |Next. 👩🏽‍🚀|你好。🎉|好",
    ],
)
def test_a_sentence_ends_at_its_stop_with_what_closes_it(marked: str) -> None:
    check_sentences(marked)


@pytest.mark.parametrize(
    "sentence",
    [
        "Dr. Smith met Mrs. Jones, Prof. Lee and ST. JOHN in Mt. Vernon.",
        "J. R. R. Tolkien and J.R.R. Tolkien and J.-P. Sartre agree.",
        "The U.S. Navy came at 5 p.m. Eastern, e.g. Monday, i.e. Tuesday, with a Ph.D. Student.",
        "See Fig. 3, No. 5, p. 12 and vol. 2 on Jan. 5 or Oct. 12 vs. Them.",
        "Apples, pears etc. are fine, and Apple Inc. is too.",
        "Das ist z.B. Obst, z. B. Äpfel, d. h. Hr. Müller, Nr. 5, bzw. Frau Dr. Meier.",
        "Am 3. Oktober, im 19. Jahrhundert und im 2. Weltkrieg.",
        "El Sr. García y la Sra. López viven en la pág. 3 con Ud. Mañana.",
        "M. Dupont et Mme. Curie sont là.",
        "Il Sig. Rossi e il Dott. Bianchi.",
        "Т.е. А. С. Пушкин, ул. Ленина, г. Москва, т. д. Потом, см. Рис. 5 тут.",
    ],
)
def test_abbreviations_initials_and_ordinals_end_nothing(sentence: str) -> None:
    assert cut(sentence) == [sentence]
    assert cut(f"{sentence} Next.") == [f"{sentence} ", "Next."]


@pytest.mark.parametrize(
    "sentence",
    [
        "It is 3.14 or 1,000.50 or 10:30 or 10.30 or -.5 today.",
        "See https://example.com/a.b?c=d!e&f=g.html#Top and www.Example.Org today.",
        "Mail John.Doe@Example.com or a.b+c@x.co.uk today.",
        "Node.js and v1.2.3 and file.TXT and Yahoo!Mail and a?B.",
        "第3.5版和１２．５和12：30。",
        "使用.NET和Node.js开发。",
    ],
)
def test_numbers_times_addresses_and_names_end_nothing(sentence: str) -> None:
    assert cut(sentence) == [sentence]


@pytest.mark.parametrize(
    "marked",
    [
        "Wait... what? |Well… I think so. |All . . . right. |And... Then?",
        "我……我不知道。|好…好。|えっと…そう。",
        "He... Well.",
    ],
)
def test_ellipses_end_nothing(marked: str) -> None:
    check_sentences(marked)


@pytest.mark.parametrize(
    "marked",
    [
        '"Really?" she asked. |"Stop!" he said. |"No." |He left.',
        "„Komm!“, rief er. |„Komm!“ rief sie.",
        "«Да!» — сказал он. |— Что? — спросила она. |— Нет, — сказал он.",
        "「行くぞ。」と彼は言った。|「はい。」|「うん。」|彼は言った。",
        '他说："你好。"|然后走了。|"好。"|她说。',
        'He said "Go." and left. |The end.',
        "He came, saw, etc., and won. |So.",
    ],
)
def test_what_is_quoted_goes_with_who_says_it(marked: str) -> None:
    check_sentences(marked)


@pytest.mark.parametrize(
    "marked",
    [
        "1. First.\n|2. Second\n|3) Third\n|10. Tenth",
        "Buy:\n|- milk\n|* bread\n|• eggs",
        "Title\n\n|Text goes\non here.\n \n|more",
        "Title\r\n\r\n|Text",
        "步骤：\n|1、洗\n|2、切",
        "I. One\n\n|II. Two\n\n|1.2. Section\n\n|a. Item",
    ],
)
def test_items_and_paragraphs_end_without_a_stop(marked: str) -> None:
    check_sentences(marked)


def test_a_sentence_is_handed_out_when_the_next_one_begins() -> None:
    stream = SentenceStream()
    assert [stream.feed(char) for char in 'Hi.) "'] == [[]] * 6
    assert stream.feed("Y") == ["Hi.) "]
    assert stream.feed("es. It costs 3.") == ['"Yes. ']
    assert stream.feed("5. Now") == ["It costs 3.5. "]
    assert stream.close() == ["Now"]
    assert stream.close() == []
    assert stream.feed("Again. And") == ["Again. "]


def test_sentences_come_before_the_text_has_ended() -> None:
    def chunks() -> Iterator[str]:
        yield "One. Two"
        pytest.fail("read on, though a sentence was complete")

    assert next(sentences(chunks())) == "One. "


@pytest.mark.parametrize("text", ["", " ", "\n\n", "?", "...", "🙂", "Hello", " Hello. ", "。。。", "1."])
def test_a_text_within_the_limit_is_one_piece(text: str) -> None:
    assert split_text(text) == ([text] if text else [])


def test_short_sentences_share_a_piece() -> None:
    assert split_text("One. Two. Three. Four five six. Seven.", limit=15) == [
        "One. Two. ",
        "Three. ",
        "Four five six. ",
        "Seven.",
    ]
    assert split_text("一。二。三三三。四。", limit=12) == ["一。二。", "三三三。", "四。"]
    assert split_text("Hello. " * 100, limit=700) == ["Hello. " * 100]


def test_a_long_sentence_is_cut_after_a_clause_then_at_a_space_then_in_a_word() -> None:
    assert cut("One two three, four five six seven eight", 30) == ["One two three, ", "four five six seven eight"]
    assert cut("One two (three), “four” five six seven", 30) == ["One two (three), ", "“four” five six seven"]
    assert cut("One, two three four five six seven eight", 30) == ["One, two three four five six ", "seven eight"]
    assert cut("一二三四五，「六七八」", 20) == ["一二三四五，", "「六七八」"]
    assert cut("hello there. how are you today my friend", 30) == ["hello there. ", "how are you today my friend"]
    assert cut("one 1,000,000.50 1,000,000.50", 20) == ["one 1,000,000.50 ", "1,000,000.50"]
    assert cut("一二三四，五六七八九十", 24) == ["一二三四，", "五六七八九十"]
    assert cut("abcdefghij" * 2 + "abc", 10) == ["abcdefghij", "abcdefghij", "abc"]


def test_words_kept_together_by_their_blank_stay_together() -> None:
    assert cut("one two three four\u00a0five", 20) == ["one two three ", "four\u00a0five"]
    assert cut("Dr.\u00a0Who? Ja.\u202f") == ["Dr.\u00a0Who? ", "Ja.\u202f"]


def test_the_stop_of_a_sentence_that_just_fits_is_not_left_alone() -> None:
    assert cut("一二三四五。」六七八", 15) == ["一二三四", "五。」", "六七八"]
    assert cut("one two three.", 13) == ["one two ", "three."]
    assert cut("abcdefghij.", 10) == ["abcdefghi", "j."]


FAMILY, FLAG, WAVE, KEYCAP = "👨\u200d👩\u200d👧\u200d👦", "🇩🇪", "👋🏽", "1\ufe0f\u20e3"
ENGLAND = "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f"
CLUSTERS = [
    *("a", "字", "가", "e\u0301", "e\u0301\u0323", "か\u3099", "ｶﾞ", "กำ", "\u1100\u1161\u11a8", "क्षि", "が\ufe00"),
    *(FAMILY, FLAG, WAVE, KEYCAP, ENGLAND, "❤\ufe0f", "\ud83d\ude00", "—", "。"),
]


@quick
@given(st.lists(st.sampled_from(CLUSTERS), max_size=40), st.integers(21, 60))
def test_what_is_read_as_one_character_stays_whole(clusters: list[str], limit: int) -> None:
    edges = set(accumulate(map(len, clusters), initial=0))
    pieces = cut("".join(clusters), limit)
    assert set(accumulate(map(len, pieces), initial=0)) <= edges


def test_what_is_longer_than_the_limit_alone_is_cut_all_the_same() -> None:
    assert cut("e" + "\u0301" * 9, 5) == ["e" + "\u0301" * 4, "\u0301" * 5]
    assert cut(FAMILY, 10) == ["👨\u200d👩\u200d", "👧\u200d👦"]


def test_blanks_belong_to_the_piece_before_them_and_do_not_count_at_its_ends() -> None:
    assert cut("  one two  " + " " * 3 + "three", 7) == ["  one two     ", "three"]
    assert split_text("one" + " " * 50 + "two", limit=7) == ["one" + " " * 50, "two"]
    # A stream would hold them for ever, so there blanks alone are a piece.
    assert cut("one" + " " * 16 + "two", 7) == ["one" + " " * 7, " " * 7, "  two"]


def test_a_limit_below_one_wide_character_is_refused() -> None:
    for limit in (2, 0, -1):
        with pytest.raises(OptionError) as caught:
            split_text("", limit=limit)
        assert str(caught.value) == f"limit is {limit}, expected 3 or more (a Chinese character counts 3)"
    assert split_text("你好", limit=3) == ["你", "好"]


def test_a_wide_character_counts_three() -> None:
    assert measure("") == 0
    assert measure("abc é\u0301\n") == 7
    assert measure("你好。") == 9
    assert measure("かﾞ한\u3000Ａ") == 3 + 1 + 3 + 1 + 3


LATIN = ["Hello", "wórld", "Dr", "U.S", "e.g", "3", "14", "1990", "x.org/a?b", "I", "z.B", "é\u0301", "iPhone"]
CJK = ["你好", "世界", "さくら", "です", "と", "안녕", "ﾊﾝｶｸ", "3", "龍𠮷"]
CYRILLIC = ["Привет", "мир", "т.е", "ул", "А", "я", "5"]
GAPS = [
    *(" ", " ", " ", ". ", ".", "! ", "?", "... ", "…", ", ", "; ", " — ", "-", "\n", "\n\n", "\n- ", "\n1. "),
    *('"', '." ', "“", "”", "。", "。」", "「", "！", "，", "、", "……", "¿", "« ", " »", "(", ") "),
    *("\u00a0", " 🎉 ", FAMILY, "\u200d", "\t"),
]


def texts(*scripts: list[str]) -> st.SearchStrategy[str]:
    words = st.sampled_from([word for script in scripts for word in script])
    return st.lists(words | st.sampled_from(GAPS), max_size=60).map("".join)


ANY = (
    texts(LATIN)
    | texts(CJK)
    | texts(CYRILLIC)
    | texts(LATIN, CJK, CYRILLIC)
    | st.text(max_size=80)
    | st.text(alphabet='aB1 ."\n-。「」と你?,', max_size=80)
)


@quick
@given(ANY, st.integers(3, 60))
@example(" " * 100 + "a" + " " * 100 + "b", 3)
@example("a" + "\u0301" * 100, 3)
def test_no_piece_is_too_long_and_together_they_are_the_text(text: str, limit: int) -> None:
    for pieces in (split_text(text, limit=limit), cut(text, limit)):
        assert "".join(pieces) == text
        assert all(0 < measure(piece.strip()) <= limit or not piece.strip() for piece in pieces)
        assert all(pieces)
    if text.strip():
        assert all(piece.strip() for piece in split_text(text, limit=limit))


@quick
@given(ANY, st.integers(3, 60))
def test_a_text_is_split_only_where_it_must_be(text: str, limit: int) -> None:
    pieces = split_text(text, limit=limit)
    if measure(text.strip()) <= limit:
        assert pieces == ([text] if text else [])
    # Which sentence begins after so many visible characters: blanks may have moved to the piece before.
    whole = cut(text, limit)
    sentence_at = dict(zip(accumulate(map(visible, whole), initial=0), whole, strict=False))
    for end, piece in zip(accumulate(map(visible, pieces[:-1])), pieces, strict=False):
        assert measure((piece + sentence_at[end].lstrip()).strip()) > limit


def visible(text: str) -> int:
    return len("".join(text.split()))


@settings(max_examples=300, deadline=None)
@given(ANY, st.integers(3, 60), st.data())
def test_the_chunks_a_text_comes_in_change_nothing(text: str, limit: int, data: st.DataObject) -> None:
    expected = cut(text, limit)
    assert list(sentences(text, limit=limit)) == expected  # a character at a time
    places = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=8)))
    chunks = [text[start:end] for start, end in zip([0, *places], [*places, len(text)], strict=True)]
    assert list(sentences(chunks, limit=limit)) == expected


@pytest.mark.parametrize("char", ["a", "字", " ", "-", '"', "\u0301", ".", "。", "\n", "🇩", "\u200d", "1"])
def test_what_never_ends_is_handed_out_as_it_comes(char: str) -> None:
    stream = SentenceStream(limit=30)
    out = 0
    for count in range(1, 1001):
        out += sum(map(len, stream.feed(char)))
        assert count - out <= 2 * 30


@pytest.mark.parametrize(
    "unit",
    [
        *("a", "字", " ", '"', "a b ", "Hello. ", ". ", '."', '。"', "1. ", "\n1. a", "\n- ", "a.", "a, "),
        *(FAMILY, FLAG, "e\u0301"),
    ],
)
def test_a_hundred_thousand_characters_take_a_moment(unit: str) -> None:
    text = unit * (100_000 // len(unit))
    began = time.perf_counter()
    pieces = split_text(text)
    # 0.02 to 0.3 s on one core of 2024; what grows with the square would take minutes.
    assert time.perf_counter() - began < 5
    assert "".join(pieces) == text
    assert max(measure(piece.strip()) for piece in pieces) <= PIECE_LIMIT


def test_text_without_any_punctuation_fills_its_pieces() -> None:
    assert split_text("a" * 100_000) == ["a" * 300] * 333 + ["a" * 100]
    assert split_text("字" * 100_000) == ["字" * 100] * 1000
