"""A reply as bytes: the length of its header, the header as JSON, padding to 4 bytes, arrays as float32."""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from maxmargin.base.shown import json_value
from maxmargin.base.typing import AnyArray


@dataclass
class Reply:
    """A reply to the page: ``header`` holds JSON values, ``arrays`` numbers (NaN too), ``body`` a file."""

    header: dict[str, Any]
    arrays: dict[str, AnyArray] = field(default_factory=dict)
    body: bytes = b""


def packed(reply: Reply) -> bytes:
    """The bytes of a reply; ``arrays`` in its header lists name, offset and count."""
    parts, places, offset = [], [], 0
    for name, values in reply.arrays.items():
        data = np.ascontiguousarray(values, dtype="<f4")
        places.append([name, offset, data.size])
        parts.append(data.tobytes())
        offset += 4 * data.size
    header = json_value({**reply.header, "arrays": places, "body": [offset, len(reply.body)]})
    told = json.dumps(header, ensure_ascii=False, allow_nan=False).encode()
    told += b" " * (-len(told) % 4)
    return struct.pack("<I", len(told)) + told + b"".join(parts) + reply.body
