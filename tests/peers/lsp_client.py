"""A small editor: opens a document with a server of LSP, asks about it, changes it, and leaves.

usage: lsp_client.py FOLDER COMMAND…. Prints what it got as JSON.
"""

import json
import sys
from pathlib import Path

from headers import Peer

TEXT = 'import os\n\n\ndef größe(x: int) -> str:\n    """Says how big."""\n    return str(x)\n\n\ngröße(1)\n'


class Editor:
    def __init__(self, folder, command):
        self.server = Peer(command)
        self.folder = Path(folder).as_uri()
        self.document = {"uri": f"{self.folder}/a.py"}
        self.number = 0

    def tell(self, method, params=None):
        self.server.say({"jsonrpc": "2.0", "method": method, **({} if params is None else {"params": params})})

    def ask(self, method, params=None):
        number, self.number = self.number, self.number + 1
        self.server.say(
            {"jsonrpc": "2.0", "id": number, "method": method, **({} if params is None else {"params": params})}
        )
        return number

    def answer(self, number):
        return self.server.wait(lambda message: message.get("id") == number and "method" not in message)

    def get(self, method, **params):
        return self.answer(self.ask(method, {"textDocument": self.document, **params})).get("result")

    def diagnostics(self):
        told = self.server.wait(lambda message: message.get("method") == "textDocument/publishDiagnostics")
        return [each["message"] for each in told["params"]["diagnostics"]]


def main():
    editor = Editor(sys.argv[1], sys.argv[2:])
    here = {"line": 8, "character": 2}
    got = {}
    capabilities = {"textDocument": {"publishDiagnostics": {}, "hover": {"contentFormat": ["plaintext"]}}}
    started = editor.answer(
        editor.ask("initialize", {"processId": None, "rootUri": editor.folder, "capabilities": capabilities})
    )
    got["server"] = started["result"]["serverInfo"]["name"]
    editor.tell("initialized", {})
    editor.tell(
        "textDocument/didOpen",
        {"textDocument": {**editor.document, "languageId": "python", "version": 1, "text": TEXT}},
    )
    got["unused"] = editor.diagnostics()
    got["hover"] = editor.get("textDocument/hover", position=here)
    got["definition"] = [each["range"] for each in editor.get("textDocument/definition", position=here)]
    got["symbols"] = sorted(each["name"] for each in editor.get("textDocument/documentSymbol"))
    completion = editor.get("textDocument/completion", position={"line": 8, "character": 3})
    got["completion"] = [each["label"] for each in completion["items"]]
    got["signature"] = editor.get("textDocument/signatureHelp", position={"line": 8, "character": 6})
    change = {"range": {"start": {"line": 0, "character": 0}, "end": {"line": 1, "character": 0}}, "text": ""}
    editor.tell(
        "textDocument/didChange", {"textDocument": {**editor.document, "version": 2}, "contentChanges": [change]}
    )
    got["changed"] = editor.diagnostics()
    refused = editor.answer(editor.ask("no/such", {}))
    got["refused"] = refused["error"]["code"]
    editor.tell("textDocument/didClose", {"textDocument": editor.document})
    got["shutdown"] = editor.answer(editor.ask("shutdown"))["result"]
    editor.tell("exit")
    got["status"] = editor.server.close()
    print(json.dumps(got, ensure_ascii=False))


main()
