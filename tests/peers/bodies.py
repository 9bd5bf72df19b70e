"""bodies.py PORT CONNECTIONS SECONDS: load for large answers, as a process of its own; prints its figures as JSON.

wrk and Node read a connection again and again while there is something to read. One that the server fills as fast as it is read then
keeps the others waiting, and the kernel gives it an ever larger window: they starve in the client, whatever the server does. Here every
connection that has something gets one read in turn, into a window that stays the same. Nobody asks anew when the time is over, but each
answer that has begun is read to its end, so that the slowest are in the figures.
"""
import json
import select
import socket
import sys
import time

ASK = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
END = b"0\r\n\r\n"  # Of a chunked body; the app's own bytes are all alike and not these.
WINDOW = 1 << 20
READ = memoryview(bytearray(1 << 16))


class Client:
    def __init__(self, port):
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, WINDOW)
        self.socket.connect(("127.0.0.1", port))
        self.ask()

    def ask(self):
        self.asked, self.tail = time.monotonic(), b""
        self.socket.send(ASK)

    def read(self):
        """Whether that was the end of an answer."""
        count = self.socket.recv_into(READ)
        if count == 0 or (self.tail == b"" and READ[:12] != b"HTTP/1.1 200"):
            sys.exit("bad answer: %s" % bytes(READ[:min(count, 300)]))
        self.tail = (self.tail + bytes(READ[max(0, count - len(END)):count]))[-len(END):]
        return self.tail == END


def main(port, connections, seconds):
    poll, clients, times = select.epoll(), {}, []
    begun = time.monotonic()
    for _ in range(connections):
        c = Client(port)
        clients[c.socket.fileno()] = c
        poll.register(c.socket, select.EPOLLIN)
    while clients:
        for fd, _ in poll.poll():
            c = clients[fd]
            if not c.read():
                continue
            now = time.monotonic()
            times.append(now - c.asked)
            if now - begun < seconds:
                c.ask()
            else:
                del clients[fd]
                c.socket.close()
    times.sort()
    p99 = times[min(len(times) - 1, int(len(times) * 0.99))] * 1000
    print(json.dumps({"requests": len(times), "rps": len(times) / (time.monotonic() - begun), "p99": p99}))


main(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]))
