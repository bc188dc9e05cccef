"""A way to a service that can be cut: bytes pass through it as they are."""

import socket
import threading


class Proxy:
    """Listens on a free port, and passes on what comes until it is told otherwise."""

    def __init__(self, url: str) -> None:
        host, port = url.removeprefix("https://").split(":")
        self._there = (host, int(port))
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"https://127.0.0.1:{self._listener.getsockname()[1]}"
        self._sockets: list[socket.socket] = []
        self.answers = threading.Event()
        """While it is not set, answers are held back."""
        self.answers.set()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            far = socket.create_connection(self._there)
            self._sockets += [near, far]
            always = threading.Event()
            always.set()
            threading.Thread(target=pass_on, args=(near, far, always), daemon=True).start()
            threading.Thread(target=pass_on, args=(far, near, self.answers), daemon=True).start()

    def cut(self) -> None:
        """Ends all connections."""
        for one in self._sockets:
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        self.answers.set()

    def close(self) -> None:
        # A thread that waits in `accept` would keep a closed one open.
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.cut()


def pass_on(source: socket.socket, sink: socket.socket, allowed: threading.Event) -> None:
    try:
        while data := source.recv(1 << 16):
            allowed.wait()
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        pass
