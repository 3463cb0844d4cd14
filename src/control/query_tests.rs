//! What the tree says: shape, attributes, and answers to what is not there.

use super::plant::{Range, Value};
use super::query::*;
use serde_json::{Value as Json, json};

fn argument(tag: char, value: Option<Value>, range: Option<Range>, unit: Option<&'static str>) -> Argument {
    Argument { tag, value, range, unit }
}

fn node(path: &str, access: Use, arguments: Vec<Argument>) -> Node {
    Node {
        path: path.to_owned(),
        description: format!("About {path}."),
        access,
        arguments,
        critical: false,
        tags: Vec::new(),
    }
}

/// A number with a unit, words, a command, a command with an argument, a stream.
fn nodes() -> Vec<Node> {
    let stiffness = Range::Numbers { least: 0.0, most: 2000.0 };
    let skill = Range::Words(vec!["novice", "trained"]);
    let axis = |value| argument('f', Some(Value::Float(value)), None, Some("m"));
    vec![
        node(
            "/hapticd/coupling/stiffness",
            Use::ReadWrite,
            vec![argument('f', Some(Value::Float(700.0)), Some(stiffness), Some("N/m"))],
        ),
        node(
            "/hapticd/operator/skill",
            Use::ReadWrite,
            vec![argument('s', Some(Value::Text("novice".to_owned())), Some(skill), None)],
        ),
        Node { critical: true, tags: vec!["safety"], ..node("/hapticd/halt", Use::Write, vec![]) },
        node("/hapticd/scene/load", Use::Write, vec![argument('s', None, None, None)]),
        node("/hapticd/stream/measured_cp", Use::Read, vec![axis(0.1), axis(0.2), axis(f64::NAN)]),
    ]
}

fn found(path: &str, attribute: Option<&str>) -> Json {
    let attribute = attribute.map(|name| Attribute::named(name).expect("a name that is known"));
    let reply = answer(&nodes(), path, attribute);
    assert!(matches!(reply, Reply::Found(_)), "{path}: {reply:?}");
    if let Reply::Found(json) = reply { json } else { Json::Null }
}

#[test]
fn a_parameter_carries_type_value_range_and_unit() {
    assert_eq!(
        found("/hapticd/coupling/stiffness", None),
        json!({
            "FULL_PATH": "/hapticd/coupling/stiffness", "ACCESS": 3, "TYPE": "f", "VALUE": [700.0],
            "RANGE": [{ "MIN": 0.0, "MAX": 2000.0 }], "CLIPMODE": ["none"], "UNIT": ["N/m"],
            "DESCRIPTION": "About /hapticd/coupling/stiffness.", "CRITICAL": false,
        })
    );
    assert_eq!(
        found("/hapticd/operator/skill", Some("RANGE")),
        json!({ "RANGE": [{ "VALS": ["novice", "trained"] }] })
    );
}

#[test]
fn a_float_without_fraction_stays_a_float() {
    assert_eq!(found("/hapticd/coupling/stiffness", Some("VALUE")).to_string(), r#"{"VALUE":[700.0]}"#);
}

#[test]
fn every_container_has_access_zero_and_every_method_is_where_its_path_says() {
    fn walk(json: &Json, path: &str, methods: &mut Vec<String>) {
        let full = json["FULL_PATH"].as_str().expect("every node has a path");
        assert_eq!(full, if path.is_empty() { "/" } else { path });
        match json.get("CONTENTS") {
            Some(contents) => {
                assert_eq!(json["ACCESS"], 0, "{full}");
                assert!(json.get("VALUE").is_none() && json.get("TYPE").is_none(), "{full}");
                for (name, child) in contents.as_object().expect("an object") {
                    walk(child, &format!("{path}/{name}"), methods);
                }
            }
            None => {
                let values = json["VALUE"].as_array().expect("what is no container has a value");
                assert_eq!(values.len(), json["TYPE"].as_str().expect("a type").len(), "{full}");
                methods.push(full.to_owned());
            }
        }
    }
    let mut methods = Vec::new();
    walk(&found("/", None), "", &mut methods);
    let mut wanted: Vec<String> = nodes().into_iter().map(|node| node.path).collect();
    wanted.sort();
    methods.sort();
    assert_eq!(methods, wanted);
}

#[test]
fn a_command_is_an_impulse_and_what_cannot_be_read_has_no_value_of_its_own() {
    let halt = found("/hapticd/halt", None);
    assert_eq!((&halt["TYPE"], &halt["ACCESS"], &halt["VALUE"]), (&json!("I"), &json!(2), &json!([null])));
    assert_eq!((&halt["CRITICAL"], &halt["TAGS"]), (&json!(true), &json!(["safety"])));
    let value = Attribute::named("VALUE");
    for path in ["/hapticd/halt", "/hapticd/scene/load", "/hapticd", "/"] {
        assert_eq!(answer(&nodes(), path, value), Reply::Lacking, "{path}");
    }
    assert_eq!(found("/hapticd/stream/measured_cp", Some("VALUE")), json!({ "VALUE": [0.1, 0.2, null] }));
}

#[test]
fn an_attribute_that_a_node_lacks_is_told_from_one_that_does_not_exist() {
    assert_eq!(answer(&nodes(), "/hapticd/scene/load", Attribute::named("RANGE")), Reply::Lacking);
    assert_eq!(answer(&nodes(), "/hapticd/scene/load", Attribute::named("CONTENTS")), Reply::Lacking);
    assert_eq!(answer(&nodes(), "/hapticd/stream/measured_cp", Attribute::named("TAGS")), Reply::Lacking);
    for name in ["", "value", "VALUES", "HOST_INFO", "RANGE=1"] {
        assert_eq!(Attribute::named(name), None, "{name}");
    }
    for name in Attribute::NAMES {
        assert!(Attribute::named(name).is_some());
    }
}

#[test]
fn a_trailing_slash_changes_nothing_and_an_unknown_path_gets_the_nearest() {
    assert_eq!(found("/hapticd/", None), found("/hapticd", None));
    assert_eq!(found("/hapticd/halt/", None), found("/hapticd/halt", None));
    let misspelt = answer(&nodes(), "/hapticd/coupling/stifness", None);
    assert_eq!(misspelt, Reply::Unknown(Some("/hapticd/coupling/stiffness".to_owned())));
    for path in ["/elsewhere", "/hapticd/halt/now", "//hapticd", "/hapticd//halt", "/HAPTICD/x"] {
        assert!(matches!(answer(&nodes(), path, None), Reply::Unknown(_)), "{path}");
    }
    assert_eq!(answer(&nodes(), &format!("/{}", "x".repeat(100_000)), None), Reply::Unknown(None));
}

#[test]
fn an_empty_address_space_is_an_empty_container() {
    assert_eq!(answer(&[], "/", None), Reply::Found(json!({ "FULL_PATH": "/", "ACCESS": 0, "CONTENTS": {} })));
}

#[test]
fn a_socket_bound_to_every_address_tells_no_address() {
    let host = |osc: &str| host_info(&Host { name: "lab".to_owned(), osc: osc.parse().expect("an address") });
    let bound = host("192.168.1.7:9740");
    assert_eq!((&bound["NAME"], &bound["OSC_IP"]), (&json!("lab"), &json!("192.168.1.7")));
    assert_eq!((&bound["OSC_PORT"], &bound["OSC_TRANSPORT"]), (&json!(9740), &json!("UDP")));
    assert_eq!(bound["EXTENSIONS"]["VALUE"], true);
    assert!(host("0.0.0.0:9740").get("OSC_IP").is_none());
    assert!(host("[::]:9740").get("OSC_IP").is_none());
}

#[test]
fn percent_signs_are_decoded_or_refused() {
    let good = [("/a/b", "/a/b"), ("/%C3%a4", "/ä"), ("/a%2Fb%20c", "/a/b c"), ("/%25", "/%"), ("", "")];
    for (written, meant) in good {
        assert_eq!(decode(written).as_deref(), Some(meant));
    }
    for written in ["/%", "/%a", "/%zz", "/%+1", "/%ff", "/%C3", "/%é"] {
        assert_eq!(decode(written), None, "{written}");
    }
}

#[test]
fn a_name_with_percent_signs_is_found_as_written_and_as_meant() {
    let address = "/hapticd/material/%C3%B6l%20film/friction";
    let nodes = [node(address, Use::Read, vec![argument('f', Some(Value::Float(0.1)), None, None)])];
    for path in [address, "/hapticd/material/öl film/friction"] {
        let found = answer(&nodes, path, Attribute::named("FULL_PATH"));
        assert_eq!(found, Reply::Found(json!({ "FULL_PATH": address })), "{path}");
    }
    for path in ["/hapticd/material/%c3%b6l/friction", "/hapticd/material/öl/friction"] {
        assert!(matches!(answer(&nodes, path, None), Reply::Unknown(_)), "{path}");
    }
}
