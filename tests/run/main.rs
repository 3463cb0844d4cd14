//! `hapticd run` from outside: the real program, its ports, its signals, its files.

mod daemon;
mod loads;
mod recordings;

use daemon::{Daemon, Place, hapticd, wait};
use rosc::OscType;
use std::net::UdpSocket;
use std::os::unix::net::UnixDatagram;
use std::path::PathBuf;
use std::time::{Duration, Instant};

fn text(text: &str) -> OscType {
    OscType::String(text.into())
}

#[test]
fn it_comes_up_says_where_it_listens_and_ends_with_zero() {
    let place = Place::new("up");
    let mut daemon = Daemon::start(&place.config(""), &["--scene", "virtual_wall"]);
    assert_eq!(daemon.get_text("/hapticd/state"), "DISABLED");
    assert_eq!(daemon.get_text("/hapticd/scene/name"), "virtual_wall");
    assert_eq!(daemon.get_text("/hapticd/device/name"), "simulated-6dof");
    let tree = daemon.http("/");
    assert!(tree.starts_with("HTTP/1.1 200") && tree.contains("\"/hapticd/coupling/stiffness\""), "{tree}");
    assert!(tree.contains("\"/hapticd/halt\"") && !tree.contains("NAME"), "{tree}");
    assert!(daemon.http("/?HOST_INFO").contains("\"OSC_PORT\""));
    wait("ticks", || daemon.figure("hapticd_ticks_total") > 100.0, || daemon.log());
    assert!(daemon.http("/healthz").contains("well"));
    daemon.signal("TERM");
    assert_eq!(daemon.code(), Some(0), "{}", daemon.log());
}

#[test]
fn an_interrupt_while_enabled_ramps_down_and_ends_with_zero() {
    let place = Place::new("interrupt");
    let mut daemon = Daemon::start(&place.config(""), &["--scene", "virtual_wall"]);
    daemon.enable();
    daemon.signal("INT");
    assert_eq!(daemon.code(), Some(0), "{}", daemon.log());
}

#[test]
fn a_second_signal_ends_at_once_what_does_not_end_by_itself() {
    let place = Place::new("twice");
    let mut command =
        hapticd(&["--port", "0", "--query-port", "0", "--viewer-port", "0", "--allow-no-rt"], &place.config(""));
    let mut daemon = Daemon::spawn(command.env("HAPTICD_STALL_AFTER", "0s"));
    assert!(daemon.http("/healthz").contains("503"), "a loop that stands still is not well");
    let (code, said) = daemon.try_do("/hapticd/start", &[]).expect_err("nobody is there to do it");
    assert!(code == 503 && said.contains("within a second"), "{code} {said}");
    daemon.signal("TERM");
    daemon.wait_for_log("ending:");
    daemon.signal("TERM");
    assert_eq!(daemon.code(), Some(130), "{}", daemon.log());
}

#[test]
fn bad_files_ports_in_use_and_missing_rights_are_said_with_the_way_out() {
    let place = Place::new("refusals");
    let taken = UdpSocket::bind("127.0.0.1:0").expect("a port is free");
    let taken = taken.local_addr().map(|at| (taken, at.port().to_string())).expect("it is bound");
    let open = place.config("[osc]\nlisten = \"0.0.0.0\"\n[log]\nlevel = \"loud\"");
    let good = place.write("good.toml", "format = \"hapticd-config/1\"\n[realtime]\ncpu = 1023\n");
    let cases: [(&PathBuf, &[&str], i32, &[&str]); 5] = [
        (&open, &["--allow-no-rt"], 2, &["allow = [", "^^^", "`level` cannot be `loud`"]),
        (&place.0.join("none.toml"), &["--allow-no-rt"], 2, &["none.toml"]),
        (
            &good,
            &["--allow-no-rt", "--port", "0", "--query-port", "0", "--viewer-port", "0", "--scene", "peg_primitiv"],
            2,
            &["peg_primitive"],
        ),
        (&good, &["--allow-no-rt", "--port", &taken.1], 3, &["in use", "--port", &taken.1]),
        (&good, &["--port", "0", "--query-port", "0", "--viewer-port", "0"], 3, &["hapticd doctor", "--allow-no-rt"]),
    ];
    for (config, arguments, code, wanted) in cases {
        let output = hapticd(arguments, config).output().expect("the program starts");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}");
        for part in wanted {
            assert!(said.contains(part), "{arguments:?} does not say `{part}`:\n{said}");
        }
    }
}

/// The rows of a table of fault data, without its head.
fn rows(path: &str) -> Vec<Vec<String>> {
    let table = std::fs::read_to_string(path).expect("it is there");
    let mut lines = table.lines().map(|line| line.split(',').map(str::to_owned).collect::<Vec<_>>());
    assert_eq!(lines.next().expect("a head"), hapticd::daemon::run::FAULT_DATA_COLUMNS);
    lines.collect()
}

#[test]
fn a_halt_is_a_latched_fault_with_its_data_and_is_left_by_acknowledging() {
    let place = Place::new("halt");
    let daemon = Daemon::start(&place.config(""), &["--scene", "virtual_wall"]);
    daemon.enable_for(2500.0);
    daemon.must_do("/hapticd/halt", &[]);
    daemon.wait_for_state("FAULT");
    assert!(daemon.log().contains("Stopped by 127.0.0.1:"), "{}", daemon.log());
    let (code, said) = daemon.try_do("/hapticd/start", &[]).expect_err("not in FAULT");
    assert!(code == 409 && said.contains("acknowledge"), "{code} {said}");
    let line = daemon.wait_for_log("-F06.csv");
    assert!(line.contains("data of fault"), "{line}");
    let path = line.split(' ').find(|word| word.ends_with(".csv")).expect("a path").to_owned();
    assert!(path.ends_with("-F06.csv") && path.starts_with(&*place.0.to_string_lossy()), "{path}");
    let rows = rows(&path);
    let time = |row: &Vec<String>| row[0].parse::<f64>().expect("a number");
    let (before, after): (Vec<_>, Vec<_>) = rows.iter().partition(|row| time(row) <= 0.0);
    assert_eq!((before.len(), after.len()), (2000, 500));
    let ticks: Vec<u64> = rows.iter().map(|row| row[1].parse().expect("a number")).collect();
    assert!(ticks.windows(2).all(|pair| pair[1] == pair[0] + 1), "no tick is missing");
    assert_eq!((before[1999][2].as_str(), before[1998][2].as_str()), ("FAULT", "ENABLED"));
    let force = |row: &Vec<String>| row[17..20].iter().map(|f| f.parse::<f64>().expect("a number").abs()).sum::<f64>();
    assert!(after.iter().all(|row| row[2] == "FAULT" && force(row) == 0.0));
    // The hand may still move for a moment; then the fault can be acknowledged, and that starts nothing.
    wait("the acknowledge", || daemon.try_do("/hapticd/fault/ack", &[]).is_ok(), || daemon.log());
    daemon.wait_for_state("DISABLED");
    assert_eq!(daemon.try_do("/hapticd/fault/ack", &[]).expect_err("none waits").0, 404);
    daemon.enable();
}

#[test]
fn scenes_are_changed_in_disabled_only_and_a_broken_one_leaves_the_old() {
    let place = Place::new("scenes");
    let broken = hapticd::scene::shipped("virtual_wall").expect("it is shipped").replacen("N/m\"", "furlong\"", 1);
    place.write("scenes/broken.toml", &broken);
    let daemon = Daemon::start(&place.config(""), &["--scene", "virtual_wall"]);
    let load = |name: &str| daemon.try_do("/hapticd/scene/load", &[text(name)]);
    let (code, said) = load("broken").expect_err("no such unit");
    assert!(code == 422 && said.contains("broken.toml:") && said.contains("unknown unit"), "{code} {said}");
    daemon.wait_for_log("^^^");
    assert_eq!(load("nowhere").expect_err("no such scene").0, 404);
    assert_eq!(daemon.get_text("/hapticd/scene/name"), "virtual_wall");
    daemon.enable();
    assert_eq!(load("box_on_table").expect_err("not in ENABLED").0, 409);
    daemon.must_do("/hapticd/stop", &[]);
    daemon.wait_for_state("DISABLED");
    assert_eq!(load("box_on_table"), Ok(vec![text("box_on_table"), text("simulated-6dof")]));
    assert_eq!(daemon.get_text("/hapticd/scene/name"), "box_on_table");
    daemon.must_do("/hapticd/device/open", &[text("simulated-3dof")]);
    assert_eq!(daemon.get_text("/hapticd/device/name"), "simulated-3dof");
    daemon.must_do("/hapticd/scene/reload", &[]);
    daemon.enable();
}

#[test]
fn a_fault_that_comes_while_a_scene_is_loaded_stays_latched_in_the_new_one() {
    let place = Place::new("latch");
    let daemon = Daemon::start(&place.config(""), &["--scene", "virtual_wall"]);
    // The halt goes out without waiting for the scene, and may come before, while or after it is built.
    let acknowledge = || wait("the acknowledge", || daemon.try_do("/hapticd/fault/ack", &[]).is_ok(), || daemon.log());
    for scene in ["box_on_table", "peg_primitive", "virtual_wall"] {
        // A halt waits for nothing: on a busy machine it can be carried out before the load begins, which is then refused.
        let loads = (0..50).any(|_| {
            daemon.send("/hapticd/scene/load", &[text(scene)]);
            daemon.send("/hapticd/halt", &[]);
            daemon.wait_for_state("FAULT");
            wait("the load", || !daemon.is_busy(), || daemon.log());
            let loaded = daemon.get_text("/hapticd/scene/name") == scene;
            if !loaded {
                acknowledge();
                daemon.wait_for_state("DISABLED");
            }
            loaded
        });
        assert!(loads, "{scene} is never loaded:\n{}", daemon.log());
        assert_eq!(daemon.get_text("/hapticd/state"), "FAULT");
        assert_eq!(daemon.figure("hapticd_faults_latched{code=\"F06\"}"), 1.0, "{}", daemon.log());
        assert_eq!(daemon.try_do("/hapticd/start", &[]).expect_err("not in FAULT").0, 409);
        acknowledge();
        daemon.wait_for_state("DISABLED");
    }
}

#[test]
fn settings_reach_their_threads_and_the_operator_works_while_enabled() {
    let place = Place::new("settings");
    let daemon = Daemon::start(&place.config(""), &["--scene", "box_on_table"]);
    let stiffness = daemon.get("/hapticd/coupling/stiffness").float().expect("a number");
    daemon.must_do("/hapticd/coupling/stiffness", &[OscType::Float(stiffness * 0.5)]);
    assert_eq!(daemon.get("/hapticd/coupling/stiffness"), OscType::Float(stiffness * 0.5));
    assert_eq!(daemon.try_do("/hapticd/coupling/stiffness", &[OscType::Float(1e9)]).expect_err("too much").0, 422);
    let tree = daemon.http("/hapticd/material");
    let name =
        tree.split("\"/hapticd/material/").nth(1).and_then(|rest| rest.split(['/', '"']).next()).expect("a material");
    let friction = format!("/hapticd/material/{name}/friction");
    daemon.must_do(&friction, &[OscType::Float(0.25)]);
    assert_eq!(daemon.get(&friction), OscType::Float(0.25));
    daemon.must_do("/hapticd/operator/seed", &[OscType::Int(7)]);
    daemon.must_do("/hapticd/operator/works", &[OscType::Int(1)]);
    assert!(!daemon.log().contains("task: "), "nothing moves before the start");
    daemon.must_do("/hapticd/start", &[]);
    daemon.wait_for_log("task: ");
}

#[test]
fn a_recording_from_the_first_tick_on_runs_again_bit_for_bit_with_every_order_in_it() {
    let place = Place::new("again");
    let mut daemon = Daemon::start(&place.config(""), &["--scene", "box_on_table", "--record", "again"]);
    daemon.must_do("/hapticd/coupling/stiffness", &[OscType::Float(400.0)]);
    daemon.enable();
    let tree = daemon.http("/hapticd/material");
    let name =
        tree.split("\"/hapticd/material/").nth(1).and_then(|rest| rest.split(['/', '"']).next()).expect("a material");
    daemon.must_do(&format!("/hapticd/material/{name}/friction"), &[OscType::Float(0.25)]);
    let ticks = daemon.figure("hapticd_ticks_total");
    wait("two seconds", || daemon.figure("hapticd_ticks_total") > ticks + 2000.0, || daemon.log());
    daemon.must_do("/hapticd/pause", &[]);
    daemon.must_do("/hapticd/resume", &[]);
    daemon.must_do("/hapticd/halt", &[]);
    daemon.wait_for_state("FAULT");
    let line = daemon.wait_for_log("recording to ");
    let path = line.split("recording to ").nth(1).expect("a path").trim().to_owned();
    daemon.signal("TERM");
    assert_eq!(daemon.code(), Some(0), "{}", daemon.log());
    let program = env!("CARGO_BIN_EXE_hapticd");
    let output = std::process::Command::new(program).args(["replay", &path]).output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    println!("{said}");
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("every bit the same"), "{said}");
}

#[test]
fn a_recording_holds_the_ticks_of_its_time_and_ends_with_its_scene() {
    let place = Place::new("record");
    let daemon = Daemon::start(&place.config(""), &["--scene", "virtual_wall"]);
    assert_eq!(daemon.try_do("/hapticd/record/stop", &[]).expect_err("nothing is recorded").0, 409);
    let begun = daemon.must_do("/hapticd/record/start", &[text("trial 1")]);
    assert_eq!(daemon.try_do("/hapticd/record/start", &[]).expect_err("one is under way").0, 409);
    let ticks = daemon.figure("hapticd_ticks_total");
    wait("half a second", || daemon.figure("hapticd_ticks_total") > ticks + 500.0, || daemon.log());
    daemon.must_do("/hapticd/record/mark", &[text("here")]);
    let ended = daemon.must_do("/hapticd/record/stop", &[]);
    assert_eq!(begun, ended);
    let path = begun[0].clone().string().expect("a path");
    assert!(path.contains("virtual_wall-trial_1"), "{path}");
    let line = daemon.wait_for_log("recorded ");
    let recorded =
        line.split(" ticks").next().and_then(|text| text.rsplit('(').next()).and_then(|n| n.parse::<u32>().ok());
    assert!(recorded.is_some_and(|recorded| recorded >= 400) && !line.contains("LOST"), "{line}");
    daemon.must_do("/hapticd/record/start", &[]);
    daemon.must_do("/hapticd/scene/load", &[text("box_on_table")]);
    wait("its end", || daemon.log().matches("recorded ").count() == 2, || daemon.log());
    assert_eq!(daemon.try_do("/hapticd/record/mark", &[text("x")]).expect_err("nothing is recorded").0, 409);
}

#[test]
fn hang_up_reads_configuration_and_scene_again() {
    let place = Place::new("reload");
    let config = place.config("");
    let scene = hapticd::scene::shipped("virtual_wall").expect("it is shipped");
    place.write("scenes/mine.toml", scene);
    let mut daemon = Daemon::start(&config, &["--scene", "mine"]);
    daemon.signal("HUP");
    daemon.wait_for_log("loaded mine");
    daemon.wait_for_log("configuration read again");
    place.write("scenes/mine.toml", "format = \"hapticd-scene/1\"\n");
    daemon.signal("HUP");
    daemon.wait_for_log("mine stays");
    place.write("hapticd.toml", "format = \"hapticd-config/1\"\nnonsense = 1\n");
    daemon.enable();
    daemon.signal("HUP");
    daemon.wait_for_log("the configuration is wrong");
    daemon.wait_for_log("was not read again: only in DISABLED");
    assert!(daemon.is_running());
    assert_eq!(daemon.get_text("/hapticd/state"), "ENABLED");
}

#[test]
fn a_flood_keeps_neither_halt_nor_poll_waiting() {
    let place = Place::new("flood");
    let daemon = Daemon::start(&place.config(""), &["--scene", "virtual_wall"]);
    daemon.must_do("/hapticd/start", &[]);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| daemon.flood(20_000));
        }
        daemon.must_do("/hapticd/halt", &[]);
    });
    daemon.wait_for_state("FAULT");
    assert!(daemon.http("/healthz").contains("well"));
}

/// What a service manager hears until `until` holds for all of it.
fn listen(socket: &UnixDatagram, heard: &mut Vec<(Instant, String)>, until: impl Fn(&[(Instant, String)]) -> bool) {
    let began = Instant::now();
    let mut buffer = [0; 4096];
    while !until(heard) {
        assert!(began.elapsed() < Duration::from_secs(120), "{heard:?}");
        if let Ok(length) = socket.recv(&mut buffer) {
            heard.push((Instant::now(), String::from_utf8_lossy(&buffer[..length]).into_owned()));
        }
    }
}

#[test]
fn systemd_hears_ready_status_and_a_watchdog_that_only_a_living_loop_feeds() {
    let place = Place::new("notify");
    let path = place.0.join("notify");
    let socket = UnixDatagram::bind(&path).expect("it can be bound");
    socket.set_read_timeout(Some(Duration::from_millis(20))).expect("it can be set");
    let mut command =
        hapticd(&["--port", "0", "--query-port", "0", "--viewer-port", "0", "--allow-no-rt"], &place.config(""));
    command.env("NOTIFY_SOCKET", &path).env("WATCHDOG_USEC", "600000").env_remove("WATCHDOG_PID");
    let mut daemon = Daemon::spawn(command.env("HAPTICD_STALL_AFTER", "4s"));
    let mut heard = Vec::new();
    let says = |heard: &[(Instant, String)], word: &str| heard.iter().any(|(_, line)| line.contains(word));
    listen(&socket, &mut heard, |heard| says(heard, "READY=1") && says(heard, "WATCHDOG=1"));
    listen(&socket, &mut heard, |heard| says(heard, "STATUS=DISABLED peg_primitive, "));
    daemon.signal("HUP");
    listen(&socket, &mut heard, |heard| says(heard, "RELOADING=1\nMONOTONIC_USEC="));
    let readies = |heard: &[(Instant, String)]| heard.iter().filter(|(_, line)| line.contains("READY=1")).count();
    listen(&socket, &mut heard, |heard| readies(heard) == 2);
    // The reload has begun the time to the stall anew. Once it stalls, the status goes on and the watchdog starves.
    let starved = |heard: &[(Instant, String)]| {
        let last = |word: &str| heard.iter().rev().find(|(_, line)| line.contains(word)).map(|(at, _)| *at);
        last("STATUS=").zip(last("WATCHDOG=1")).is_some_and(|(status, fed)| status > fed + Duration::from_secs(2))
    };
    listen(&socket, &mut heard, starved);
    assert!(heard.iter().filter(|(_, line)| line.contains("WATCHDOG=1")).count() > 5);
    daemon.signal("TERM");
    listen(&socket, &mut heard, |heard| says(heard, "STOPPING=1"));
    assert_eq!(daemon.code(), Some(4), "a loop that hangs is no good end:\n{}", daemon.log());
}
