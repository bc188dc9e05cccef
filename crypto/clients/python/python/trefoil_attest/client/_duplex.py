"""A TLS connection over which one thread sends while another receives."""

from __future__ import annotations

import io
import socket
import ssl
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

RECEIVED_BYTES = 1 << 16


class Duplex(io.RawIOBase):
    """OpenSSL allows one call at a time for a connection, and a call for receiving may last. So encryption is apart from the socket, and
    its lock is not held while the network is awaited."""

    def __init__(self, connected: socket.socket, context: ssl.SSLContext, host: str) -> None:
        """Does the handshake on a connected socket, whose timeout counts from now on."""
        self._socket = connected
        self._received, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._received, self._outgoing, server_hostname=host)
        self._one = threading.Lock()
        self.may_wait: Callable[[], bool] = lambda: False
        """Whether a timeout is no fault, because nothing was to be received."""
        self._handshake()

    def _handshake(self) -> None:
        while True:
            try:
                self._tls.do_handshake()
            except ssl.SSLWantReadError:
                self._socket.sendall(self._outgoing.read())
                self._receive()
            else:
                return self._socket.sendall(self._outgoing.read())

    def sendall(self, data: bytes) -> None:
        """Sends all of it. One thread at a time may call this."""
        with self._one:
            self._tls.write(data)
            encrypted = self._outgoing.read()
        self._socket.sendall(encrypted)

    def makefile(self, mode: str) -> io.BufferedReader:
        """What `http.client` reads an answer from."""
        return io.BufferedReader(self)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        view = memoryview(buffer).cast("B")
        while (data := self._decrypted(len(view))) is None:
            self._receive()
        view[: len(data)] = data
        return len(data)

    def _decrypted(self, length: int) -> bytes | None:
        """Up to this many bytes, none at the end, or `None` where more must be received first."""
        with self._one:
            try:
                return self._tls.read(length)
            except ssl.SSLWantReadError:
                return None
            # The end without a word. A body says itself whether it is complete.
            except (ssl.SSLEOFError, ssl.SSLZeroReturnError):
                return b""

    def _receive(self) -> None:
        while True:
            try:
                data = self._socket.recv(RECEIVED_BYTES)
                break
            except TimeoutError:
                if not self.may_wait():
                    raise
        with self._one:
            if data:
                self._received.write(data)
            else:
                self._received.write_eof()

    def close(self) -> None:
        """Ends the connection, also for a thread that waits for it."""
        if not self.closed:
            try:
                self._socket.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            self._socket.close()
        super().close()
