"""JSON that rows bring as text: it is spliced into lines as it is, so it must be JSON, and on one line.

So numbers of any length arrive as they were written. Text that is no JSON might become members of the record itself.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

import msgspec

from pyspark_aviso.row_values import RowFault

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark_aviso.row_values import Faults

_check: Final = msgspec.json.Decoder(msgspec.Raw).decode
# Line ends that JSON allows are blanks between tokens, never part of a text: elsewhere they are escaped.
_LINE_ENDS: Final = str.maketrans("\r\n", "  ")


def json_texts(texts: Sequence[str | None], field: str, faults: Faults) -> list[bytes | None]:
    """Return texts as they are spliced in; what is no JSON is a fault of its row."""
    try:
        # All rows in one go: that one of them is no JSON is rare, and then it is looked for.
        deque(map(_check, filter(None, texts)), maxlen=0)
        is_good = "" not in texts
    except (msgspec.DecodeError, RecursionError):
        is_good = False
    if not is_good:
        _blame(texts, field, faults)
    return [
        None
        if text is None
        else (text.translate(_LINE_ENDS) if "\n" in text or "\r" in text else text).encode()
        for text in texts
    ]


def _blame(texts: Sequence[str | None], field: str, faults: Faults) -> None:
    for row, text in enumerate(texts):
        if text is not None:
            try:
                _check(text)
            except msgspec.DecodeError as error:
                faults.setdefault(row, RowFault(f"the {field} is no JSON: {error}", field=field))
            except RecursionError:
                told = f"the {field} is nested too deeply to be read: flatten it"
                faults.setdefault(row, RowFault(told, field=field))
