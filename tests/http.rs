//! The HTTP server over real loopback sockets, with requests written by hand: answers, refusals, and peers that do not
//! behave. Nothing here judges speed; time limits of the server are set short where a test waits for them.

use hapticd::control::http::{Answer, Asked, Door, Limits, Question, Server};
use hapticd::control::plant::{Range, Value};
use hapticd::control::prometheus::{self, Metrics};
use hapticd::control::query::{self, Argument, Host, Node, Use};
use std::io::{Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, oneshot};

/// When a test gives up waiting.
const GIVE_UP: Duration = Duration::from_secs(30);

fn nodes() -> Vec<Node> {
    let stiffness = Argument {
        tag: 'f',
        value: Some(Value::Float(700.0)),
        range: Some(Range::Numbers { least: 0.0, most: 2000.0 }),
        unit: Some("N/m"),
    };
    let node = |path: &str, access, arguments| Node {
        path: path.to_owned(),
        description: "A node.".to_owned(),
        access,
        arguments,
        critical: false,
        tags: Vec::new(),
    };
    vec![
        node("/hapticd/coupling/stiffness", Use::ReadWrite, vec![stiffness]),
        node("/hapticd/halt", Use::Write, vec![]),
        node("/hapticd/material/%C3%B6l%20film/friction", Use::Read, vec![]),
    ]
}

/// The control loop's part, as the daemon would do it.
fn answer(question: &Question) -> Answer {
    match question {
        Question::Node { path, attribute } => query::answer(&nodes(), path, *attribute).into(),
        Question::HostInfo => {
            let osc = SocketAddr::from((Ipv4Addr::LOCALHOST, 9740));
            Answer::json(&query::host_info(&Host { name: "hapticd".to_owned(), osc }))
        }
        Question::Scene => unreachable!("only the viewer's port asks that"),
        Question::Metrics => Answer::metrics(prometheus::page(&Metrics::default())),
        Question::Health => Answer::health(None),
    }
}

/// A server on its own thread, with a control loop that answers or lets everything lie.
struct Running {
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Running {
    fn start(limits: Limits, admit: fn(IpAddr) -> bool, answers: bool) -> Self {
        let (stop, stopped) = oneshot::channel();
        let (told, address) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(async move {
                let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
                told.send(listener.local_addr().expect("an address")).expect("the test listens");
                let door = Door { admit: Box::new(admit), names: vec!["lab-pc".to_owned()] };
                let (server, asked) = Server::start(listener, door, limits);
                tokio::select! {
                    () = control(asked, answers) => {}
                    _ = stopped => {}
                }
                server.shutdown().await;
            });
        });
        let address = address.recv_timeout(GIVE_UP).expect("the server starts");
        Self { address, stop: Some(stop), thread: Some(thread) }
    }

    fn usual() -> Self {
        Self::start(Limits::default(), |_| true, true)
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect_timeout(&self.address, GIVE_UP).expect("connected");
        stream.set_read_timeout(Some(GIVE_UP)).expect("set");
        stream.set_write_timeout(Some(GIVE_UP)).expect("set");
        stream
    }

    /// Sends `request` and reads until the server hangs up.
    fn exchange(&self, request: &[u8]) -> String {
        let mut stream = self.connect();
        let _ = stream.write_all(request);
        rest(&mut stream)
    }

    fn get(&self, target: &str) -> Page {
        let request = format!("GET {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        Page::read(&self.exchange(request.as_bytes()))
    }

    /// The server still serves.
    fn is_well(&self) {
        assert_eq!(self.get("/healthz").status, 200);
    }

    fn stop(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            thread.join().expect("the server does not panic");
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.stop();
        }
    }
}

async fn control(mut asked: mpsc::Receiver<Asked>, answers: bool) {
    let mut kept = Vec::new();
    while let Some(asked) = asked.recv().await {
        if answers {
            let answer = answer(&asked.question);
            asked.answer(answer);
        } else {
            kept.push(asked);
        }
    }
}

/// What comes until the peer hangs up. A reset after the last byte is how a refused half request may end.
fn rest(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    let began = Instant::now();
    let mut part = [0; 4096];
    loop {
        assert!(began.elapsed() < GIVE_UP, "the server neither answers nor hangs up");
        match stream.read(&mut part) {
            Ok(0) => break,
            Ok(count) => bytes.extend_from_slice(&part[..count]),
            Err(error) => {
                assert_ne!(error.kind(), std::io::ErrorKind::WouldBlock, "the server neither answers nor hangs up");
                break;
            }
        }
    }
    String::from_utf8(bytes).expect("text")
}

/// An answer taken apart.
#[derive(Debug)]
struct Page {
    status: u16,
    head: String,
    body: String,
}

impl Page {
    fn read(text: &str) -> Self {
        let (head, body) = text.split_once("\r\n\r\n").expect("a whole answer");
        let status = head.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3)).expect("a status line");
        Self { status: status.parse().expect("a number"), head: head.to_lowercase(), body: body.to_owned() }
    }

    fn json(&self) -> serde_json::Value {
        assert!(self.head.contains("content-type: application/json"), "{}", self.head);
        serde_json::from_str(&self.body).expect("JSON")
    }
}

#[test]
fn oscquery_is_answered_at_every_path() {
    let server = Running::usual();
    let tree = server.get("/").json();
    let stiffness = &tree["CONTENTS"]["hapticd"]["CONTENTS"]["coupling"]["CONTENTS"]["stiffness"];
    assert_eq!(stiffness["VALUE"][0], 700.0);
    assert_eq!(server.get("/hapticd/coupling/stiffness").json(), *stiffness);
    assert_eq!(server.get("/hapticd/coupling/stiffness?VALUE").body, r#"{"VALUE":[700.0]}"#);
    assert_eq!(server.get("/?").json(), tree);
    assert_eq!(server.get("/?HOST_INFO").json()["OSC_PORT"], 9740);
    // An address with percent signs of its own, asked for as it stands and encoded once more.
    for oil in ["%C3%B6l%20film", "%25C3%25B6l%2520film"] {
        let oil = server.get(&format!("/hapticd/material/{oil}/friction?FULL_PATH")).json();
        assert_eq!(oil["FULL_PATH"], "/hapticd/material/%C3%B6l%20film/friction");
    }
    let lacking = server.get("/hapticd/halt?RANGE");
    assert_eq!((lacking.status, lacking.body.as_str()), (204, ""));
    let unknown = server.get("/hapticd/coupling/stifness");
    assert!(unknown.status == 404 && unknown.body.contains("did you mean /hapticd/coupling/stiffness?"), "{unknown:?}");
    let attribute = server.get("/hapticd/halt?VALUES");
    assert!(attribute.status == 400 && attribute.body.contains("VALUE, RANGE"), "{attribute:?}");
    assert_eq!(server.get("/%ff").status, 400);
}

#[test]
fn metrics_and_health_have_their_own_paths() {
    let server = Running::usual();
    let metrics = server.get("/metrics");
    assert!(metrics.head.contains("content-type: text/plain; version=0.0.4"), "{}", metrics.head);
    assert!(metrics.body.contains("\nhapticd_state{state=\"DISABLED\"} 1\n"));
    assert_eq!(server.get("/healthz").body, "well\n");
}

#[test]
fn every_answer_forbids_sniffing_and_storing_and_opens_nothing_to_other_sites() {
    let server = Running::usual();
    let post = b"POST / HTTP/1.1\r\nHost: localhost\r\nOrigin: http://evil.example\r\nConnection: close\r\n\r\n";
    let foreign = b"GET / HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n";
    let mut pages = vec![Page::read(&server.exchange(post)), Page::read(&server.exchange(foreign))];
    pages.extend(["/", "/metrics", "/healthz", "/no/such", "/?NO"].map(|target| server.get(target)));
    for page in pages {
        assert!(page.head.contains("x-content-type-options: nosniff"), "{}", page.head);
        assert!(page.head.contains("cache-control: no-store"), "{}", page.head);
        assert!(!page.head.contains("access-control-"), "{}", page.head);
    }
}

#[test]
fn only_get_and_head_without_a_body_are_answered() {
    let server = Running::usual();
    for method in ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "BREW"] {
        for target in ["/", "/metrics"] {
            let request = format!("{method} {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
            let page = Page::read(&server.exchange(request.as_bytes()));
            assert_eq!(page.status, 405, "{method}");
            assert!(page.head.contains("allow: get, head"), "{}", page.head);
        }
    }
    let whole = server.get("/metrics");
    let head = server.exchange(b"HEAD /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    let head = Page::read(&head);
    assert_eq!((head.status, head.body.as_str()), (200, ""));
    assert!(head.head.contains(&format!("content-length: {}", whole.body.len())), "{}", head.head);
    let bodied = b"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\nConnection: close\r\n\r\nx";
    assert_eq!(Page::read(&server.exchange(bodied)).status, 413);
}

#[test]
fn a_foreign_host_is_refused_whatever_it_resolves_to() {
    let server = Running::usual();
    let ask = |line: &str, hosts: &str| {
        Page::read(&server.exchange(format!("{line}\r\n{hosts}Connection: close\r\n\r\n").as_bytes())).status
    };
    let get = "GET / HTTP/1.1";
    for host in ["localhost", "LOCALHOST:9741", "127.0.0.1", "127.0.0.1:80", "[::1]:9741", "lab-pc:9741"] {
        assert_eq!(ask(get, &format!("Host: {host}\r\n")), 200, "{host}");
    }
    for host in ["evil.example", "evil.example:9741", "localhost.evil.example", "10.0.0.1", "0.0.0.0", "[fe80::1]"] {
        assert_eq!(ask(get, &format!("Host: {host}\r\n")), 403, "{host}");
    }
    for hosts in ["", "Host:\r\n", "Host: localhost\r\nHost: evil.example\r\n", "Host: a b\r\n", "Host: \u{e9}\r\n"] {
        assert_eq!(ask(get, hosts), 400, "{hosts:?}");
    }
    assert_eq!(ask("GET http://localhost/ HTTP/1.1", "Host: localhost\r\n"), 200);
    assert_eq!(ask("GET http://evil.example/ HTTP/1.1", "Host: localhost\r\n"), 400);
}

#[test]
fn a_peer_that_is_not_admitted_gets_no_word() {
    let server = Running::start(Limits::default(), |_| false, true);
    assert_eq!(server.exchange(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"), "");
}

#[test]
fn one_connection_serves_many_requests() {
    let server = Running::usual();
    let mut stream = server.connect();
    let one = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let last = "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    stream.write_all(format!("{}{last}", one.repeat(50)).as_bytes()).expect("written");
    assert_eq!(rest(&mut stream).matches("HTTP/1.1 200 OK").count(), 51);
}

#[test]
fn a_control_loop_that_does_not_answer_is_not_waited_for() {
    let limits = Limits { answer: Duration::from_millis(50), ..Limits::default() };
    let server = Running::start(limits, |_| true, false);
    for target in ["/", "/metrics", "/?HOST_INFO"] {
        let page = server.get(target);
        assert!(page.status == 503 && page.body.contains("did not answer in time"), "{page:?}");
    }
}

#[test]
fn garbage_is_answered_with_an_error_or_a_hang_up() {
    let server = Running::usual();
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut noise = |length: usize| -> Vec<u8> {
        let mut byte = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 32) as u8
        };
        (0..length).map(|_| byte()).collect()
    };
    let mut requests: Vec<Vec<u8>> = (0..200).map(|n| noise(1 + n * 7)).collect();
    requests.extend(
        [
            &b"\r\n\r\n\r\n\r\n"[..],
            b"GET\r\n\r\n",
            b"GET / HTTP/9.9\r\n\r\n",
            b"GET  /  HTTP/1.1\r\nHost: localhost\r\n\r\n",
            b"GET / HTTP/1.1\r\nHost localhost\r\n\r\n",
            b"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
            b"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
            b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
            b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
            b"/hapticd/halt\0\0\0,\0\0\0",
        ]
        .map(<[u8]>::to_vec),
    );
    for request in requests {
        let mut stream = server.connect();
        let _ = stream.write_all(&request);
        // The end of what is sent: what looks like the beginning of a head is not waited for.
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let said = rest(&mut stream);
        assert!(
            said.is_empty() || said.starts_with("HTTP/1.1 4"),
            "{:?} got {said}",
            String::from_utf8_lossy(&request)
        );
    }
    server.is_well();
}

#[test]
fn a_head_that_never_ends_is_cut_off_by_size() {
    let server = Running::usual();
    let long_line = format!("GET /{} HTTP/1.1\r\nHost: localhost\r\n\r\n", "x".repeat(1_000_000));
    let long_header = format!("GET / HTTP/1.1\r\nHost: localhost\r\nX: {}\r\n\r\n", "x".repeat(1_000_000));
    let many = format!("GET / HTTP/1.1\r\nHost: localhost\r\n{}\r\n", "X: y\r\n".repeat(1_000));
    for request in [long_line, long_header, many] {
        let said = server.exchange(request.as_bytes());
        assert!(said.is_empty() || said.starts_with("HTTP/1.1 4"), "{said}");
    }
    server.is_well();
}

#[test]
fn a_request_that_is_never_finished_does_not_keep_its_place() {
    let limits = Limits { connections: 4, head: Duration::from_millis(300), ..Limits::default() };
    let server = Running::start(limits, |_| true, true);
    // More than there is room for: half a head each, and some that say nothing at all.
    let mut halves: Vec<TcpStream> = (0..12).map(|_| server.connect()).collect();
    for stream in halves.iter_mut().skip(2) {
        stream.write_all(b"GET / HTTP/1.1\r\nHost: local").expect("written");
    }
    server.is_well();
    for stream in &mut halves {
        assert!(!rest(stream).contains("200 OK"));
    }
}

#[test]
fn heads_that_come_by_the_byte_keep_no_new_page_waiting() {
    // They may take for ever: nobody has to wait for it.
    let for_ever = Duration::from_secs(3600);
    let limits = Limits { connections: 8, head: for_ever, life: for_ever, ..Limits::default() };
    let server = Running::start(limits, |_| true, true);
    let slow: Vec<TcpStream> = (0..40).map(|_| server.connect()).collect();
    for byte in b"GET / HTTP/1.1\r\nHost: local" {
        for mut stream in &slow {
            // Some have been sent away by now.
            let _ = stream.write_all(&[*byte]);
        }
    }
    for _ in 0..20 {
        server.is_well();
    }
    // Those that were closed were the ones that had been silent for longest.
    let kept = server.connect();
    (0..6).for_each(|_| server.is_well());
    let mut kept = kept;
    kept.write_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").expect("it is open");
    assert!(rest(&mut kept).contains("200 OK"));
}

#[test]
fn one_that_does_not_read_is_ended_by_its_lifetime() {
    let short = Duration::from_millis(300);
    let limits = Limits { connections: 2, life: short, grace: short, ..Limits::default() };
    let server = Running::start(limits, |_| true, true);
    // Asks for more than the system's buffers hold, and reads none of it.
    let mut deaf: Vec<TcpStream> = (0..2).map(|_| server.connect()).collect();
    let many = "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(20_000);
    for stream in &mut deaf {
        stream.set_write_timeout(Some(short)).expect("set");
        let _ = stream.write_all(many.as_bytes());
    }
    server.is_well();
}

/// Memory the process holds, bytes.
fn resident() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").expect("Linux");
    let pages: usize = statm.split(' ').nth(1).and_then(|n| n.parse().ok()).expect("a number");
    pages * 4096
}

#[test]
fn a_thousand_rapid_connections_are_served_in_bounded_memory() {
    let server = Running::usual();
    server.is_well();
    let before = resident();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for round in 0..250 {
                    match round % 3 {
                        0 => drop(server.connect()),
                        1 => assert_eq!(server.get("/").status, 200),
                        _ => drop(server.connect().write_all(b"GET / HT")),
                    }
                }
            });
        }
    });
    server.is_well();
    let grown = resident().saturating_sub(before);
    assert!(grown < 64 << 20, "{grown} bytes more");
}

#[test]
fn stopping_ends_idle_connections_and_frees_the_port() {
    let mut server = Running::usual();
    let mut idle = server.connect();
    idle.write_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n").expect("written");
    let mut first = [0; 12];
    idle.read_exact(&mut first).expect("an answer");
    assert_eq!(&first, b"HTTP/1.1 200");
    let address = server.address;
    server.stop();
    assert!(rest(&mut idle).ends_with("well\n"));
    assert!(TcpStream::connect_timeout(&address, GIVE_UP).is_err());
}
