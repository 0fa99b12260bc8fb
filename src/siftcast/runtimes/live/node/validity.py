"""How long a certificate is good, read from its bytes.

The ssl module says that only of the certificates of others, once they are connected. Of the structure (X.509, in DER:
each value is a tag, a length, and its content) no more is read than leads to the one field:

    Certificate { TBSCertificate { [0] version, serial, algorithm, issuer, Validity { from, until }, …
"""

from __future__ import annotations

import ssl
from datetime import UTC, datetime
from pathlib import Path

_SEQUENCE, _VERSION, _UTC_TIME, _GENERALIZED_TIME = 0x30, 0xA0, 0x17, 0x18
_FORMATS = {_UTC_TIME: "%y%m%d%H%M%SZ", _GENERALIZED_TIME: "%Y%m%d%H%M%SZ"}
_BEFORE_VALIDITY = 3
BEGIN, END = "-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----"


def first_certificate(path: Path) -> bytes:
    """The first certificate of a PEM file, which is the node's own, as DER; raises OSError or ValueError."""
    text = path.read_text(encoding="ascii", errors="replace")
    return ssl.PEM_cert_to_DER_cert(text[text.index(BEGIN) : text.index(END) + len(END)])


def expiry_of(path: Path) -> datetime:
    """When the first certificate of a file expires; raises OSError or ValueError."""
    tag, certificate, _ = _read(first_certificate(path))
    inner, fields, _ = _read(certificate)
    if (tag, inner) != (_SEQUENCE, _SEQUENCE):
        raise ValueError(f"{path} holds no certificate")
    kind, _, rest = _read(fields)
    for _ in range(_BEFORE_VALIDITY - (kind != _VERSION)):
        _, _, rest = _read(rest)
    _, validity, _ = _read(rest)
    _, _, rest = _read(validity)
    kind, time, _ = _read(rest)
    return datetime.strptime(time.decode("ascii"), _FORMATS.get(kind, "no time")).replace(tzinfo=UTC)


def _read(data: bytes) -> tuple[int, bytes, bytes]:
    """The tag and the content of the first value, and what follows it; raises ValueError."""
    try:
        tag, length, start = data[0], data[1], 2
    except IndexError:
        raise ValueError("a certificate ends too early") from None
    if length & 0x80:
        start += length & 0x7F
        length = int.from_bytes(data[2:start], "big")
    if len(data) < start + length:
        raise ValueError("a certificate ends too early")
    return tag, data[start : start + length], data[start + length :]
