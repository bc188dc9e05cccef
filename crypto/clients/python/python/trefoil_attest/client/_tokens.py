"""Access tokens: for some minutes they do what their API key may do, or less (OAuth 2.0 client credentials, RFC 6749 section 4.4)."""

from __future__ import annotations

import base64
import re
import threading
import time
import urllib.parse
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ._json import Answer
from ._scopes import SCOPES, Scope, listed

PATH = "/oauth2/token"
FORM = "application/x-www-form-urlencoded"
RENEWED_AFTER = 0.8
"""Part of its life after which a token is replaced by another."""


@dataclass(frozen=True)
class AccessToken:
    """A credential in place of an API key. It ends with the key, and when the service restarts."""

    text: str = field(repr=False)
    """What a `Tenant` takes as its `api_key`."""
    scopes: tuple[Scope, ...]
    expires_at: int
    """Unix seconds of this machine's clock."""


class Tokens:
    """The access token that a client sends in place of its API key. Threads share it, and one of them gets the next one."""

    def __init__(self, exchange: Callable[[], AccessToken]) -> None:
        self._exchange = exchange
        self._one = threading.Lock()
        self._token: AccessToken | None = None
        self._due = 0.0

    def text(self) -> str:
        """The token to send now."""
        with self._one:
            if self._token is None or time.time() >= self._due:
                asked = time.time()
                self._token = self._exchange()
                self._due = asked + RENEWED_AFTER * (self._token.expires_at - asked)
            return self._token.text

    def forget(self, text: str | None = None) -> None:
        """The service refuses its token, or the one with this text: the next call gets another one."""
        with self._one:
            if self._token is not None and text in (None, self._token.text):
                self._token = None


def basic(api_key: str) -> str:
    """The header that shows an API key as an OAuth client's secret. The client's name is the key's id, which the key contains."""
    named = re.fullmatch(r"trefoil_([0-9a-f]{16})_[A-Za-z0-9_-]+", api_key)
    if named is None:
        # Not shown: it may be a secret.
        raise ValueError("only an API key, as the service showed it, is exchanged for an access token; a token is not")
    return "Basic " + base64.b64encode(f"{named[1]}:{api_key}".encode()).decode()


def form(scopes: Sequence[Scope] | None) -> bytes:
    """The body of a request for a token with these scopes, or all of the key's."""
    asked = {} if scopes is None else {"scope": " ".join(listed(scopes))}
    return urllib.parse.urlencode({"grant_type": "client_credentials"} | asked).encode()


def granted(answer: Answer, asked: float) -> AccessToken:
    """The token of an answer to a request of this time."""
    scopes = answer.text("scope").split(" ")
    return AccessToken(
        text=answer.text("access_token"),
        scopes=tuple(scope for scope in SCOPES if scope in scopes),
        expires_at=int(asked) + answer.whole("expires_in"),
    )
