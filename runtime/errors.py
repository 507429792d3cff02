"""What can go wrong by a user's hand: one family of exceptions, each with one clear line.

A message says what was found, what was expected and what to do about it. The command line prints it without a
traceback and exits with 2; a program catches `TTSError`.
"""


class TTSError(Exception):
    """Base of every error a user can cause, in any room of the project."""


class PackageError(TTSError):
    """A package folder is missing, incomplete, changed, or of a format this version does not read."""


class ModeError(TTSError):
    """What was asked does not fit the package: a voice, speaker, language or instruction it cannot serve."""


class TextError(TTSError):
    """A text that cannot be spoken: empty, blank, or not valid Unicode."""


class OptionError(TTSError):
    """An option's value is outside what it accepts."""


class OutputError(TTSError):
    """A result cannot be written where it was asked for."""


class AudioError(TTSError):
    """A reference recording that cannot be read, or that no voice can be cloned from."""


class FormatError(TTSError):
    """Codes, or a `.rvq`, `.voice`, `.spk` or `.param` file, are not what their format says."""


class NumericalError(TTSError):
    """The model's numbers broke down: its logits hold NaN or infinity, so that no code can be chosen."""


class DeviceError(TTSError):
    """A GPU that is not there, or cannot take what was placed on it; or nothing to reach one with."""
