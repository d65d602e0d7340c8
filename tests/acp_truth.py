"""What a message of ACP has, by version: made from the schemas of npm's SDK 2.4.0, read over by hand against its pages.

Requests have their params and their result, updates what stands in `update`. A field
is `name: type`, with `?` where it may be missing; `_meta` may stand everywhere. Types
are named as in acp.toml, with a 2 where version 2 has another one.
"""

HOST_1 = {
    "initialize": (
        ("protocolVersion: integer clientCapabilities?: ClientCapabilities clientInfo?: Implementation | null"),
        (
            "protocolVersion: integer agentCapabilities?: AgentCapabilities authMethods?: AuthMethod[] "
            "agentInfo?: Implementation | null"
        ),
    ),
    "authenticate": (
        "methodId: string",
        "",
    ),
    "logout": (
        "",
        "",
    ),
    "session/new": (
        "cwd: string additionalDirectories?: string[] mcpServers: McpServer[]",
        (
            "sessionId: string modes?: SessionModeState | null configOptions?: SessionConfigOption[] | null "
            "models?: object | null"
        ),
    ),
    "session/load": (
        "mcpServers: McpServer[] cwd: string additionalDirectories?: string[] sessionId: string",
        ("modes?: SessionModeState | null configOptions?: SessionConfigOption[] | null models?: object | null"),
    ),
    "session/list": (
        "cwd?: string | null cursor?: string | null",
        "sessions: SessionInfo[] nextCursor?: string | null",
    ),
    "session/delete": (
        "sessionId: string",
        "",
    ),
    "session/resume": (
        "sessionId: string cwd: string additionalDirectories?: string[] mcpServers?: McpServer[]",
        ("modes?: SessionModeState | null configOptions?: SessionConfigOption[] | null models?: object | null"),
    ),
    "session/close": (
        "sessionId: string",
        "",
    ),
    "session/set_mode": (
        "sessionId: string modeId: string",
        "",
    ),
    "session/set_config_option": (
        "sessionId: string configId: string type?: 'boolean' value: boolean | string",
        "configOptions: SessionConfigOption[]",
    ),
    "session/prompt": (
        "sessionId: string prompt: ContentBlock[]",
        "stopReason: 'end_turn' | 'max_tokens' | 'max_turn_requests' | 'refusal' | 'cancelled' usage?: object | null",
    ),
}
CHILD_1 = {
    "fs/write_text_file": (
        "sessionId: string path: string content: string",
        "",
    ),
    "fs/read_text_file": (
        "sessionId: string path: string line?: integer | null limit?: integer | null",
        "content: string",
    ),
    "session/request_permission": (
        "sessionId: string toolCall: ToolCallUpdate options: PermissionOption[]",
        "outcome: RequestPermissionOutcome",
    ),
    "terminal/create": (
        (
            "sessionId: string command: string args?: string[] env?: EnvVariable[] cwd?: string | null "
            "outputByteLimit?: integer | null"
        ),
        "terminalId: string",
    ),
    "terminal/output": (
        "sessionId: string terminalId: string",
        "output: string truncated: boolean exitStatus?: TerminalExitStatus | null",
    ),
    "terminal/release": (
        "sessionId: string terminalId: string",
        "",
    ),
    "terminal/wait_for_exit": (
        "sessionId: string terminalId: string",
        "exitCode?: integer | null signal?: string | null",
    ),
    "terminal/kill": (
        "sessionId: string terminalId: string",
        "",
    ),
    "elicitation/create": (
        (
            "message: string requestedSchema?: ElicitationSchema sessionId?: string "
            "toolCallId?: string | null mode: 'form' | 'url' | string requestId?: string | integer | null "
            "elicitationId?: string url?: string"
        ),
        ("action: 'accept' | 'decline' | 'cancel' | string content?: Record<string, ElicitationContentValue> | null"),
    ),
}
UPDATES_1 = {
    "user_message_chunk": "content: ContentBlock messageId?: string | null",
    "agent_message_chunk": "content: ContentBlock messageId?: string | null",
    "agent_thought_chunk": "content: ContentBlock messageId?: string | null",
    "tool_call": (
        "toolCallId: string title: string name?: string | null "
        "kind?: 'read' | 'edit' | 'delete' | 'move' | 'search' | 'execute' | 'think' | "
        "'fetch' | 'switch_mode' | 'other' "
        "status?: 'pending' | 'in_progress' | 'completed' | 'failed' content?: ToolCallContent[] "
        "locations?: ToolCallLocation[] rawInput?: any rawOutput?: any"
    ),
    "tool_call_update": (
        "toolCallId: string "
        "kind?: 'read' | 'edit' | 'delete' | 'move' | 'search' | 'execute' | 'think' | "
        "'fetch' | 'switch_mode' | 'other' | null "
        "status?: 'pending' | 'in_progress' | 'completed' | 'failed' | null title?: string | null "
        "name?: string | null content?: ToolCallContent[] | null locations?: ToolCallLocation[] | null "
        "rawInput?: any rawOutput?: any"
    ),
    "plan": "entries: PlanEntry[]",
    "available_commands_update": "availableCommands: AvailableCommand[]",
    "current_mode_update": "currentModeId: string",
    "config_option_update": "configOptions: SessionConfigOption[]",
    "session_info_update": "title?: string | null updatedAt?: string | null",
    "usage_update": "used: integer size: integer cost?: Cost | null",
    "notice": "severity: 'info' | 'warning' | 'error' | string title: string description?: string | null",
    "compaction_update": (
        "compactionId: string status: 'in_progress' | 'completed' | 'failed' | 'cancelled' | string "
        "summary?: ContentBlock[] | null error?: string | null"
    ),
    "compaction_summary_chunk": "compactionId: string content: ContentBlock",
}
HOST_2 = {
    "initialize": (
        "protocolVersion: integer info: Implementation capabilities?: ClientCapabilities",
        ("protocolVersion: integer info: Implementation capabilities?: AgentCapabilities authMethods?: AuthMethod2[]"),
    ),
    "session/new": (
        "cwd: string additionalDirectories?: string[] mcpServers?: McpServer2[]",
        ("sessionId: string configOptions?: SessionConfigOption2[] availableCommands?: AvailableCommand2[]"),
    ),
    "session/list": (
        "cwd?: string | null cursor?: string | null",
        "sessions: SessionInfo[] nextCursor?: string | null",
    ),
    "session/delete": (
        "sessionId: string",
        "",
    ),
    "session/resume": (
        (
            "sessionId: string cwd: string additionalDirectories?: string[] mcpServers?: McpServer2[] "
            "replayFrom?: ReplayFrom | null"
        ),
        "configOptions?: SessionConfigOption2[] availableCommands?: AvailableCommand2[]",
    ),
    "session/close": (
        "sessionId: string",
        "",
    ),
    "session/set_config_option": (
        ("sessionId: string configId: string type: 'id' | 'boolean' | string value: string | boolean | any"),
        "configOptions: SessionConfigOption2[]",
    ),
    "session/prompt": (
        "sessionId: string prompt: ContentBlock2[]",
        "messageId: string",
    ),
    "auth/login": (
        "methodId: string",
        "",
    ),
    "auth/logout": (
        "",
        "",
    ),
    "tool_call/cancel": (
        "sessionId: string toolCallId: string",
        "",
    ),
    "terminal/cancel": (
        "sessionId: string terminalId: string",
        "",
    ),
}
CHILD_2 = {
    "session/request_permission": (
        (
            "sessionId: string title: string description?: string | null "
            "subject?: RequestPermissionSubject | null options: PermissionOption[]"
        ),
        "outcome: RequestPermissionOutcome2",
    ),
    "elicitation/create": (
        (
            "message: string requestedSchema?: ElicitationSchema sessionId?: string "
            "toolCallId?: string | null mode: 'form' | 'url' | string requestId?: string | integer | null "
            "elicitationId?: string url?: string"
        ),
        ("action: 'accept' | 'decline' | 'cancel' | string content?: Record<string, ElicitationContentValue> | null"),
    ),
}
UPDATES_2 = {
    "user_message_chunk": "messageId: string content: ContentBlock2",
    "agent_message_chunk": "messageId: string content: ContentBlock2",
    "agent_thought_chunk": "messageId: string content: ContentBlock2",
    "tool_call_update": (
        "toolCallId: string name?: string | null title?: string | null "
        "kind?: 'read' | 'edit' | 'delete' | 'move' | 'search' | 'execute' | 'think' | "
        "'fetch' | 'switch_mode' | 'other' | string | null "
        "status?: 'pending' | 'in_progress' | 'paused' | 'completed' | 'failed' | 'cancelled' | string | null "
        "content?: ToolCallContent2[] | null locations?: ToolCallLocation[] | null rawInput?: any "
        "rawOutput?: any capabilities?: ToolCallCapabilities | null"
    ),
    "available_commands_update": "availableCommands: AvailableCommand2[]",
    "config_option_update": "configOptions: SessionConfigOption2[]",
    "session_info_update": "title?: string | null updatedAt?: string | null",
    "usage_update": "used: integer size: integer cost?: Cost | null",
    "notice": "severity: 'info' | 'warning' | 'error' | string title: string description?: string | null",
    "compaction_update": (
        "compactionId: string status: 'in_progress' | 'completed' | 'failed' | 'cancelled' | string "
        "summary?: ContentBlock2[] | null error?: string | null"
    ),
    "compaction_summary_chunk": "compactionId: string content: ContentBlock2",
    "user_message": "messageId: string content?: ContentBlock2[] | null",
    "agent_message": "messageId: string content?: ContentBlock2[] | null",
    "agent_thought": "messageId: string content?: ContentBlock2[] | null",
    "tool_call_content_chunk": "toolCallId: string content: ToolCallContent2",
    "terminal_update": (
        "terminalId: string command?: string | null cwd?: string | null output?: TerminalOutput | null "
        "exitStatus?: TerminalExitStatus | null size?: TerminalSize | null "
        "capabilities?: TerminalCapabilities | null"
    ),
    "terminal_output_chunk": "terminalId: string data: string",
    "plan_update": "plan: PlanUpdateContent",
}
