"""Reads the daemon's OSCQuery tree with python-oscquery. usage: query.py HTTP_PORT OSC_PORT"""

import json
import socket
import sys

from pythonoscquery.osc_query_client import OSCQueryClient
from pythonoscquery.shared.osc_access import OSCAccess
from pythonoscquery.shared.oscquery_spec import OSCQueryAttribute
from talk import expect
from zeroconf import ServiceInfo


def main():
    http_port, osc_port = int(sys.argv[1]), int(sys.argv[2])
    kind = "_oscjson._tcp.local."
    there = ServiceInfo(kind, f"hapticd.{kind}", port=http_port, addresses=[socket.inet_aton("127.0.0.1")])
    client = OSCQueryClient(there)

    host = client.get_host_info()
    expect(host is not None and host.osc_port == osc_port, f"HOST_INFO names port {host and host.osc_port}, not {osc_port}")
    expect(host.osc_transport == "UDP" and "hapticd" in host.name, f"HOST_INFO: {host.name} {host.osc_transport}")

    root = client.query_node("/")
    expect(root is not None, "no tree")
    paths = sorted(walk(root))
    for wanted in ("/hapticd/halt", "/hapticd/coupling/stiffness", "/hapticd/stream/measured_cp"):
        expect(wanted in paths, f"{wanted} is not in the tree: {paths}")

    node = client.query_node("/hapticd/coupling/stiffness")
    expect(node.attributes[OSCQueryAttribute.ACCESS] == OSCAccess.READWRITE_VALUE, f"access of {node}")
    (value,) = client.last_json["VALUE"]
    (bounds,) = client.last_json["RANGE"]
    expect(bounds["MIN"] <= value <= bounds["MAX"], f"{value} is outside {bounds}")
    expect(client.query_node("/hapticd/nowhere") is None, "a node that does not exist")
    print(json.dumps({"paths": len(paths)}))


def walk(node):
    yield node.attributes[OSCQueryAttribute.FULL_PATH]
    for below in node.attributes[OSCQueryAttribute.CONTENTS] or []:
        yield from walk(below)


if __name__ == "__main__":
    main()
