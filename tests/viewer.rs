//! The viewer's port of a running daemon: the page and who may have it, OSC over WebSockets, and peers that misbehave.

#![expect(clippy::panic, reason = "a test reports by panicking")]

#[path = "run/daemon.rs"]
#[expect(dead_code, reason = "shared with the tests of the service, which use the rest")]
mod daemon;

use daemon::{Daemon, Place, wait};
use hapticd::control::web::POLICY;
use hapticd::math::Random;
use rosc::{OscMessage, OscPacket, OscType};
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use tungstenite::handshake::client::generate_key;
use tungstenite::protocol::Role;
use tungstenite::{Message, WebSocket};

/// Given up after this.
const PATIENCE: Duration = Duration::from_secs(30);

fn start(name: &str) -> (Place, Daemon, SocketAddr) {
    start_scene(name, "box_on_table")
}

fn start_scene(name: &str, scene: &str) -> (Place, Daemon, SocketAddr) {
    let place = Place::new(&format!("viewer-{name}"));
    let daemon = Daemon::start(&place.config(""), &["--scene", scene, "--device", "simulated-3dof"]);
    let line = daemon.wait_for_log("viewer http://");
    let (_, at) = line.rsplit_once("viewer http://").expect("the line says so");
    let at = at.trim_end_matches('/').parse().expect("an address");
    (place, daemon, at)
}

fn connect(at: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(at).expect("it listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("it can be set");
    stream
}

/// The answer to a request with these lines beside the first, head and body apart.
fn request(at: SocketAddr, line: &str, headers: &str) -> (String, String) {
    let mut stream = connect(at);
    write!(stream, "{line} HTTP/1.1\r\nConnection: close\r\n{headers}\r\n").expect("it listens");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("text");
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    (head.to_lowercase(), body.to_owned())
}

fn get(at: SocketAddr, path: &str) -> (String, String) {
    request(at, &format!("GET {path}"), &format!("Host: {at}\r\n"))
}

/// A viewer.
struct Client {
    socket: WebSocket<TcpStream>,
}

/// The head of the answer to an attempt to open a WebSocket, and the connection behind it.
fn upgrade(at: SocketAddr, origin: &str) -> (String, TcpStream) {
    let mut stream = connect(at);
    let key = generate_key();
    write!(
        stream,
        "GET /ws HTTP/1.1\r\nHost: {at}\r\n{origin}Connection: Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n\r\n"
    )
    .expect("it listens");
    // By the byte: what follows the head belongs to the socket.
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|count| count == 1) {
        head.push(byte[0]);
    }
    (String::from_utf8_lossy(&head).into_owned(), stream)
}

impl Client {
    fn new(at: SocketAddr) -> Self {
        Self::try_new(at).unwrap_or_else(|head| panic!("no socket: {head}"))
    }

    fn try_new(at: SocketAddr) -> Result<Self, String> {
        let (head, stream) = upgrade(at, &format!("Origin: http://{at}\r\n"));
        if !head.starts_with("HTTP/1.1 101") {
            return Err(head);
        }
        stream.set_read_timeout(Some(Duration::from_millis(50))).expect("it can be set");
        Ok(Self { socket: WebSocket::from_raw_socket(stream, Role::Client, None) })
    }

    fn send(&mut self, address: &str, args: &[OscType]) {
        let message = OscPacket::Message(OscMessage { addr: address.into(), args: args.to_vec() });
        let bytes = rosc::encoder::encode(&message).expect("it can be encoded");
        self.socket.send(Message::binary(bytes)).expect("it can be sent");
    }

    /// The next message, if one comes soon; `Err` when the socket is closed.
    fn next(&mut self) -> Result<Option<OscMessage>, tungstenite::Error> {
        match self.socket.read() {
            Ok(Message::Binary(bytes)) => match rosc::decoder::decode_udp(&bytes) {
                Ok(([], OscPacket::Message(message))) => Ok(Some(message)),
                other => panic!("not a message: {other:?}"),
            },
            Ok(Message::Text(text)) => panic!("text from the daemon: {text}"),
            Ok(_) => Ok(None),
            Err(tungstenite::Error::Io(error))
                if [ErrorKind::WouldBlock, ErrorKind::TimedOut].contains(&error.kind()) =>
            {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Reads until `pick` takes a message; all that came before it is left out.
    fn wait<T>(&mut self, what: &str, mut pick: impl FnMut(&OscMessage) -> Option<T>) -> T {
        let began = Instant::now();
        while began.elapsed() < PATIENCE {
            if let Some(message) = self.next().expect("it is open")
                && let Some(picked) = pick(&message)
            {
                return picked;
            }
        }
        panic!("waited for {what}")
    }

    /// `done` or the code of `fail` for what was asked at `address`.
    fn outcome(&mut self, address: &str, args: &[OscType]) -> Result<Vec<OscType>, i32> {
        self.send(address, args);
        self.wait(address, |message| match (message.addr.as_str(), message.args.as_slice()) {
            ("/hapticd/done", [OscType::String(of), rest @ ..]) if of == address => Some(Ok(rest.to_vec())),
            ("/hapticd/fail", [OscType::String(of), OscType::Int(code), _]) if of == address => Some(Err(*code)),
            _ => None,
        })
    }

    fn ping(&mut self, number: i32) {
        self.send("/hapticd/ping", &[OscType::Int(number)]);
        self.wait("pong", |message| {
            (message.addr == "/hapticd/pong" && message.args[0] == OscType::Int(number)).then_some(())
        });
    }

    /// True once the daemon has closed the socket.
    fn is_closed(&mut self) -> bool {
        self.next().is_err()
    }
}

fn s(text: &str) -> OscType {
    OscType::String(text.into())
}

fn f(number: f32) -> OscType {
    OscType::Float(number)
}

fn floats(blob: &OscType) -> Vec<f32> {
    let OscType::Blob(bytes) = blob else { panic!("a blob wanted: {blob:?}") };
    bytes.chunks(4).map(|four| f32::from_le_bytes(four.try_into().expect("four bytes"))).collect()
}

#[test]
fn the_page_is_served_to_itself_alone() {
    let (_place, daemon, at) = start("page");
    let (head, body) = get(at, "/");
    assert!(head.starts_with("http/1.1 200") && head.contains("content-type: text/html"), "{head}");
    assert!(head.contains(&format!("content-security-policy: {POLICY}")), "{head}");
    assert!(
        POLICY.contains(
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'"
        )
    );
    assert!(head.contains("x-content-type-options: nosniff") && POLICY.contains("frame-ancestors 'none'"), "{head}");
    assert!(body.contains("<html"), "{body}");
    let tag = head.lines().find_map(|line| line.strip_prefix("etag: ")).expect("a tag").to_owned();
    let (head, body) = request(at, "GET /", &format!("Host: {at}\r\nIf-None-Match: {tag}\r\n"));
    assert!(head.starts_with("http/1.1 304") && body.is_empty(), "{head}");
    for (line, headers, code) in [
        ("GET /", "Host: evil.example\r\n".to_owned(), 403),
        ("GET /", format!("Host: {at}\r\nOrigin: http://evil.example\r\n"), 403),
        ("GET /scene.json", format!("Host: {at}\r\nOrigin: null\r\n"), 403),
        ("GET /scene.json", format!("Host: {at}\r\nOrigin: http://{at}\r\n"), 200),
        ("POST /", format!("Host: {at}\r\n"), 405),
        ("GET /../Cargo.toml", format!("Host: {at}\r\n"), 404),
        ("GET /assets/nothing.js", format!("Host: {at}\r\n"), 404),
        ("GET /ws", format!("Host: {at}\r\n"), 400),
    ] {
        let (head, _) = request(at, line, &headers);
        assert!(head.starts_with(&format!("http/1.1 {code}")), "{line} with {headers}: {head}");
    }
    let (head, _) = upgrade(at, "Origin: http://evil.example\r\n");
    assert!(head.starts_with("HTTP/1.1 403"), "{head}");
    // The same tree as OSCQuery's, with the same questions.
    for path in ["/hapticd/coupling", "/hapticd/coupling/stiffness?RANGE"] {
        let (_, body) = get(at, &format!("/oscquery{path}"));
        let other = daemon.http(path);
        assert!(body.starts_with('{') && other.ends_with(&body), "{path}: {body} is not of {other}");
    }
    assert!(get(at, "/oscquery").1.contains("\"FULL_PATH\":\"/\""));
    let scene: serde_json::Value = serde_json::from_str(&get(at, "/scene.json").1).expect("JSON");
    assert_eq!((scene["scene"].as_str(), scene["device"].as_str()), (Some("box_on_table"), Some("simulated-3dof")));
    let goals = scene["goals"].as_array().expect("a list");
    assert!(goals.contains(&"pushed".into()) && goals.contains(&"tipped".into()), "{goals:?}");
}

#[test]
fn a_viewer_sees_sets_and_stops() {
    let (_place, _daemon, at) = start("drives");
    let mut client = Client::new(at);
    // Nothing comes unasked; text is ignored.
    client.socket.send(Message::text("/hapticd/halt")).expect("it can be sent");
    assert_eq!(client.next().expect("open"), None);
    client.send("/hapticd/notify", &[OscType::Int(1)]);
    let mut told = Vec::new();
    client.wait("all that is known", |message| {
        told.push(message.addr.clone());
        (message.addr == "/hapticd/done").then_some(())
    });
    for address in ["/hapticd/state", "/hapticd/scene/name", "/hapticd/coupling/stiffness"] {
        assert!(told.iter().any(|one| one == address), "{address} not in {told:?}");
    }
    for stream in ["scene", "ticks"] {
        assert!(client.outcome("/hapticd/subscribe", &[s(stream), f(30.0)]).is_ok());
    }
    assert_eq!(client.outcome("/hapticd/coupling/stiffness", &[f(1e9)]), Err(422));
    assert!(client.outcome("/hapticd/coupling/stiffness", &[f(500.0)]).is_ok());
    client.send("/hapticd/coupling/stiffness", &[]);
    let value = client.wait("stiffness", |m| (m.addr == "/hapticd/coupling/stiffness").then(|| m.args[0].clone()));
    assert_eq!(value, f(500.0));
    assert!(client.outcome("/hapticd/start", &[]).is_ok());
    // The operator pushes the box: sooner or later the hand feels a contact, and the body moves.
    let mut bodies = Vec::new();
    client.wait("a contact", |message| {
        if message.addr != "/hapticd/stream/scene" {
            return None;
        }
        let numbers = floats(&message.args[3]);
        let contacts = numbers[17] as usize;
        assert_eq!(numbers[18 + 6 * contacts], 2.0, "table and box");
        assert_eq!(numbers.len(), 19 + 6 * contacts + 2 * 7);
        assert!(numbers.iter().all(|number| number.is_finite()));
        let tool: f32 = numbers[3..7].iter().map(|q| q * q).sum();
        assert!((tool - 1.0).abs() < 1e-3, "a unit quaternion");
        bodies = numbers[19 + 6 * contacts..].to_vec();
        let force = |n: usize| numbers[18 + 6 * n + 3..][..3].iter().map(|x| x * x).sum::<f32>().sqrt();
        (0..contacts).any(|n| force(n) > 0.05).then_some(())
    });
    assert!(client.outcome("/hapticd/halt", &[]).is_ok());
    let state = client.wait("FAULT", |m| (m.addr == "/hapticd/event/state").then(|| m.args[0].clone()));
    assert_eq!(state, s("FAULT"));
    let cause = client.wait("the fault", |m| (m.addr == "/hapticd/event/fault").then(|| m.args[7].clone()));
    assert!(cause.clone().string().is_some_and(|text| text.contains("viewer 1 at 127.0.0.1")), "{cause:?}");
}

/// Follows the stream of ticks; every tick counts once.
#[derive(Default)]
struct Ticks {
    next: Option<i32>,
    count: i32,
    gaps: u32,
    pictures: u32,
}

impl Ticks {
    fn take(&mut self, message: &OscMessage) {
        self.pictures += u32::from(message.addr == "/hapticd/stream/scene");
        if message.addr != "/hapticd/stream/ticks" {
            return;
        }
        let [OscType::Int(first), OscType::Int(count), blob] = message.args.as_slice() else { panic!("{message:?}") };
        assert_eq!(floats(blob).len(), 8 * usize::try_from(*count).expect("not negative"));
        self.gaps += u32::from(self.next.is_some_and(|next| next != *first));
        self.next = Some(first + count);
        self.count += count;
    }
}

#[test]
fn ten_viewers_get_every_tick() {
    let (_place, daemon, at) = start("ten");
    let viewers: Vec<_> = (0..10)
        .map(|_| {
            std::thread::spawn(move || {
                let mut client = Client::new(at);
                for stream in ["scene", "ticks"] {
                    client.send("/hapticd/subscribe", &[s(stream), f(30.0)]);
                }
                let mut ticks = Ticks::default();
                client.wait("three thousand ticks", |message| {
                    ticks.take(message);
                    (ticks.count >= 3000).then_some(())
                });
                ticks
            })
        })
        .collect();
    let skipped = |daemon: &Daemon| daemon.figure("hapticd_ticks_skipped_total");
    let before = skipped(&daemon);
    let all: Vec<Ticks> = viewers.into_iter().map(|viewer| viewer.join().expect("it ends well")).collect();
    // What the loop itself skipped on a busy machine is missing for everyone; nothing else is.
    let own = (skipped(&daemon) - before) as u32;
    for ticks in all {
        assert!(ticks.gaps <= own, "{} gaps, {own} ticks skipped", ticks.gaps);
        assert!(ticks.pictures > 0, "no picture of the scene");
    }
    assert_eq!(daemon.figure("hapticd_osc_messages_total{outcome=\"unsent\"}"), 0.0);
}

#[test]
fn too_long_a_frame_and_too_many_sockets_are_refused() {
    let (_place, _daemon, at) = start("bounds");
    let mut client = Client::new(at);
    client.socket.send(Message::binary(vec![0; 65_000])).expect("it can be sent");
    client.ping(1);
    // The daemon may have hung up before all of it is out.
    let _ = client.socket.send(Message::binary(vec![0; 70_000]));
    wait("the end of the socket", || client.is_closed(), String::new);
    let mut all: Vec<Client> = Vec::new();
    let refusal = loop {
        match Client::try_new(at) {
            Ok(client) => all.push(client),
            Err(head) => break head,
        }
        assert!(all.len() <= 32, "one too many");
    };
    assert!(refusal.starts_with("HTTP/1.1 503"), "{refusal}");
    assert!(all.len() >= 31, "{} sockets", all.len());
    all.pop();
    wait("a seat", || Client::try_new(at).is_ok(), String::new);
    all[0].ping(2);
}

/// Something a hostile page or a broken program might send.
fn nonsense(random: &mut Random) -> Message {
    let below = |random: &mut Random, bound: u64| (random.bits() % bound) as usize;
    let length = below(random, 200);
    let mut bytes: Vec<u8> = (0..length).map(|_| random.bits() as u8).collect();
    match below(random, 6) {
        0 => Message::text(String::from_utf8_lossy(&bytes).into_owned()),
        1 => Message::Ping(bytes.into_iter().take(100).collect::<Vec<u8>>().into()),
        2 => Message::Pong(Vec::new().into()),
        3 => {
            let mut start = b"/hapticd/subscribe\0\0,sf\0".to_vec();
            start.append(&mut bytes);
            Message::binary(start)
        }
        4 => {
            let mut start = b"#bundle\0\0\0\0\0\0\0\0\x01".to_vec();
            start.append(&mut bytes);
            Message::binary(start)
        }
        _ => Message::binary(bytes),
    }
}

#[test]
fn ten_thousand_frames_of_nonsense_leave_the_daemon_well() {
    let (_place, mut daemon, at) = start("fuzz");
    let mut good = Client::new(at);
    good.ping(0);
    let mut random = Random::new(42);
    let mut bad = Client::new(at);
    for n in 0..10_000 {
        let frame = if n % 500 == 499 {
            // Bytes that are no frame at all.
            let raw: Vec<u8> = (0..64).map(|_| random.bits() as u8).collect();
            let _ = bad.socket.get_mut().write_all(&raw);
            None
        } else {
            Some(nonsense(&mut random))
        };
        let sent = frame.is_none_or(|frame| bad.socket.send(frame).is_ok());
        if !sent || n % 500 == 499 {
            bad = Client::new(at);
        }
        if n % 1000 == 0 {
            good.ping(n);
        }
    }
    good.ping(10_000);
    assert!(daemon.is_running());
    assert_eq!(daemon.get_text("/hapticd/state"), "DISABLED");
}

/// A demo, ended with the test.
struct Demo(std::process::Child);

impl Drop for Demo {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_demo_can_be_watched_and_halted_and_leaves_its_results() {
    let place = Place::new("viewer-demo");
    let out = place.0.join("results");
    let mut command = Command::new(env!("CARGO_BIN_EXE_hapticd"));
    command.args(["demo", "box_on_table", "--priority", "0", "--out"]).arg(&out).stdout(Stdio::piped());
    let mut demo = Demo(command.spawn().expect("it starts"));
    let mut lines = BufReader::new(demo.0.stdout.take().expect("piped")).lines().map_while(Result::ok);
    let line = lines.find(|line| line.starts_with("viewer   http://")).expect("it says where");
    let at = line.trim_start_matches("viewer   http://").trim_end_matches('/').parse().expect("an address");
    assert!(get(at, "/scene.json").1.contains("box_on_table"));
    let mut client = Client::new(at);
    assert!(client.outcome("/hapticd/subscribe", &[s("ticks"), f(30.0)]).is_ok());
    let mut ticks = Ticks::default();
    client.wait("ticks", |message| {
        ticks.take(message);
        (ticks.count > 200).then_some(())
    });
    assert_eq!(client.outcome("/hapticd/disable", &[]), Err(403), "a demo goes by itself");
    assert!(client.outcome("/hapticd/halt", &[]).is_ok());
    let rest: Vec<String> = lines.collect();
    assert!(rest.iter().any(|line| line.contains("halted from the viewer")), "{rest:?}");
    assert_eq!(demo.0.wait().expect("it ends").code(), Some(4));
    for name in ["box_on_table.mcap", "box_on_table.html", "box_on_table.json"] {
        assert!(out.join(name).metadata().is_ok_and(|file| file.len() > 100), "{name}");
    }
}

/// The points of a skin in one message, four numbers each, if it is one with all of them.
fn skin_points(message: &OscMessage) -> Option<Vec<f32>> {
    let [.., OscType::Int(0), OscType::Int(first), OscType::Int(whole), blob] = message.args.as_slice() else {
        return None;
    };
    let points = floats(blob);
    assert!(points.iter().all(|number| number.is_finite()));
    (message.addr == "/hapticd/stream/skin" && *first == 0 && points.len() == 4 * *whole as usize).then_some(points)
}

#[test]
fn a_socket_is_seen_to_bend_while_a_plug_goes_in() {
    let (_place, _daemon, at) = start_scene("bends", "snap_connector");
    let scene: serde_json::Value = serde_json::from_str(&get(at, "/scene.json").1).expect("JSON");
    let skin = &scene["skins"][0];
    assert_eq!((skin["name"].as_str(), scene["skins"].as_array().map(Vec::len)), (Some("socket"), Some(1)));
    assert_eq!(scene["bodies"][0]["shape"]["kind"], "skin", "drawn once");
    let rest: Vec<Vec<f64>> = serde_json::from_value(skin["vertices"].clone()).expect("points");
    let full = skin["stress_full_pa"].as_f64().expect("a stress") as f32;
    let mut client = Client::new(at);
    assert!(client.outcome("/hapticd/subscribe", &[s("skin"), f(30.0)]).is_ok());
    assert!(client.outcome("/hapticd/start", &[]).is_ok());
    let farthest = |points: &[f32]| {
        assert_eq!(points.len(), 4 * rest.len());
        let apart = |(now, rest): (&[f32], &Vec<f64>)| {
            (0..3).map(|k| (f64::from(now[k]) - rest[k]).powi(2)).sum::<f64>().sqrt()
        };
        points.chunks_exact(4).zip(&rest).map(apart).fold(0.0, f64::max)
    };
    // Its prongs open as the plug rides up, under stress, and come back when it is home.
    client.wait("the prongs to open", |message| {
        let points = skin_points(message)?;
        let stress = points.chunks_exact(4).map(|point| point[3]).fold(0.0, f32::max);
        (farthest(&points) > 4e-4 && stress > 0.3 * full).then_some(())
    });
    client.wait("the click", |message| (farthest(&skin_points(message)?) < 1e-4).then_some(()));
}

/// Memory of the daemon in RAM, kB.
fn resident_kb(daemon: &Daemon) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", daemon.id())).expect("it runs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("Linux says so");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

#[test]
fn a_socket_that_takes_nothing_is_closed() {
    let (_place, daemon, at) = start("stalled");
    let mut good = Client::new(at);
    good.ping(1);
    let before = resident_kb(&daemon);
    let mut stalled = Client::new(at);
    let streams = ["measured_cp", "measured_cv", "servo_cf", "contact", "energy", "timing", "task", "scene"];
    for stream in streams {
        stalled.send("/hapticd/subscribe", &[s(stream), f(450.0)]);
    }
    // It reads nothing from now on; its lease would last for 30 s.
    let open = || daemon.figure("hapticd_queue_waiting{queue=\"viewers\"}");
    wait("one viewer less", || open() == 1.0, || daemon.log());
    daemon.wait_for_log("took nothing for 2 s");
    assert!(resident_kb(&daemon) < before + 20_000, "{before} kB have become {} kB", resident_kb(&daemon));
    good.ping(2);
    wait("its lease to end", || daemon.figure("hapticd_streams") == 0.0, || daemon.log());
}
