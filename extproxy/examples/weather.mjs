// An extension for zot in one file: commands, a panel, a tool, a guard.
//
// zot starts it and talks to it in lines of JSON: one object a line, host to
// extension on stdin, extension to host on stdout. So nothing else may be printed
// to stdout (no console.log); what a person should read goes to stderr. No
// packages; copy it and begin. `weather.py` is the same in Python.

// A real extension would ask a service; a table gives the same answer on every run.
const CITIES = {
  Berlin: [16, "fog"],
  Cairo: [31, "clear"],
  Oslo: [8, "drizzle"],
  Quito: [14, "clouds"],
  Tokyo: [22, "rain"],
};

const SCHEMA = {
  type: "object",
  properties: {
    city: { type: "string", description: "Name of the city.", minLength: 1 },
    unit: { type: "string", enum: ["celsius", "fahrenheit"], default: "celsius" },
  },
  required: ["city"],
  additionalProperties: false,
};

// What no agent should run without asking. Not a sandbox: a seat belt.
const DANGEROUS = /\brm\s+-rf\b|\bmkfs\b|\bdd\b.*\bof=\/dev\//i;

const PANEL = "weather";

// Said right after the start. The host answers with hello_ack, but nobody has to wait for it.
const GREETING = [
  {
    type: "hello",
    name: "weather",
    version: "1.0.0",
    capabilities: ["commands", "tools", "events", "panels"],
  },
  { type: "register_command", name: "weather", description: "open the weather panel" },
  { type: "register_command", name: "forecast", description: "show the weather of a city" },
  {
    type: "register_tool",
    name: "weather",
    description: "Get the current weather of a city.",
    schema: SCHEMA,
  },
  {
    type: "subscribe",
    events: ["session_start", "turn_start", "turn_end", "tool_call"],
    intercept: ["tool_call"],
  },
  { type: "ready" },
];

/** The weather of a city as a line of text; null for a city that is not in the table. */
function weather(city, unit = "celsius") {
  const name = find(city);
  if (name === null) return null;
  const [degrees, sky] = CITIES[name];
  if (unit === "fahrenheit") return `${name}: ${Math.floor((degrees * 9) / 5) + 32} °F, ${sky}`;
  return `${name}: ${degrees} °C, ${sky}`;
}

/** The name in the table, however the city was spelled. What a peer sends may be anything. */
function find(city) {
  const wanted = typeof city === "string" ? city.trim().toLowerCase() : "";
  return Object.keys(CITIES).find((name) => name.toLowerCase() === wanted) ?? null;
}

function unknown(city) {
  return `no city ${city}; known: ${Object.keys(CITIES).join(", ")}`;
}

// What there is to remember between two frames: the panel's state.
let row = 0;
let unit = "celsius";

/** What to say when the host has said `frame`: often nothing. */
function answers(frame) {
  switch (frame.type) {
    case "hello_ack":
      log(`connected to zot ${frame.zot_version} (${frame.model})`);
      return [];
    case "event":
      return onEvent(frame);
    case "event_intercept":
      return [{ type: "event_intercept_response", id: frame.id, ...verdict(frame) }];
    case "tool_call":
      return [{ type: "tool_result", id: frame.id, ...tool(frame) }];
    case "command_invoked":
      return [{ type: "command_response", id: frame.id, ...command(frame) }];
    case "panel_key":
      return frame.panel_id === PANEL ? [key(frame)] : [];
    case "panel_close":
      log("the panel was closed");
      return [];
    case "shutdown":
      return [{ type: "shutdown_ack" }];
    default:
      log(`a frame that this extension does not know: ${frame.type}`);
      return [];
  }
}

function onEvent(frame) {
  if (frame.event === "session_start") {
    const message = `Weather of ${Object.keys(CITIES).length} cities. Try /weather.`;
    return [{ type: "notify", level: "info", message }];
  }
  if (frame.event === "turn_end" && frame.error) {
    return [{ type: "notify", level: "warn", message: `The turn failed: ${frame.error}` }];
  }
  return [];
}

/** May this tool run? An empty answer means: yes, as it is. */
function verdict(frame) {
  const args = frame.tool_args ?? {};
  if (frame.tool_name === "bash" && typeof args.command === "string") {
    const danger = DANGEROUS.exec(args.command);
    if (danger) {
      log(`blocked: ${args.command}`);
      return { block: true, reason: `${danger[0]} is dangerous; ask the user first.` };
    }
  }
  if (frame.tool_name === "weather" && typeof args.city === "string") {
    const name = find(args.city);
    if (name !== null && name !== args.city) return { modified_args: { ...args, city: name } };
  }
  return {};
}

function tool(frame) {
  const city = frame.args?.city;
  if (frame.name !== "weather") return failed(`no tool ${frame.name}`);
  if (typeof city !== "string" || !city.trim()) return failed("city is required and is a string");
  const text = weather(city, frame.args.unit);
  if (text === null) return failed(unknown(city));
  return { content: [{ type: "text", text }] };
}

function command(frame) {
  switch (frame.name) {
    case "weather":
      row = 0;
      return { action: "open_panel", open_panel: { id: PANEL, ...panel() } };
    case "forecast": {
      const city = frame.args ?? "";
      const text = weather(city);
      if (text === null) return { action: "noop", error: unknown(city) };
      return { action: "display", display: text };
    }
    default:
      return { action: "noop", error: `no command ${frame.name}` };
  }
}

/** What the panel shows now. */
function panel() {
  const lines = Object.keys(CITIES).map((city, n) => `${n === row ? ">" : " "} ${weather(city, unit)}`);
  return { title: "Weather", lines, footer: "up/down move, u unit, esc close" };
}

/** A key was pressed: draw the panel anew, or close it. */
function key(frame) {
  if (frame.key === "up") row = Math.max(row - 1, 0);
  if (frame.key === "down") row = Math.min(row + 1, Object.keys(CITIES).length - 1);
  if (frame.key === "rune" && frame.text === "u") unit = unit === "celsius" ? "fahrenheit" : "celsius";
  if (frame.key === "esc") return { type: "panel_close", panel_id: PANEL };
  return { type: "panel_render", panel_id: PANEL, ...panel() };
}

function failed(why) {
  return { content: [{ type: "text", text: why }], is_error: true };
}

// ---- the two channels

function say(frame) {
  process.stdout.write(JSON.stringify(frame) + "\n");
}

function log(text) {
  process.stderr.write(`[weather] ${text}\n`);
}

/** Only a line feed ends a frame. (Node's readline also splits at U+2028, in the middle of a string.) */
async function* lines(stream) {
  let rest = Buffer.alloc(0);
  for await (const chunk of stream) {
    rest = Buffer.concat([rest, chunk]);
    for (let end; (end = rest.indexOf("\n")) !== -1; rest = rest.subarray(end + 1)) {
      yield rest.subarray(0, end).toString();
    }
  }
  if (rest.length) yield rest.toString();
}

function parsed(line) {
  try {
    const value = JSON.parse(line);
    return typeof value === "object" && !Array.isArray(value) ? value : null;
  } catch {
    return null;
  }
}

GREETING.forEach(say);
for await (const line of lines(process.stdin)) {
  const frame = parsed(line);
  if (frame === null) {
    log("a line that is not a JSON object");
    continue;
  }
  answers(frame).forEach(say);
  if (frame.type === "shutdown") break;
}
