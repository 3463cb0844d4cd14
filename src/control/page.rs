//! The table of addresses as a page of reference in Markdown: docs/osc.md.
//!
//! Thread: cold.

use super::table::{ANY_STATE, Access, Argument, ENTRIES, Entry, Kind, Type, Who};

const HEAD: &str = "\
# OSC

<!-- Made by `hapticd osc`. Change the table in the code, not this page. -->

hapticd is driven by Open Sound Control over UDP: by a shell, a panel on a tablet, a patch, a script. It listens on this
machine alone unless the configuration says otherwise. OSCQuery serves the same addresses with their ranges and values.
The viewer speaks the same over a WebSocket, a packet in each binary frame: `ws://localhost:9742/ws`.
";

const RULES: &str = "\
## Rules

**Answers.** A command is answered by `/hapticd/done address …` when it *is* done: a new stiffness when the haptic
loop has taken it, a scene when it is loaded. What is not done is answered by `/hapticd/fail address code text`.
`/hapticd/sync` is answered when everything this client asked before it has been answered.

**Where answers go.** To the port the message came from. A program that does not listen there, such as `oscsend`,
ends its message with a text `osc.udp://host:port/`. The host must be the sender's own address (`localhost` on this
machine; left out, `osc.udp://:port/`, it is meant anyway); any other is refused with 403. A host and a port as two
more arguments, `s i`, are understood as well, but only beyond the arguments the address takes, and only when the
host is `localhost` or an address in numbers. A WebSocket is always answered on itself.

**Values.** A parameter's address without an argument asks for its value, and the answer comes at the same address.
With an argument it sets it. A value out of range is refused with the range and the unit, never clipped. A change is
told to every client with a lease, the one that made it included.

**Names.** `NAME` stands for the name of a material of the scene. What is not a letter, a digit, `_`, `-` or `.` is
written as `%` and two hexadecimal digits for each byte: `/hapticd/material/soft%20tissue/friction`.

**Types.** `i`, `h`, `f`, `d`, `T` and `F` are accepted wherever a number or a switch is wanted; a text for a
number, an infinity or a NaN is not. A command that needs no argument also takes a lone impulse `I` or nil `N`, as the
button of a panel sends. hapticd itself sends `i`, `f` and `s` only, and `b` in the streams `scene`, `ticks`,
`skin` and `path`; a switch is sent as 0 or 1. A text that would make a datagram longer than 1472 bytes is cut.

**Leases.** Events (`/hapticd/notify`) and streams (`/hapticd/subscribe`) end 30 s after the last message of their
client, whatever it was; `/hapticd/ping` will do. A client is the address its answers go to. There may be 64, each
with 16 streams and 4000 samples a second, all together 16,000. One host may hold a quarter of the leases and half of
the samples, and so may those that only read, all together half of both; programs of this machine that may do everything
are not counted.

**Confirming.** The sender of a datagram can be forged, and a stream is far more than the message that asks for it. So a
receiver on another machine is first sent `/hapticd/lease/number` and sends that number back with
`/hapticd/lease/confirm`, from any port of the same host, within 10 s. Until then neither events nor streams are sent.
A WebSocket and programs of this machine need not. Panels that cannot do this need `confirm = false` under `[osc]`: only
in a network where nobody forges addresses.

**Streams** carry at most one sample a millisecond or so, always the newest. `sequence` counts what was due: a gap is a
sample that was skipped or lost. `seconds` and `nanoseconds` say when it was true, on the daemon's clock, as two
whole numbers because no single-precision number is fine enough. The address of a stream without arguments asks for
one sample. The stream `ticks` alone leaves nothing out: each time it is due it brings every tick since the last, in
as many datagrams as it takes, for up to 4096 ticks. The streams `skin` and `path` bring a frame when there is a new
one, at most 30 a second, in datagrams of up to 32 KiB.

**Bundles.** All parameters and state commands of a bundle take effect at the same tick, at most 16. If one message
of a bundle cannot be done, none is, and each is told why. Questions, recordings, scenes and devices in a bundle are
dealt with one by one after that. A time tag up to 60 s ahead makes the bundle wait (256 may wait, a quarter of them
of one client, half of one other host); one in the past means now. Bundles that wait are cancelled by a fault. Inner bundles belong to the
outer one.

**Halt** is carried out before anything else, from any host, at any rate, also inside a bundle that should wait.
Nothing else of its datagram is done.

**Patterns** (`?`, `*`, `[]`, `{}`) are refused: `/hapticd/*` would match `start`.

**Who.** Clients on this machine may do everything; those of other networks what the configuration says: everything,
or read, subscribe and halt. Others are not served.

**Limits.** 2000 messages a second from one client, 1000 at once; four times as many from all clients of one host. An
answer of many datagrams counts as many, a list of names at least as 32, and is paid for before it is made. What is
beyond is dropped, and told at most once a second. A datagram has at most 64 KiB, 256 messages, 64 arguments
each, bundles nested 8 deep, no arrays.

| code | means |
|---|---|
| 400 | arguments of the wrong number or type, a datagram that cannot be read |
| 403 | not allowed for this client, or for anyone |
| 404 | no such address, scene, device or stream; the nearest is named |
| 409 | not in this operating state |
| 422 | out of range |
| 503 | too much at once, or taken; try again |
";

const EXAMPLES: &str = r#"## Examples

**Shell**, with liblo's tools. `oscsend` does not wait for an answer, so `oscdump` listens for it:

```sh
oscdump -L 9001 &
oscsend localhost 9740 /hapticd/status s osc.udp://localhost:9001/
oscsend localhost 9740 /hapticd/scene/load ss box_on_table osc.udp://localhost:9001/
oscsend localhost 9740 /hapticd/start s osc.udp://localhost:9001/
oscsend localhost 9740 /hapticd/coupling/stiffness fs 600 osc.udp://localhost:9001/
oscsend localhost 9740 /hapticd/subscribe sfs energy 10 osc.udp://localhost:9001/
oscsend localhost 9740 /hapticd/halt
```

**Python**, with python-osc; answers come back on the socket that asked:

```python
from pythonosc.udp_client import SimpleUDPClient
from pythonosc.osc_bundle_builder import OscBundleBuilder, IMMEDIATELY
from pythonosc.osc_message_builder import OscMessageBuilder

client = SimpleUDPClient("127.0.0.1", 9740)

def ask(address, *arguments):
    client.send_message(address, list(arguments))
    for message in client.get_messages(timeout=1):
        print(message.address, message.params)
        if message.address != "/hapticd/fail":
            return message.params

ask("/hapticd/coupling/stiffness")           # its value
ask("/hapticd/coupling/stiffness", 600)      # /hapticd/done
ask("/hapticd/coupling/stiffness", 1e9)      # /hapticd/fail … 422, with the range

# Two values at the same tick.
bundle = OscBundleBuilder(IMMEDIATELY)
for address, value in [("/hapticd/coupling/stiffness", 500.0), ("/hapticd/coupling/damping", 2.0)]:
    message = OscMessageBuilder(address)
    message.add_arg(value)
    bundle.add_content(message.build())
client.send(bundle.build())

# The handle's position at 100 Hz; any message, here a ping, keeps it coming.
client.send_message("/hapticd/subscribe", ["measured_cp", 100])
while True:
    for message in client.get_messages(timeout=1):
        if message.address == "/hapticd/stream/measured_cp":
            sequence, seconds, nanoseconds, x, y, z, *quaternion = message.params
            if sequence % 1000 == 0:
                client.send_message("/hapticd/ping", sequence)
```

**A panel** (TouchOSC, Open Stage Control, Pure Data, Max) sends `/hapticd/notify 1` once, with `osc.udp://…` when
it listens on another port than it sends from, and is sent everything there is to show; from then on every change,
and a `/ping` now and then keeps it so.
"#;

/// The page.
pub(super) fn markdown() -> String {
    let mut page = format!("{HEAD}\n{RULES}\n{EXAMPLES}");
    let parts = [
        (Kind::Command, "Commands", "What can be sent. Arguments in brackets may be left out."),
        (
            Kind::Parameter,
            "Parameters",
            "Values; without an argument they answer. What a range is depends on scene and device.",
        ),
        (Kind::Stream, "Streams", "Sent to those who subscribed."),
        (Kind::Event, "Events", "Sent when they happen to those who sent `/hapticd/notify`."),
        (
            Kind::Reply,
            "Replies",
            "Sent to whoever asked. They are never answered, so that two programs cannot answer each other for ever.",
        ),
    ];
    for (kind, title, about) in parts {
        page += &format!("\n## {title}\n\n{about}\n\n{}", section(kind));
    }
    page
}

fn section(kind: Kind) -> String {
    let (head, row): (&str, fn(&Entry) -> String) = match kind {
        Kind::Command => ("| address | arguments | answer | who | when | |\n|---|---|---|---|---|---|\n", command),
        Kind::Parameter => ("| address | value | unit | who may set it | |\n|---|---|---|---|---|\n", parameter),
        _ => ("| address | carries | |\n|---|---|---|\n", sent),
    };
    let rows = ENTRIES.iter().filter(|entry| entry.kind == kind).map(row);
    head.to_owned() + &rows.collect::<String>()
}

fn command(entry: &Entry) -> String {
    let (arguments, when) = (arguments(entry), states(entry));
    format!("| `{}` | {arguments} | {} | {} | {when} | {} |\n", entry.path, entry.answer, who(entry), entry.about)
}

fn parameter(entry: &Entry) -> String {
    let kind = match entry.arguments.first().map(|argument| argument.kind) {
        Some(Type::Int) => "whole number",
        Some(Type::Text) => "text",
        Some(Type::Switch) => "0 or 1",
        Some(Type::Blob) => "bytes",
        _ => "number",
    };
    let who = if entry.access == Access::Read { "nobody" } else { who(entry) };
    format!("| `{}` | {kind} | {} | {who} | {} |\n", entry.path, entry.unit(), entry.about)
}

fn sent(entry: &Entry) -> String {
    format!("| `{}` | {} | {} |\n", entry.path, arguments(entry), entry.about)
}

fn arguments(entry: &Entry) -> String {
    let word = |argument: &Argument| {
        let unit = if argument.unit.is_empty() { String::new() } else { format!(" ({})", argument.unit) };
        let word = format!("`{}` {}{unit}", argument.tag(), argument.name);
        if argument.optional { format!("[{word}]") } else { word }
    };
    entry.arguments.iter().map(word).collect::<Vec<_>>().join(", ")
}

fn who(entry: &Entry) -> &'static str {
    match entry.who {
        Who::Anyone => "anyone",
        Who::Controllers => "controllers",
    }
}

fn states(entry: &Entry) -> String {
    if entry.states.len() == ANY_STATE.len() {
        return "always".to_owned();
    }
    entry.states.iter().map(|state| state.name()).collect::<Vec<_>>().join(", ")
}
