"""Sealing: authenticated encryption of text with a key that scrypt derives from a passphrase.

Sealed case files (`pytest_llmkg.cases.sealed`) and sealed lines of run files (`pytest_llmkg.store`) are two layouts
of what is here: AES-256-GCM with a random 96-bit nonce (NIST SP 800-38D) and scrypt (RFC 7914). What must be known to
open something, its `Lock`, stands in clear beside it.
"""

from __future__ import annotations

import functools
import hashlib
import os
from base64 import b64decode, b64encode
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from pytest_llmkg.errors import UserError

__all__ = [
    "CANARY",
    "KEY_FILE_VARIABLE",
    "KEY_VARIABLE",
    "PUBLIC",
    "PUBLIC_KEY",
    "Cipher",
    "Lock",
    "SealKey",
    "new_cipher",
    "open_lock",
    "private_key",
]

CANARY = "llmkg canary 9cd49503-8b93-4015-acb8-a130da20ff86: benchmark data, must not be in training data"
"""Stands in every case file, plain or sealed: who finds it in a corpus, or in a model's output, has found a leak."""

PUBLIC_KEY = "pytest-llmkg-public-b4484e38250ff825"
"""Passphrase of this project's own curated cases. Not a secret: it is a hurdle for crawlers, which collect text but
do not decrypt it, as in LLM-KG-Bench. Files sealed with it open without an extra step; whoever wants secrecy seals
with a passphrase of their own."""

KEY_VARIABLE = "LLMKG_CASES_KEY"
KEY_FILE_VARIABLE = "LLMKG_CASES_KEY_FILE"

_COST = 2**15
_BLOCK = 8
_WORK_LIMIT = 2**21
"""Largest n*r*p that is derived: 8 times our own cost, at most 256 MiB, so that no header can eat the machine."""

_SALT_BYTES = 16
_NONCE_BYTES = 12


@dataclass(frozen=True, slots=True)
class SealKey:
    """A passphrase; ``name`` says whether everybody knows it, ``origin`` where it was found."""

    name: Literal["public", "private"]
    passphrase: str = field(repr=False)
    origin: str


PUBLIC = SealKey("public", PUBLIC_KEY, "the public key")


@dataclass(frozen=True, slots=True)
class Lock:
    """What stands in clear beside sealed text.

    Attributes:
        key: ``public`` for `PUBLIC_KEY`, else ``private``.
        key_id: 8 hexadecimal digits of a hash of the derived key, to tell a wrong key from changed text.
        n, r, p: cost, block size and parallelisation of scrypt.
        salt: 16 bytes, base64.
    """

    key: Literal["public", "private"]
    key_id: str
    n: int
    r: int
    p: int
    salt: str


@dataclass(frozen=True, slots=True)
class Cipher:
    """A lock with its derived key: seals and opens any number of texts."""

    lock: Lock
    secret: bytes = field(repr=False)

    def seal(self, text: bytes, bound: bytes) -> bytes:
        """``text`` encrypted, the fresh nonce before it; ``bound`` is authenticated with it but not held by it."""
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        nonce = os.urandom(_NONCE_BYTES)
        return nonce + AESGCM(self.secret).encrypt(nonce, text, bound)

    def open(self, sealed: bytes, bound: bytes) -> bytes:
        """The text that `seal` was given.

        Raises:
            UserError: a byte of ``sealed`` or ``bound`` is not as it was sealed.
        """
        from cryptography.exceptions import InvalidTag
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        nonce, rest = sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:]
        try:
            return AESGCM(self.secret).decrypt(nonce, rest, bound)
        except (InvalidTag, ValueError) as error:  # ValueError: too short for a nonce
            raise UserError("was changed or damaged after it was sealed; restore it") from error


def new_cipher(key: SealKey, *, cost: int = _COST) -> Cipher:
    """A cipher with a fresh salt; ``cost`` is scrypt's n, a power of 2."""
    salt = os.urandom(_SALT_BYTES)
    secret = _derive(key.passphrase, cost, _BLOCK, 1, salt)
    return Cipher(Lock(key.name, _key_id(secret), cost, _BLOCK, 1, b64encode(salt).decode("ascii")), secret)


def open_lock(lock: Lock, private: SealKey | None) -> Cipher:
    """The cipher of ``lock``, with the public key or with ``private``, whichever it asks for.

    Raises:
        UserError: the private key is wanted but missing or another one, or the lock's numbers are out of bounds.
    """
    salt = _salt(lock.salt)
    # RFC 7914: a power of 2 below 2 to the 16 r.
    if not (lock.r >= 1 and lock.p >= 1 and lock.n.bit_count() == 1 and 1 < lock.n < 1 << 16 * min(lock.r, 64)):
        raise UserError("its header holds scrypt parameters that cannot be; it was changed or damaged, restore it")
    if lock.n * lock.r * lock.p > _WORK_LIMIT:
        raise UserError(f"its header asks for more than {_WORK_LIMIT} scrypt blocks; it was changed, restore it")
    key = PUBLIC if lock.key == "public" else private
    if key is None:
        raise UserError(f"is sealed with a private key; set {KEY_VARIABLE} or {KEY_FILE_VARIABLE} to that key")
    secret = _derive(key.passphrase, lock.n, lock.r, lock.p, salt)
    if _key_id(secret) == lock.key_id:
        return Cipher(lock, secret)
    if lock.key == "public":
        raise UserError("the public key does not open it, so its header was changed or damaged; restore it")
    raise UserError(f"is sealed with another key than the one in {key.origin} (or its header was changed)")


def private_key(key_file: Path | None = None) -> SealKey | None:
    """The user's own key: of ``key_file``, else of LLMKG_CASES_KEY, else of the file LLMKG_CASES_KEY_FILE; or None.

    A key file holds the passphrase as UTF-8 text; line ends at its end do not count.

    Raises:
        UserError: a key file that cannot be read or is empty.
    """
    passphrase = os.environ.get(KEY_VARIABLE)
    if key_file is None and passphrase:
        return SealKey("private", passphrase, KEY_VARIABLE)
    named = os.environ.get(KEY_FILE_VARIABLE)
    path = key_file or (Path(named) if named else None)
    if path is None:
        return None
    try:
        passphrase = path.read_text(encoding="utf-8").rstrip("\r\n")
    except OSError as error:
        raise UserError(f"{path}: the key file cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: the key file is not UTF-8 text") from error
    if not passphrase:
        raise UserError(f"{path}: the key file is empty; write the passphrase into it")
    return SealKey("private", passphrase, f"the key file {path}")


def _salt(text: str) -> bytes:
    try:
        salt = b64decode(text, validate=True)
    except ValueError:
        salt = b""
    if len(salt) != _SALT_BYTES:
        raise UserError(f"its header has no salt of {_SALT_BYTES} bytes; it was changed or damaged, restore it")
    return salt


# Scrypt is slow on purpose; all files of a suite share a salt, so that each process pays once.
@functools.lru_cache(maxsize=64)
def _derive(passphrase: str, n: int, r: int, p: int, salt: bytes) -> bytes:
    from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

    # The environment may hold bytes that are no UTF-8; Python hands them over as lone surrogates.
    return Scrypt(salt=salt, length=32, n=n, r=r, p=p).derive(passphrase.encode("utf-8", "surrogateescape"))


def _key_id(secret: bytes) -> str:
    return hashlib.sha256(b"llmkg key id\n" + secret).hexdigest()[:8]
