# moto_server, a request at a time: it checks a condition and writes without a lock between, so on a busy
# machine two of racing writes win, and a read beside an overwrite is answered 500. Bodies are read before
# the lock is taken.
import io
import threading

import moto.server as server


class OneAtATime:
    def __init__(self, app):
        self.app, self.lock = app, threading.Lock()

    def __call__(self, environ, start_response):
        length = environ.get("CONTENT_LENGTH")
        if length:
            environ["wsgi.input"] = io.BytesIO(environ["wsgi.input"].read(int(length)))
        with self.lock:
            answer = self.app(environ, start_response)
            try:
                return [b"".join(answer)]
            finally:
                getattr(answer, "close", lambda: None)()


run = server.run_simple
server.run_simple = lambda host, port, app, **options: run(host, port, OneAtATime(app), **options)
server.main()
