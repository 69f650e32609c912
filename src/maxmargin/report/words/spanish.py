"""Spanish."""

from maxmargin.report.words.english import MEASURES as _ENGLISH
from maxmargin.report.words.english import SENTENCES as _S

SENTENCES = dict(_S)
MEASURES = dict(_ENGLISH)
IN_PICTURES: dict[str, str] = {}
