"""The checksum that ends each line of `samples.jsonl`: `...,"crc32":1234567890}`, over the bytes before the comma.

CRC-32 of IEEE 802.3 (ISO 3309, as in zlib), which detects every change within up to 32 consecutive bits.
"""

import re
import zlib

_END = re.compile(rb',"crc32":(\d+)}\s*$')


def with_checksum(line: bytes) -> bytes:
    """Return a line, a JSON object, with its checksum as the last key."""
    body = line.removesuffix(b"}")
    return body + b',"crc32":%d}' % zlib.crc32(body)


def check(line: bytes) -> None:
    """Raise ValueError if a line is not what was written.

    A line without a checksum, of an earlier version, passes.
    """
    end = _END.search(line)
    if end is None:
        return
    body = line[: end.start()]
    written, now = int(end[1]), zlib.crc32(body)
    if written != now:
        raise ValueError(f"the line has changed since it was written: its crc32 is {written} and must be {now}")
