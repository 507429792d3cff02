"""A language is found by its name, code or tag, and what the package does not have is refused, not replaced."""

from collections import Counter

import pytest

from qwen3_tts_ncnn.runtime.errors import ModeError
from qwen3_tts_ncnn.runtime.languages import _TABLE, find_language

OFFICIAL = [
    "chinese",
    "english",
    "german",
    "italian",
    "portuguese",
    "spanish",
    "japanese",
    "korean",
    "french",
    "russian",
]


def refusal(asked: str, languages: list[str], **named: str) -> str:
    with pytest.raises(ModeError) as caught:
        find_language(asked, languages, **named)
    return str(caught.value)


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("chinese", "chinese zh zho chi cmn zh-CN zh-TW zh-HK zh-Hans zh-Hans-CN zh-cmn zh-cmn-Hans-CN cmn-CN zh_CN"),
        ("english", "english en eng en-US en-GB en_us en-029 en-GB-oed en-US-u-co-phonebk en_US.UTF-8"),
        ("german", "german de deu ger de-AT de-CH-1996 de_DE@euro de_DE.ISO-8859-1@euro"),
        ("italian", "italian it ita it-IT"),
        ("portuguese", "portuguese pt por pt-BR pt-PT"),
        ("spanish", "spanish es spa es-419 es-MX"),
        ("japanese", "japanese ja jpn ja_JP ja-Jpan-JP"),
        ("korean", "korean ko kor ko-KR"),
        ("french", "french fr fra fre fr-CA"),
        ("russian", "russian ru rus ru-RU"),
    ],
)
def test_every_official_language_is_found_by_name_code_and_tag_in_any_case(written: str, name: str) -> None:
    for asked in name.split():
        for spelled in (asked, asked.upper(), asked.lower(), asked.title()):
            assert find_language(spelled, OFFICIAL) == written, spelled


@pytest.mark.parametrize("asked", [None, "", "auto", "AUTO", "Auto"])
def test_no_language_and_auto_let_the_model_decide(asked: str | None) -> None:
    assert find_language(asked, OFFICIAL) is None
    assert find_language(asked, []) is None


@pytest.mark.parametrize("asked", ["yue", "zh-yue", "zh-yue-HK", "yue-Hant-HK", "zh_YUE"])
def test_cantonese_never_becomes_mandarin(asked: str) -> None:
    assert refusal(asked, ["chinese"]) == (
        f"the package has no language {asked!r} (cantonese): "
        "choose one of auto, chinese (zh), by name, code or BCP-47 tag"
    )
    assert find_language(asked, ["chinese", "cantonese"]) == "cantonese"


@pytest.mark.parametrize("asked", ["zh-wuu", "wuu", "zh-nan", "nan-Hant-TW", "zh-hak", "zh-gan"])
def test_other_chinese_languages_never_become_mandarin(asked: str) -> None:
    assert f"no language {asked!r}: choose" in refusal(asked, OFFICIAL)


@pytest.mark.parametrize(
    "asked",
    [
        *("klingon", "tlh", "xx", "e", "english ", " en", "en us", "en-", "-en", "en--US", "en-toolongsubtag", "en/US"),
        *(
            "beijing_dialect",
            "sichuan_dialect",
            "Sichuan_Dialect",
            "english-US",
            "С",
            "zho\n",
            "e\u0301n",
            "mul",
            "en\0",
        ),
    ],
)
def test_an_unknown_language_and_a_dialect_list_the_valid_ones(asked: str) -> None:
    assert refusal(asked, ["chinese", "english"], package="little-fp32") == (
        f"little-fp32 has no language {asked!r}: "
        "choose one of auto, chinese (zh), english (en), by name, code or BCP-47 tag"
    )


def test_a_known_language_the_package_lacks_is_named_in_english() -> None:
    assert refusal("sv-SE", ["Klingon", "nl"]) == (
        "the package has no language 'sv-SE' (swedish): choose one of auto, Klingon, nl, by name, code or BCP-47 tag"
    )
    assert refusal("swedish", []) == (
        "the package has no language 'swedish': choose one of auto, by name, code or BCP-47 tag"
    )


def test_a_fine_tune_s_own_languages_are_found() -> None:
    own = ["Klingon", "nl", "tlh", "Dutch_Old", "English"]
    assert find_language("KLINGON", own) == "Klingon"
    assert find_language("dutch_old", own) == "Dutch_Old"
    assert find_language("en-AU", own) == "English"
    # A package that calls a language by its code is understood by name and tag too, known to the table or not.
    for asked in ("nl", "NL", "dutch", "dut", "nl-BE"):
        assert find_language(asked, own) == "nl"
    for asked in ("tlh", "TLH-Piqd"):
        assert find_language(asked, own) == "tlh"


def test_a_name_of_the_package_means_itself_before_anything_else() -> None:
    assert find_language("mandarin", ["chinese", "mandarin"]) == "mandarin"
    assert find_language("zh", ["mandarin", "chinese"]) == "chinese"
    assert find_language("zh", ["chinese", "zh"]) == "zh"
    assert [find_language(asked, ["en", "EN"]) for asked in ("en", "EN", "En")] == ["en", "EN", "en"]


def test_the_table_gives_every_word_one_meaning() -> None:
    words = Counter(_TABLE.split())
    assert [word for word, times in words.items() if times > 1] == []
    assert all(word.isascii() and word.islower() for word in words)
