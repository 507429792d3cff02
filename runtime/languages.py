"""What a user calls a language → what the package calls it: names, ISO 639 codes and BCP-47 tags, in any case.

The languages are the package's own (a fine-tune may have others than the official ten); the table below only knows what
else each of them is called. A language that is not in the table is found by its name all the same.

Two decisions. A region or a script never chooses the language: pt-BR is portuguese, zh-TW and zh-HK are chinese. And
Cantonese (yue, zh-yue) and the other Chinese languages with a code of their own are not the package's chinese, which is
Mandarin: they are refused unless the package has them, rather than spoken in another language without a word.
"""

import re
from collections.abc import Collection

from qwen3_tts_ncnn.runtime.errors import ModeError

AUTO = "auto"

# English name, then what else it is called: ISO 639-1, 639-3, 639-2/B, withdrawn codes, other names.
_TABLE = """
afrikaans af afr
albanian sq sqi alb
amharic am amh
arabic ar ara arb
armenian hy hye arm
azerbaijani az aze azj
basque eu eus baq
belarusian be bel
bengali bn ben bangla
bosnian bs bos
bulgarian bg bul
burmese my mya bur
cantonese yue
catalan ca cat
chinese zh zho chi cmn mandarin
croatian hr hrv
czech cs ces cze
danish da dan
dutch nl nld dut
english en eng
esperanto eo epo
estonian et est ekk
filipino fil
finnish fi fin
french fr fra fre
galician gl glg
georgian ka kat geo
german de deu ger
greek el ell gre
gujarati gu guj
hebrew he heb iw
hindi hi hin
hungarian hu hun
icelandic is isl ice
indonesian id ind in
irish ga gle
italian it ita
japanese ja jpn
javanese jv jav
kannada kn kan
kazakh kk kaz
khmer km khm
korean ko kor
kurdish ku kur
lao lo
latin la lat
latvian lv lav lvs
lithuanian lt lit
macedonian mk mkd mac
malay ms msa may zsm
malayalam ml mal
maltese mt mlt
marathi mr mar
mongolian mn mon
nepali ne nep npi
norwegian no nor nb nob nn nno
pashto ps pus
persian fa fas per pes farsi
polish pl pol
portuguese pt por
punjabi pa pan
romanian ro ron rum
russian ru rus
serbian sr srp
sinhala si sin
slovak sk slk slo
slovenian sl slv
somali so som
spanish es spa castilian
swahili sw swa swh
swedish sv swe
tagalog tl tgl
tamil ta tam
telugu te tel
thai th tha
turkish tr tur
ukrainian uk ukr
urdu ur urd
uzbek uz uzb uzn
vietnamese vi vie
welsh cy cym wel
yoruba yo yor
zulu zu zul
"""

# A tag's language is its first subtag; then come a language of a macrolanguage ("zh-yue"), script, region, variants.
# An encoding or a modifier may end what a POSIX locale says: ja_JP.UTF-8, de_DE@euro.
_TAG = re.compile(r"([a-z]{2,3})(?:[-_]([a-z]{3}))?((?:[-_][a-z0-9]{1,8})*)(?:\.[\w-]+)?(?:@\w+)?", re.ASCII)


def find_language(asked: str | None, languages: Collection[str], *, package: str = "the package") -> str | None:
    """The name in `languages` of the language a user asked for; None lets the model decide.

    `asked` is a name in `languages` ("english"), an ISO 639 code ("en", "eng") or a BCP-47 tag ("en-US", "zh_Hans_CN"),
    in any case; "auto", "" and None are automatic. A name in `languages` always means itself.
    Raises `ModeError`, listing `languages` and their codes, for a language that is not there; `package` is what the
    error calls the package. A dialect is no language to ask for: its speaker speaks it.
    """
    if not asked or asked.casefold() == AUTO:
        return None
    by_name = {name.casefold(): name for name in reversed(list(languages))}
    if asked in languages:
        return asked
    if asked.casefold() in by_name:
        return by_name[asked.casefold()]
    names = _names_of(asked.casefold())
    for name in names:
        if name in by_name:
            return by_name[name]
    meaning = f" ({names[0]})" if len(names) > 1 and names[0] != asked.casefold() else ""
    choices = ", ".join([AUTO, *map(_with_code, languages)])
    raise ModeError(
        f"{package} has no language {asked!r}{meaning}: choose one of {choices}, by name, code or BCP-47 tag"
    )


def _names_of(asked: str) -> list[str]:
    """All that the language is called which `asked`, a casefolded name, code or tag, is about; none for neither."""
    if row := _row(asked):
        return row
    tag = _TAG.fullmatch(asked)
    if tag is None:
        return []
    # "zh-yue" means what "yue" means (RFC 5646, section 4.1.2).
    code = tag[2] or tag[1]
    return _row(code) or [code]


def _row(word: str) -> list[str]:
    """The table's row that a word is in; none for a word it does not know."""
    return next((row for row in map(str.split, _TABLE.strip().splitlines()) if word in row), [])


def _with_code(language: str) -> str:
    row = _row(language.casefold())
    return f"{language} ({row[1]})" if row and row[1] != language.casefold() else language
