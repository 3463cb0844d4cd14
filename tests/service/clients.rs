//! Other people's clients drive the daemon: liblo's command-line tools, python-osc, python-oscquery, curl.

use crate::beside_others;
use crate::daemon::Setup;
use crate::osc::{Client, PATIENCE, float};
use crate::tools::{have, present, run, say};
use rosc::{OscMessage, OscType};
use std::io::{BufRead as _, BufReader};
use std::net::UdpSocket;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// Runs one of the scripts beside `tools.rs` to its good end, and returns what it printed.
fn python(script: &str, arguments: &[u16]) -> Option<String> {
    let python = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("clients-venv/bin/python");
    if !present(python.exists(), "python-osc", "tests/clients/setup.sh") {
        return None;
    }
    let scripts = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/clients");
    let mut command = Command::new(python);
    command.arg("-B").arg(format!("{scripts}/{script}")).args(arguments.iter().map(u16::to_string));
    let (good, said) = run(command.env("NO_PROXY", "*"));
    assert!(good, "{script}: {said}");
    Some(said.trim().to_owned())
}

#[test]
fn python_osc_leads_a_whole_session() {
    let _shared = beside_others();
    let daemon = Setup::new("session").start();
    if let Some(figures) = python("session.py", &[daemon.osc.port()]) {
        say(&format!("python-osc at 100 Hz: {figures}"));
    }
    daemon.stop();
}

#[test]
fn python_oscquery_reads_host_info_tree_and_node() {
    let _shared = beside_others();
    let daemon = Setup::new("query").start();
    python("query.py", &[daemon.query.port(), daemon.osc.port()]);
    daemon.stop();
}

#[test]
fn curl_reads_the_tree_and_the_figures() {
    let _shared = beside_others();
    if !have("curl", "curl") {
        return;
    }
    let daemon = Setup::new("curl").start();
    let fetch = |path: &str| {
        let url = format!("http://{}{path}", daemon.query);
        run(Command::new("curl").args([
            "--silent",
            "--show-error",
            "--fail",
            "--noproxy",
            "*",
            "--max-time",
            "30",
            &url,
        ]))
    };
    let (found, tree) = fetch("/hapticd/coupling");
    assert!(found, "{tree}");
    let tree: serde_json::Value = serde_json::from_str(&tree).expect("JSON");
    assert_eq!(tree["CONTENTS"]["stiffness"]["FULL_PATH"], "/hapticd/coupling/stiffness");
    let (found, figures) = fetch("/metrics");
    assert!(found && figures.contains("\n# TYPE hapticd_"), "{figures}");
    assert!(!fetch("/hapticd/nowhere").0);
    daemon.stop();
}

/// `oscdump` of liblo, listening, with the lines it prints.
struct Dump {
    child: Child,
    lines: Receiver<String>,
    port: u16,
}

impl Dump {
    fn start() -> Self {
        // A port that was free a moment ago: oscdump wants to be told one.
        let free = UdpSocket::bind("127.0.0.1:0").and_then(|socket| socket.local_addr()).expect("a free port");
        let mut command = Command::new("oscdump");
        let mut child = command.args(["-L", &free.port().to_string()]).stdout(Stdio::piped()).spawn().expect("oscdump");
        let stdout = child.stdout.take().expect("a pipe");
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            BufReader::new(stdout).lines().map_while(Result::ok).try_for_each(|l| sender.send(l))
        });
        Self { child, lines, port: free.port() }
    }

    /// The next line that holds all of these parts.
    fn wait(&self, parts: &[&str]) -> String {
        let mut seen = Vec::new();
        while let Ok(line) = self.lines.recv_timeout(PATIENCE) {
            if parts.iter().all(|part| line.contains(part)) {
                return line;
            }
            seen.push(line);
        }
        panic!("oscdump did not print {parts:?}, but:\n{}", seen.join("\n"));
    }
}

impl Drop for Dump {
    fn drop(&mut self) {
        let _ended = self.child.kill();
        let _status = self.child.wait();
    }
}

#[test]
fn liblo_drives_it_and_hears_the_answers_where_it_asked_for_them() {
    let _shared = beside_others();
    if !have("oscsend", "liblo-tools") || !have("oscdump", "liblo-tools") {
        return;
    }
    let daemon = Setup::new("liblo").start();
    let dump = Dump::start();
    let answers = format!("osc.udp://localhost:{}/", dump.port);
    let send = |address: &str, types: &str, arguments: &[&str]| {
        let mut command = Command::new("oscsend");
        command.args(["127.0.0.1", &daemon.osc.port().to_string(), address, &format!("{types}s")]);
        let (sent, said) = run(command.args(arguments).arg(&answers));
        assert!(sent, "{said}");
    };
    // oscdump may not listen yet; asking again is what a person would do.
    while dump.lines.recv_timeout(Duration::from_millis(200)).is_err() {
        send("/hapticd/ping", "i", &["1"]);
    }
    send("/hapticd/status", "", &[]);
    dump.wait(&["/hapticd/status.reply", "\"DISABLED\" \"virtual_wall\""]);
    send("/hapticd/scene/load", "s", &["box_on_table"]);
    dump.wait(&["/hapticd/done", "\"/hapticd/scene/load\" \"box_on_table\""]);
    send("/hapticd/start", "", &[]);
    dump.wait(&["/hapticd/done", "\"/hapticd/start\""]);
    for (kind, number) in [("i", "300"), ("f", "310.5"), ("d", "320.25")] {
        send("/hapticd/coupling/stiffness", kind, &[number]);
        dump.wait(&["/hapticd/done", "\"/hapticd/coupling/stiffness\""]);
        send("/hapticd/coupling/stiffness", "", &[]);
        dump.wait(&["/hapticd/coupling/stiffness f", number]);
    }
    send("/hapticd/coupling/stiffness", "f", &["1e9"]);
    dump.wait(&["/hapticd/fail", "\"/hapticd/coupling/stiffness\" 422 "]);
    send("/hapticd/halt", "", &[]);
    dump.wait(&["/hapticd/done", "\"/hapticd/halt\""]);
    send("/hapticd/start", "", &[]);
    dump.wait(&["/hapticd/fail", "\"/hapticd/start\" 409 "]);
    // It is refused while the handle still moves.
    let acknowledged = (0..300).any(|_| {
        send("/hapticd/fault/ack", "", &[]);
        let done = dump.wait(&["\"/hapticd/fault/ack\""]).contains("/hapticd/done");
        std::thread::sleep(Duration::from_millis(if done { 0 } else { 100 }));
        done
    });
    assert!(acknowledged, "the fault cannot be acknowledged");
    for command in ["/hapticd/start", "/hapticd/stop"] {
        send(command, "", &[]);
        dump.wait(&["/hapticd/done", command]);
    }
    assert_eq!(daemon.status().0, "DISABLED");
    daemon.stop();
}

#[test]
fn a_lease_ends_when_its_client_has_died() {
    let _shared = beside_others();
    let daemon = Setup::new("lease").start();
    let Some(said) = python("vanish.py", &[daemon.osc.port()]) else { return };
    let figures: Vec<f64> = said.split(' ').map(|word| word.parse().expect("a number")).collect();
    let [port, lease_s, first_s] = figures[..] else { panic!("{said}") };
    // Whoever listens on that port now is sent a stream nobody there asked for, but not for long.
    let heir = Client::bound(&format!("127.0.0.1:{port}"), daemon.osc);
    let silence = Duration::from_secs(5);
    let mut last_s = None;
    while let Some(message) = heir.hear(silence) {
        if let ("/hapticd/stream/timing", [_, seconds, rest, ..]) = (message.addr.as_str(), &message.args[..]) {
            last_s = Some(float(seconds) + float(rest) * 1e-9);
        }
        assert!(last_s.is_none_or(|last_s| last_s < first_s + 2.0 * lease_s), "the stream does not end");
    }
    let went_on_s = last_s.expect("the stream had not ended at once") - first_s;
    say(&format!("a stream ended {went_on_s:.1} s after its client died; the lease is {lease_s:.0} s"));
    assert!(went_on_s <= lease_s + 0.5, "{went_on_s} s");
    daemon.stop();
}

#[test]
fn a_client_that_may_only_read_is_refused_but_may_halt() {
    let _shared = beside_others();
    let daemon = Setup::new("observer").osc("read_only = [\"127.0.0.2\"]\n").start();
    let (own, observer) = (Client::new(daemon.osc), Client::bound("127.0.0.2:0", daemon.osc));
    let stiffness = own.ask("/hapticd/coupling/stiffness", "/hapticd/coupling/stiffness");
    assert_eq!(observer.ask("/hapticd/coupling/stiffness", "/hapticd/coupling/stiffness"), stiffness);
    observer.done("/hapticd/subscribe", &["energy".into(), 10.0_f32.into()]);
    let half: OscType = (float(&stiffness[0]) as f32 / 2.0).into();
    for (address, arguments) in [
        ("/hapticd/coupling/stiffness", &[half.clone()][..]),
        ("/hapticd/start", &[]),
        ("/hapticd/scene/load", &["box_on_table".into()]),
        ("/hapticd/fault/ack", &[]),
    ] {
        let refused = observer.command(address, arguments).expect_err("it may only read");
        assert_eq!(refused.0, 403, "{address}: {refused:?}");
    }
    assert_eq!(own.ask("/hapticd/coupling/stiffness", "/hapticd/coupling/stiffness"), stiffness);
    own.done("/hapticd/coupling/stiffness", &[half]);
    own.done("/hapticd/start", &[]);
    own.done("/hapticd/notify", &[1.into()]);
    observer.done("/hapticd/halt", &[]);
    let fault = |message: &OscMessage| message.addr == "/hapticd/event/state" && message.args == ["FAULT".into()];
    assert!(own.wait(PATIENCE, fault).is_some(), "whoever may read may halt");
    daemon.stop();
}

#[test]
fn answers_go_to_the_senders_own_host_alone() {
    let _shared = beside_others();
    let daemon = Setup::new("reflector").start();
    let own = Client::new(daemon.osc);
    let elsewhere = UdpSocket::bind("127.0.0.3:0").expect("a socket");
    let port = elsewhere.local_addr().expect("an address").port();
    let url = OscType::String(format!("osc.udp://127.0.0.3:{port}/"));
    for address in ["/hapticd/ping", "/hapticd/status", "/hapticd/notify"] {
        let refused = own.command(address, std::slice::from_ref(&url)).expect_err("another host");
        assert_eq!(refused.0, 403, "{refused:?}");
    }
    let refused =
        own.command("/hapticd/subscribe", &["energy".into(), 100.0_f32.into(), url]).expect_err("another host");
    assert_eq!(refused.0, 403, "{refused:?}");
    elsewhere.set_read_timeout(Some(Duration::from_millis(300))).expect("a timeout");
    assert!(elsewhere.recv(&mut [0; 16]).is_err(), "the daemon can be turned on others");
    // To another port of the same host it goes.
    let beside = Client::new(daemon.osc);
    let url = format!("osc.udp://:{}", beside.port());
    own.send("/hapticd/ping", &[7.into(), url.as_str().into()]);
    let pong = beside.wait(PATIENCE, |message| message.addr == "/hapticd/pong").expect("an answer");
    assert_eq!(pong.args[0], OscType::Int(7));
    daemon.stop();
}

/// Seconds on the daemon's clock: everything sent before from the same client has been received by then.
fn now_s(client: &Client) -> f64 {
    let pong = client.ask("/hapticd/ping", "/hapticd/pong");
    float(&pong[2]) + float(&pong[3]) * 1e-9
}

#[test]
fn a_raw_force_expires_when_its_sender_falls_silent() {
    let _shared = beside_others();
    let daemon = Setup::new("force").osc("raw_force = true\n").start();
    let (sender, watcher) = (Client::new(daemon.osc), Client::new(daemon.osc));
    sender.done("/hapticd/operator/works", &[0.into()]);
    sender.done("/hapticd/start", &[]);
    watcher.done("/hapticd/subscribe", &["servo_cf".into(), 200.0_f32.into()]);
    let size = |message: &OscMessage| {
        let sum: f64 = message.args[3..6].iter().map(|part| float(part).powi(2)).sum();
        sum.sqrt()
    };
    // Push until the push is seen; the ramp after the start takes a while. A hand that rests has put no energy in, so the
    // ledger lets through only what friction takes up, 0.08 N of the half newton.
    let push = || sender.send("/hapticd/servo_cf", &[0.0_f32.into(), 0.5_f32.into(), 0.0_f32.into()]);
    let seen = |message: &OscMessage| message.addr == "/hapticd/stream/servo_cf" && size(message) > 0.04;
    let pushed = (0..3000).any(|_| {
        push();
        watcher.wait(Duration::from_millis(20), seen).is_some()
    });
    assert!(pushed, "the force is never felt");
    push();
    let last_s = now_s(&sender);
    let time_s = |message: &OscMessage| float(&message.args[1]) + float(&message.args[2]) * 1e-9;
    let mut felt_s = last_s;
    // Two seconds on the daemon's clock.
    while let Some(message) = watcher.wait(PATIENCE, |message| message.addr == "/hapticd/stream/servo_cf") {
        if size(&message) > 0.01 {
            felt_s = time_s(&message);
        }
        if time_s(&message) > last_s + 2.0 {
            break;
        }
    }
    let went_on_s = felt_s - last_s;
    say(&format!("a raw force was felt for {:.0} ms after its last message", went_on_s * 1e3));
    assert!(went_on_s <= 0.11, "{went_on_s} s");
    daemon.stop();
}
