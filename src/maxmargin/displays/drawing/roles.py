"""Which colour means what in pictures of two classes."""

from maxmargin.displays.drawing.style import GREY, OKABE_ITO

NEGATIVE, POSITIVE, NEUTRAL = OKABE_ITO[0], OKABE_ITO[5], GREY
READING = {
    "useless": GREY,
    "weak": OKABE_ITO[4],
    "medium": OKABE_ITO[0],
    "strong": OKABE_ITO[2],
    "suspicious": OKABE_ITO[5],
}
