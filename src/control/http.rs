//! The HTTP server: OSCQuery at `/` and below, `/metrics`, `/healthz`.
//!
//! Thread: control.
//!
//! Handlers know nothing of the daemon. Each turns a request into a [`Question`], puts it into a bounded queue and waits, not
//! for long, until the control loop has answered it. A page in a browser must not be able to reach the daemon through
//! its reader's machine: only reading is possible, the `Host` must be a name of this machine (else a foreign name that was
//! made to point here would do), and no other site is allowed to see an answer. Nothing a peer does or leaves undone holds
//! a connection for longer than [`Limits`] say.

use super::prometheus;
use super::query::{Attribute, Reply, decode};
use axum::Router;
use axum::body::{Body, HttpBody as _};
use axum::extract::{Request, State};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use serde_json::Value as Json;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::{AbortHandle, JoinHandle, JoinSet};
use tokio::time::timeout;

/// Questions that may wait for the control loop at once.
const QUEUE: usize = 64;
/// Largest head of a request, bytes. A browser with many cookies sends some kB.
const HEAD_MAX: usize = 16 * 1024;
/// Most header lines of a request.
const HEADERS_MAX: usize = 64;
/// Room the system keeps for what a peer has not taken yet, bytes.
const SEND_BYTES: usize = 128 * 1024;
/// Pause after the system refused a connection, as it does when it is out of file handles.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// How much a peer may use up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Connections at once; beyond, the one that has been silent for longest is closed for another.
    pub connections: usize,
    /// Time to send the head of a request, and for the next one to begin.
    pub head: Duration,
    /// Time the control loop has to answer.
    pub answer: Duration,
    /// Time after which a connection ends with the request at hand.
    pub life: Duration,
    /// Time for that last request, and for all of them when the server stops.
    pub grace: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 64,
            head: Duration::from_secs(5),
            answer: Duration::from_secs(2),
            life: Duration::from_secs(30),
            grace: Duration::from_secs(2),
        }
    }
}

/// What a request asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Question {
    /// A node of the address space, with all below it, or one attribute.
    Node {
        /// Its address.
        path: String,
        /// The attribute, or everything.
        attribute: Option<Attribute>,
    },
    /// Where OSC is spoken.
    HostInfo,
    /// The page of figures.
    Metrics,
    /// Whether the daemon is well.
    Health,
    /// What the scene looks like.
    Scene,
}

/// A question with the way back to who asked.
#[derive(Debug)]
pub struct Asked {
    /// What is asked.
    pub question: Question,
    reply: oneshot::Sender<Answer>,
}

impl Asked {
    /// Sends the answer. Whoever asked may have gone; then it goes nowhere.
    pub fn answer(self, answer: Answer) {
        let _ = self.reply.send(answer);
    }
}

/// What a request is answered with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    status: StatusCode,
    kind: &'static str,
    body: String,
}

impl Answer {
    /// A JSON document.
    #[must_use]
    pub fn json(json: &Json) -> Self {
        Self { status: StatusCode::OK, kind: "application/json", body: json.to_string() }
    }

    /// A page of figures, from [`prometheus::page`].
    #[must_use]
    pub fn metrics(page: String) -> Self {
        Self { status: StatusCode::OK, kind: prometheus::CONTENT_TYPE, body: page }
    }

    /// Well, or what is wrong.
    #[must_use]
    pub fn health(trouble: Option<&str>) -> Self {
        match trouble {
            None => Self::text(StatusCode::OK, "well"),
            Some(trouble) => Self::text(StatusCode::SERVICE_UNAVAILABLE, trouble),
        }
    }

    pub(super) fn text(status: StatusCode, text: impl Into<String>) -> Self {
        let mut body = text.into();
        body.push('\n');
        Self { status, kind: "text/plain; charset=utf-8", body }
    }
}

impl From<Reply> for Answer {
    fn from(reply: Reply) -> Self {
        match reply {
            Reply::Found(json) => Self::json(&json),
            Reply::Lacking => Self { status: StatusCode::NO_CONTENT, kind: "", body: String::new() },
            Reply::Unknown(None) => Self::text(StatusCode::NOT_FOUND, "no such address; GET / lists all"),
            Reply::Unknown(Some(near)) => {
                Self::text(StatusCode::NOT_FOUND, format!("no such address; did you mean {near}? GET / lists all"))
            }
        }
    }
}

impl IntoResponse for Answer {
    fn into_response(self) -> Response {
        let mut response = Response::new(Body::from(self.body));
        *response.status_mut() = self.status;
        if self.status != StatusCode::NO_CONTENT {
            response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(self.kind));
        }
        response
    }
}

/// Who is let in.
pub struct Door {
    /// Whether a peer may ask at all; those who may not are hung up on.
    pub admit: Box<dyn Fn(IpAddr) -> bool + Send + Sync>,
    /// Names of this machine, beside `localhost` and its addresses.
    pub names: Vec<String>,
}

/// A running server. Dropping it ends every connection at once.
#[derive(Debug)]
pub struct Server {
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Server {
    /// Serves `listener` until stopped; questions come out of the receiver. Call within a tokio runtime.
    #[must_use]
    pub fn start(listener: TcpListener, door: Door, limits: Limits) -> (Self, mpsc::Receiver<Asked>) {
        let (desk, asked) = Desk::new(limits);
        let router = Router::new()
            .route("/metrics", get(metrics))
            .route("/healthz", get(health))
            .fallback(node)
            .with_state(desk);
        (Self::with(router, listener, door, limits), asked)
    }

    /// Serves what `router` has to say, behind the same door.
    pub(super) fn with(router: Router, listener: TcpListener, door: Door, limits: Limits) -> Self {
        let (stop, stopped) = watch::channel(false);
        let door = Arc::new(door);
        let router = router.layer(middleware::from_fn_with_state(Arc::clone(&door), guard));
        let task = tokio::spawn(accept(listener, door, router, limits, stopped));
        Self { stop, task }
    }

    /// Takes no more connections, lets requests at hand finish for the time of [`Limits::grace`], then ends.
    pub async fn shutdown(mut self) {
        let _ = self.stop.send(true);
        // An error would be a panic or an abort: either way it has ended.
        let _ = (&mut self.task).await;
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// A connection that is open, as far as its server must know it.
struct Guest {
    /// Milliseconds after the server began at which something was last heard; [`BUSY`] while an answer is made.
    heard_ms: Arc<AtomicU64>,
    handle: AbortHandle,
}

/// An answer is being made.
const BUSY: u64 = u64::MAX;

/// The guest to be sent away for another: the one that has been silent for longest, unless all wait for their answers. Whoever sends a
/// head by the byte holds a place only as long as nobody else wants it.
fn most_silent(guests: &[Guest]) -> Option<usize> {
    let silent = guests.iter().enumerate().map(|(index, guest)| (guest.heard_ms.load(Ordering::Relaxed), index));
    silent.filter(|(heard_ms, _)| *heard_ms != BUSY).min().map(|(_, index)| index)
}

/// Takes up connections. Beyond the limit a silent one has to go; where all are at work the next waits in the system's own queue.
async fn accept(
    listener: TcpListener,
    door: Arc<Door>,
    router: Router,
    limits: Limits,
    mut stopped: watch::Receiver<bool>,
) {
    let began = Instant::now();
    let mut open = JoinSet::new();
    let mut guests: Vec<Guest> = Vec::new();
    loop {
        guests.retain(|guest| !guest.handle.is_finished());
        let room = guests.len() < limits.connections || most_silent(&guests).is_some();
        let accepted = tokio::select! {
            accepted = listener.accept(), if room => accepted,
            Some(_) = open.join_next() => continue,
            // A silent one may have become so without ending.
            () = tokio::time::sleep(ACCEPT_PAUSE), if !room => continue,
            _ = stopped.changed() => break,
        };
        let Ok((stream, peer)) = accepted else {
            tokio::time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        if !(door.admit)(peer.ip().to_canonical()) {
            continue;
        }
        if guests.len() >= limits.connections
            && let Some(silent) = most_silent(&guests)
        {
            guests.remove(silent).handle.abort();
        }
        let heard = Heard { ms: Arc::default(), began };
        heard.now();
        let heard_ms = Arc::clone(&heard.ms);
        let handle = open.spawn(serve(stream, router.clone(), limits, heard, stopped.clone()));
        guests.push(Guest { heard_ms, handle });
    }
    drop(listener);
    let all_closed = async { while open.join_next().await.is_some() {} };
    let _ = timeout(limits.grace, all_closed).await;
}

/// When a connection was last heard of.
#[derive(Clone)]
struct Heard {
    ms: Arc<AtomicU64>,
    began: Instant,
}

impl Heard {
    fn now(&self) {
        let ms = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(BUSY - 1);
        self.ms.store(ms, Ordering::Relaxed);
    }

    fn busy(&self) {
        self.ms.store(BUSY, Ordering::Relaxed);
    }
}

/// The two ends of a connection: the address it came in at, one of this machine's own, and that of the peer.
#[derive(Clone, Copy)]
pub(super) struct Ends {
    pub(super) local: IpAddr,
    pub(super) peer: IpAddr,
}

/// Serves one connection to its end, whatever the peer does.
async fn serve(stream: TcpStream, router: Router, limits: Limits, heard: Heard, mut stopped: watch::Receiver<bool>) {
    let (Ok(local), Ok(peer)) = (stream.local_addr(), stream.peer_addr()) else { return };
    let ends = Ends { local: local.ip().to_canonical(), peer: peer.ip().to_canonical() };
    // Small answers go at once, and one that is not taken does not pile up in the system. Without these it works too.
    let _ = stream.set_nodelay(true);
    let _ = rustix::net::sockopt::set_socket_send_buffer_size(&stream, SEND_BYTES);
    let router = TowerToHyperService::new(router);
    let service = service_fn(move |mut request: hyper::Request<hyper::body::Incoming>| {
        request.extensions_mut().insert(ends);
        heard.busy();
        let (answer, heard) = (router.call(request), heard.clone());
        async move {
            let answer = answer.await;
            heard.now();
            answer
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head)
        .max_headers(HEADERS_MAX)
        .max_header_size(HEAD_MAX)
        .max_buf_size(HEAD_MAX)
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades();
    let mut connection = std::pin::pin!(connection);
    tokio::select! {
        // How a connection failed is the peer's business; there is nobody to tell.
        _ = &mut connection => return,
        _ = tokio::time::sleep(limits.life) => {}
        _ = stopped.changed() => {}
    }
    connection.as_mut().graceful_shutdown();
    let _ = timeout(limits.grace, connection).await;
}

/// Judges every request before it is looked at further, and adds what every answer says.
async fn guard(State(door): State<Arc<Door>>, request: Request, next: Next) -> Response {
    let mut response = match door.refuse(&request) {
        Some(refusal) => refusal.into_response(),
        None => next.run(request).await,
    };
    let headers = response.headers_mut();
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    if response.status() == StatusCode::METHOD_NOT_ALLOWED {
        response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("GET, HEAD"));
    }
    response
}

impl Door {
    /// Why a request is not answered, if so.
    fn refuse(&self, request: &Request) -> Option<Answer> {
        let Some(host) = host(request.headers(), request.uri()) else {
            return Some(Answer::text(StatusCode::BAD_REQUEST, "one Host header is needed, with a name or an address"));
        };
        let local = request.extensions().get::<Ends>().map(|ends| ends.local);
        if !self.is_here(host.host(), local) {
            let text = "this Host is not a name of this machine; use localhost or an IP address";
            return Some(Answer::text(StatusCode::FORBIDDEN, text));
        }
        if ![Method::GET, Method::HEAD].contains(request.method()) {
            return Some(Answer::text(
                StatusCode::METHOD_NOT_ALLOWED,
                "only GET and HEAD; to change something, use OSC",
            ));
        }
        let bodied = !request.body().is_end_stream();
        bodied.then(|| Answer::text(StatusCode::PAYLOAD_TOO_LARGE, "a request here has no body"))
    }

    /// True for a name or address that means this machine, however a foreign name may resolve.
    fn is_here(&self, host: &str, local: Option<IpAddr>) -> bool {
        let bare = host.strip_prefix('[').and_then(|inner| inner.strip_suffix(']')).unwrap_or(host);
        if let Ok(address) = bare.parse::<IpAddr>() {
            let address = address.to_canonical();
            return address.is_loopback() || local == Some(address);
        }
        let name = bare.strip_suffix('.').unwrap_or(bare);
        name.eq_ignore_ascii_case("localhost") || self.names.iter().any(|known| known.eq_ignore_ascii_case(name))
    }
}

/// The one host a request is for. A request line with a host of its own must agree with the header.
fn host(headers: &HeaderMap, uri: &Uri) -> Option<Authority> {
    let mut written = headers.get_all(header::HOST).iter();
    let (Some(host), None) = (written.next(), written.next()) else { return None };
    let host: Authority = host.to_str().ok()?.parse().ok()?;
    match uri.authority() {
        Some(other) if *other != host => None,
        _ => Some(host),
    }
}

/// Where handlers hand in their questions.
#[derive(Clone)]
pub(super) struct Desk {
    questions: mpsc::Sender<Asked>,
    patience: Duration,
}

impl Desk {
    /// A desk, and where its questions come out.
    pub(super) fn new(limits: Limits) -> (Self, mpsc::Receiver<Asked>) {
        let (questions, asked) = mpsc::channel(QUEUE);
        (Self { questions, patience: limits.answer }, asked)
    }

    pub(super) async fn ask(&self, question: Question) -> Answer {
        let (reply, answer) = oneshot::channel();
        // A full queue is no reason to wait: the control loop is behind already.
        if self.questions.try_send(Asked { question, reply }).is_err() {
            return Answer::text(StatusCode::SERVICE_UNAVAILABLE, "too many requests wait; try again");
        }
        match timeout(self.patience, answer).await {
            Ok(Ok(answer)) => answer,
            _ => Answer::text(StatusCode::SERVICE_UNAVAILABLE, "the daemon did not answer in time; try again"),
        }
    }
}

async fn metrics(State(desk): State<Desk>) -> Answer {
    desk.ask(Question::Metrics).await
}

async fn health(State(desk): State<Desk>) -> Answer {
    desk.ask(Question::Health).await
}

async fn node(State(desk): State<Desk>, uri: Uri) -> Answer {
    look_up(&desk, uri.path(), uri.query()).await
}

/// The node at `path`, or the attribute that `query` names.
pub(super) async fn look_up(desk: &Desk, path: &str, query: Option<&str>) -> Answer {
    let attribute = match query {
        None | Some("") => None,
        Some("HOST_INFO") => return desk.ask(Question::HostInfo).await,
        Some(name) => match Attribute::named(name) {
            Some(attribute) => Some(attribute),
            None => {
                let known = Attribute::NAMES.join(", ");
                let text = format!("no such attribute; known are HOST_INFO, {known}");
                return Answer::text(StatusCode::BAD_REQUEST, text);
            }
        },
    };
    match decode(path) {
        Some(path) => desk.ask(Question::Node { path, attribute }).await,
        None => Answer::text(StatusCode::BAD_REQUEST, "the path is not percent-encoded UTF-8"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_this_machine_are_here() {
        let door = Door { admit: Box::new(|_| true), names: vec!["lab-pc".to_owned(), "lab-pc.local".to_owned()] };
        let local = "192.168.1.7".parse().ok();
        for host in
            ["localhost", "LocalHost.", "127.0.0.1", "127.1.2.3", "[::1]", "192.168.1.7", "lab-pc", "Lab-PC.local"]
        {
            assert!(door.is_here(host, local), "{host}");
        }
        let elsewhere =
            ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "192.168.1.8", "0.0.0.0", ""];
        for host in elsewhere {
            assert!(!door.is_here(host, local), "{host}");
        }
    }
}
