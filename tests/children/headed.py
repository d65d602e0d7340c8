"""A child that speaks Content-Length: answers each request with its params, and says what it is told to get wrong.

    headed.py [characters] [log]

`characters`: its headers count characters; `log`: a line of text stands between its messages.
"""

import json
import sys

said = sys.argv[1:]
stdin, stdout = sys.stdin.buffer, sys.stdout.buffer


def say(value):
    text = json.dumps(value, ensure_ascii=False)
    body = text.encode()
    length = len(text) if "characters" in said else len(body)
    if "log" in said:
        stdout.write(b"working\n")
    stdout.write(b"Content-Length: %d\r\n\r\n" % length + body)
    stdout.flush()


while head := stdin.readline():
    length = 0
    while head.strip():
        name, _, value = head.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
        head = stdin.readline()
    message = json.loads(stdin.read(length))
    if "id" in message:
        say({"jsonrpc": "2.0", "id": message["id"], "result": message.get("params")})
