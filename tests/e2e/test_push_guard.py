# SPDX-License-Identifier: MIT
"""What a push tells of the network that the server is in."""
from conftest import wait_for


def error_of(w, host):
    w.call("QUEUE", "q", "PUSH_URL", f"http://{host}/", "ATTEMPTS", "1")
    id = w.call("SCHEDULE", "q", "a")
    wait_for(lambda: w.call("GET", id)["state"] == "dead", 60, "the push is over")
    return w.call("GET", id)["error"]


def test_a_name_that_does_not_resolve_and_one_inside_give_one_error(make_server):
    with make_server().wire() as w:
        assert error_of(w, "there-is-none.invalid") == error_of(w, "localhost:8080") == error_of(w, "10.1.2.3")


def test_a_bad_push_ports_is_refused_at_the_start(make_server):
    code, said = make_server(start=False).refused(push_ports="80,web")
    assert code != 0 and "web" in said and "push_ports" in said
