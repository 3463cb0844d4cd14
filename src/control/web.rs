//! The viewer's port: the page, the scene, the addresses, and the WebSocket that speaks OSC.
//!
//! Thread: control.
//!
//! The page can change things, so that the door is narrower than that of OSCQuery: besides the `Host`, a request that names
//! the page it comes from must come from this very one. The page itself may load nothing from elsewhere and hold no script
//! of its own, and no other page may frame it.

use super::alarm::Alarm;
use super::assets;
use super::http::{Answer, Asked, Desk, Door, Ends, Limits, Question, Server, look_up};
use super::socket::{Letter, Lobby, Post, talk};
use axum::body::Body;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Extension, Router};
use tokio::net::TcpListener;
use tokio::sync::mpsc;

/// What the page may load and do.
pub const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

/// Largest frame a socket may send, bytes.
pub const LONGEST_FRAME: usize = 64 * 1024;
/// Packets of all sockets that may wait for the control loop; beyond, sockets are not read.
const QUEUE: usize = 256;

/// A running server for viewers. Dropping it ends every connection.
pub struct WebServer {
    _server: Server,
    /// Whom packets can be sent to.
    pub lobby: Lobby,
    /// What sockets send.
    pub letters: mpsc::Receiver<Letter>,
    /// What requests ask.
    pub questions: mpsc::Receiver<Asked>,
}

#[derive(Clone)]
struct Reception {
    desk: Desk,
    lobby: Lobby,
    post: Post,
}

impl WebServer {
    /// Serves `listener` until dropped; sockets raise `alarm` when a halt comes in. Call within a tokio runtime.
    #[must_use]
    pub fn start(listener: TcpListener, door: Door, limits: Limits, alarm: Alarm) -> Self {
        let (desk, questions) = Desk::new(limits);
        let (sender, letters) = mpsc::channel(QUEUE);
        let lobby = Lobby::default();
        let router = Router::new()
            .route("/ws", get(socket))
            .route("/scene.json", get(scene))
            .route("/oscquery", get(addresses))
            .route("/oscquery/{*path}", get(addresses))
            .fallback(file)
            .with_state(Reception { desk, lobby: lobby.clone(), post: Post::new(sender, alarm) })
            .layer(middleware::from_fn(guard));
        Self { _server: Server::with(router, listener, door, limits), lobby, letters, questions }
    }
}

impl Drop for WebServer {
    fn drop(&mut self) {
        self.lobby.close();
    }
}

/// Refuses other pages, and says what this one may do.
async fn guard(request: Request, next: Next) -> Response {
    let mut response = if is_own(request.headers()) {
        next.run(request).await
    } else {
        Answer::text(StatusCode::FORBIDDEN, "another page sent this; open the viewer itself").into_response()
    };
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    response
}

/// True when no page is named as the origin, as by programs that are no browser, or this one is.
fn is_own(headers: &HeaderMap) -> bool {
    let mut origins = headers.get_all(header::ORIGIN).iter();
    let (origin, more) = (origins.next(), origins.next());
    let Some(origin) = origin else { return true };
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    let named = origin.to_str().ok().and_then(|origin| origin.strip_prefix("http://"));
    more.is_none() && named.zip(host).is_some_and(|(named, host)| named.eq_ignore_ascii_case(host))
}

async fn socket(
    State(reception): State<Reception>,
    Extension(ends): Extension<Ends>,
    upgrade: WebSocketUpgrade,
) -> Response {
    let Some(seat) = reception.lobby.enter(ends.peer) else {
        let text = "too many viewers; close one and try again";
        return Answer::text(StatusCode::SERVICE_UNAVAILABLE, text).into_response();
    };
    let post = reception.post;
    upgrade
        .max_message_size(LONGEST_FRAME)
        .max_frame_size(LONGEST_FRAME)
        .on_upgrade(move |socket| talk(socket, seat, post))
}

async fn scene(State(reception): State<Reception>) -> Answer {
    reception.desk.ask(Question::Scene).await
}

async fn addresses(State(reception): State<Reception>, uri: Uri) -> Answer {
    let path = uri.path().strip_prefix("/oscquery").unwrap_or_default();
    look_up(&reception.desk, if path.is_empty() { "/" } else { path }, uri.query()).await
}

async fn file(uri: Uri, headers: HeaderMap) -> Response {
    let path = uri.path().trim_start_matches('/');
    let Some(asset) = assets::find(if path.is_empty() { "index.html" } else { path }) else {
        return Answer::text(StatusCode::NOT_FOUND, "no such file; the viewer is at /").into_response();
    };
    let known = headers.get(header::IF_NONE_MATCH).is_some_and(|tag| tag.as_bytes() == asset.tag.as_bytes());
    let mut response = Response::new(if known { Body::empty() } else { Body::from(asset.bytes) });
    if known {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
    }
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(asset.kind));
    headers.insert(header::ETAG, HeaderValue::from_static(asset.tag));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_page_itself_is_its_own_origin() {
        let own = |origin: Option<&'static str>| {
            let mut headers = HeaderMap::new();
            headers.insert(header::HOST, HeaderValue::from_static("localhost:9742"));
            if let Some(origin) = origin {
                headers.insert(header::ORIGIN, HeaderValue::from_static(origin));
            }
            is_own(&headers)
        };
        assert!(own(None) && own(Some("http://localhost:9742")));
        for other in
            ["http://localhost", "http://localhost:9743", "https://localhost:9742", "http://evil.example", "null"]
        {
            assert!(!own(Some(other)), "{other}");
        }
    }
}
