"""Texts in an address: deflated (RFC 1951) and in URL-safe base64 without padding, and the short names of those that
are too long for it.

Deflate alone: a dictionary of common words made addresses of 250 to 1,400 words 1 to 2 % shorter. """
import base64
import hashlib
import zlib

from model.core.limits import LIMITS

MOST_PACKED = 6_000   # characters that are read: they may hold 4.6 MB, of which no more is unpacked than may be
RAW = -15             # zlib's sign for deflate without a header


def pack(text: str) -> str | None:
    """The text as characters that stand for themselves in a URL; None for one that is too long for it, or that UTF-8
    cannot hold."""
    try:
        content = text.encode("utf-8")
    except UnicodeEncodeError:
        return None
    if len(content) > LIMITS.link_unpacked:
        return None
    deflate = zlib.compressobj(9, zlib.DEFLATED, RAW)
    packed = base64.urlsafe_b64encode(deflate.compress(content) + deflate.flush()).decode("ascii").rstrip("=")
    return packed if len(packed) <= MOST_PACKED else None


def unpack(packed: str) -> str | None:
    """The text again; None for anything that `pack` does not write, after at most LIMITS.link_unpacked bytes of it."""
    if len(packed) > MOST_PACKED:
        return None
    inflate = zlib.decompressobj(RAW)
    try:
        content = inflate.decompress(base64.b64decode(packed + "=" * (-len(packed) % 4), b"-_", validate=True),
                                     LIMITS.link_unpacked + 1)
        whole = inflate.eof and not inflate.unused_data and len(content) <= LIMITS.link_unpacked
        return content.decode("utf-8") if whole else None
    except (ValueError, zlib.error):   # a link that was cut off, or that a stranger wrote
        return None


def short_name(text: str) -> str:
    """By which an address names a text that is not in it."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
