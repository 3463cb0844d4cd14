"""A client of hapticd on python-osc that asks and waits for the answer. Used by the other scripts here."""

import time

from pythonosc.udp_client import SimpleUDPClient

# How long an answer may take before the script gives up, s. Generous: it is no measure of speed.
PATIENCE_S = 30.0


class Talk:
    """One socket: what is sent from it is answered to it."""

    def __init__(self, port):
        self.client = SimpleUDPClient("127.0.0.1", port)
        # Everything heard so far, oldest first, as (address, arguments).
        self.heard = []

    def send(self, address, *arguments):
        self.client.send_message(address, list(arguments))

    def listen(self, seconds):
        """Hears everything for this long."""
        end = time.monotonic() + seconds
        start = len(self.heard)
        while (left := end - time.monotonic()) > 0:
            self._take(left)
        return self.heard[start:]

    def wait(self, wanted, what):
        """Hears until `wanted(address, arguments)`, and returns those arguments."""
        end = time.monotonic() + PATIENCE_S
        while (left := end - time.monotonic()) > 0:
            message = self._take(left)
            if message and wanted(*message):
                return message[1]
        raise SystemExit(f"no {what} within {PATIENCE_S} s; the last heard: {self.heard[-10:]}")

    def ask(self, address, *arguments, answer=None):
        """Sends without a word about `done`; returns what comes at `answer`, or at the address itself."""
        self.send(address, *arguments)
        expected = answer or address
        return self.wait(lambda heard, _: heard == expected, expected)

    def do(self, address, *arguments):
        """Sends, and returns what `done` says beyond the address. A refusal ends the script."""
        outcome, rest = self._outcome(address, arguments)
        expect(outcome == "/hapticd/done", f"{address} {arguments} was refused: {rest}")
        return rest

    def refused(self, address, *arguments, code):
        """Sends what must be refused with this code; returns the reason in words."""
        outcome, rest = self._outcome(address, arguments)
        expect(outcome == "/hapticd/fail", f"{address} {arguments} was done: {rest}")
        expect(rest[0] == code, f"{address} {arguments} was refused with {rest}, not {code}")
        expect(len(rest[1]) > 10, f"{address} {arguments} was refused without a reason: {rest}")
        return rest[1]

    def insist(self, address, *arguments):
        """As `do`, but asks again while it is refused for the state things are in."""
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            kind, rest = self._outcome(address, arguments)
            if kind.endswith("/done"):
                return rest
            expect(rest[0] == 409, f"{address} {arguments} was refused: {rest}")
            self.listen(0.1)
        raise SystemExit(f"{address} {arguments} was refused for {PATIENCE_S} s")

    def _outcome(self, address, arguments):
        self.send(address, *arguments)
        return self.outcome(address)

    def outcome(self, address):
        """Waits for the `done` or `fail` of something sent before."""
        found = []

        def wanted(heard, rest):
            if heard in ("/hapticd/done", "/hapticd/fail") and rest[0] == address:
                found.append(heard)
                return True
            return False

        rest = self.wait(wanted, f"done or fail for {address}")
        return found[0], rest[1:]

    def _take(self, seconds):
        message = next(self.client.get_messages(max(seconds, 0.001)), None)
        if message is None:
            return None
        self.heard.append((message.address, list(message)))
        return self.heard[-1]


def expect(condition, otherwise):
    """Ends the script with what went wrong."""
    if not condition:
        raise SystemExit(otherwise)
