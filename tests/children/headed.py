"""A child that speaks Content-Length: answers each request with its params, and says what it is told to get wrong.

    headed.py [WORD...]

Of its headers: `characters` (they count those), `lower`, `feed` (lines end with a line feed alone), `type` (another
field first), `key` (a secret beside the length), `odd` (no UTF-8), `huge` (a length that nobody believes), `none`.
Of its bodies: `pretty` (over several lines), `latin` (no UTF-8). Between its messages: `log` (a line of text), `text`
(the same without an ending), `zero` (an empty message), `after` (a line ending behind each). `bytes`: each byte is
written alone. `cut`: it ends inside its second message. `other`: it answers something else.
"""

import json
import sys

said = sys.argv[1:]
stdin, stdout = sys.stdin.buffer, sys.stdout.buffer
count = 0


def header(length):
    name = b"content-length" if "lower" in said else b"Content-Length"
    end = b"\n" if "feed" in said else b"\r\n"
    lines = [b"%s: %d" % (name, 10**11 if "huge" in said else length)]
    if "type" in said:
        lines.insert(0, b"Content-Type: application/vscode-jsonrpc; charset=utf-8")
    if "key" in said:
        lines.append(b"X-Api-Key: k-0815")
    if "odd" in said:
        lines.append(b"X-Odd: \xff")
    return b"".join(line + end for line in (*lines, b""))


def message(value):
    text = json.dumps(value, ensure_ascii=False, indent=1 if "pretty" in said else None)
    body = text.encode("latin-1" if "latin" in said else "utf-8")
    if "none" in said:
        return body + b"\n"
    return header(len(text) if "characters" in said else len(body)) + body


def say(value):
    global count
    count += 1
    data = b"working\n" if "log" in said else b"working" if "text" in said else b""
    data += b"Content-Length: 0\r\n\r\n" if "zero" in said else b""
    data += message(value) + (b"\r\n" if "after" in said else b"")
    if "cut" in said and count == 2:
        data = data[:-5]
    for size in [1] * len(data) if "bytes" in said else [len(data)]:
        stdout.write(data[:size])
        stdout.flush()
        data = data[size:]
    if "cut" in said and count == 2:
        sys.exit()


while head := stdin.readline():
    length = 0
    while head.strip():
        name, _, value = head.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
        head = stdin.readline()
    asked = json.loads(stdin.read(length))
    if "id" in asked:
        result = asked.get("params")
        say({"jsonrpc": "2.0", "id": asked["id"], "result": {**result, "new": "éé"} if "other" in said else result})
