"""A small debugger: runs a program to a breakpoint with an adapter of DAP, looks around, and lets it end.

usage: dap_client.py PROGRAM COMMAND…. Prints what it got as JSON.
"""

import json
import sys
from pathlib import Path

from headers import Peer


class Debugger:
    def __init__(self, command):
        self.adapter = Peer(command)
        self.number = 0

    def ask(self, command, **arguments):
        self.number += 1
        self.adapter.say({"seq": self.number, "type": "request", "command": command, "arguments": arguments})
        return self.number

    def answer(self, number):
        return self.adapter.wait(lambda message: message.get("request_seq") == number)

    def get(self, command, **arguments):
        return self.answer(self.ask(command, **arguments)).get("body")

    def event(self, name):
        return self.adapter.wait(lambda message: message.get("event") == name).get("body")


def main():
    program, command = sys.argv[1], sys.argv[2:]
    debugger = Debugger(command)
    got = {}
    can = debugger.get("initialize", clientID="test", adapterID="debugpy", pathFormat="path", linesStartAt1=True)
    got["can"] = can["supportsConfigurationDoneRequest"]
    folder = str(Path(program).parent)
    launched = debugger.ask("launch", program=program, console="internalConsole", cwd=folder, justMyCode=True)
    debugger.event("initialized")
    lines = debugger.get("setBreakpoints", source={"path": program}, breakpoints=[{"line": 3}])
    got["breakpoints"] = [each["verified"] for each in lines["breakpoints"]]
    debugger.get("configurationDone")
    got["launched"] = debugger.answer(launched)["success"]
    stopped = debugger.event("stopped")
    got["stopped"] = stopped["reason"]
    thread = stopped["threadId"]
    frame = debugger.get("stackTrace", threadId=thread)["stackFrames"][0]
    got["line"] = frame["line"]
    scope = debugger.get("scopes", frameId=frame["id"])["scopes"][0]
    variables = debugger.get("variables", variablesReference=scope["variablesReference"])["variables"]
    got["variables"] = {each["name"]: each["value"] for each in variables if each["name"] in ("x", "größe")}
    got["sum"] = debugger.get("evaluate", expression="x + 41", frameId=frame["id"], context="repl")["result"]
    failed = debugger.answer(debugger.ask("evaluate", expression="1/0", frameId=frame["id"], context="repl"))
    got["failed"] = failed["success"]
    debugger.get("continue", threadId=thread)
    debugger.event("terminated")
    # The adapter says last which sockets are left. A `disconnect` now would race its own end: it exits with 0 or 1.
    debugger.adapter.heard.clear()
    debugger.event("debugpySockets")
    got["status"] = debugger.adapter.close()
    print(json.dumps(got, ensure_ascii=False))


main()
