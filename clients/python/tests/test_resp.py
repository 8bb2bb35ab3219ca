# SPDX-License-Identifier: MIT
"""The protocol and the words, without a server."""

import datetime as dt
import os
import pathlib
import subprocess
import sys
import unittest
from unittest import mock

import belfry
from belfry import options, times, url, words
from belfry.resp import Parser, ProtocolError, encode

EVERY = (b"+OK\r\n:-7\r\n$3\r\na\r\n\r\n_\r\n#t\r\n#f\r\n,1.5\r\n$-1\r\n"
         b"%2\r\n+payload\r\n$2\r\n\xff\x00\r\n$1\r\nm\r\n%0\r\n*3\r\n:1\r\n*0\r\n-STALE lease no longer held\r\n"
         b"!13\r\nSTATE is\r\nodd\r\n=8\r\ntxt:text\r\n$2\r\n\xff\xfe\r\n")


class Replies(unittest.TestCase):
    def test_each_kind_in_chunks_of_every_size(self):
        found = []
        Parser(found.append).push(EVERY)
        array = found[9]
        self.assertEqual(found[:9], ["OK", -7, "a\r\n", None, True, False, 1.5, None,
                                     {"payload": b"\xff\x00", "m": {}}])
        self.assertEqual(array[:2], [1, []])
        self.assertIsInstance(array[2], belfry.StaleError)
        self.assertEqual((found[10].code, str(found[10])), ("STATE", "is\r\nodd"))
        self.assertEqual(found[11:], ["text", b"\xff\xfe"])
        whole = repr(found)
        for size in (1, 2, 3, 7, 50):
            again = []
            parser = Parser(again.append)
            for at in range(0, len(EVERY), size):
                parser.push(EVERY[at:at + size])
            self.assertEqual(repr(again), whole)

    def test_what_is_no_reply(self):
        for data in (b"HTTP/1.1 400\r\n", b":x\r\n", b"$1x\r\n", b"+" + b"a" * 70000):
            with self.assertRaises(ProtocolError, msg=data[:20]):
                Parser(print).push(data)

    def test_requests(self):
        self.assertEqual(encode(["GET", 7, b"\xff", "ä"]), b"*4\r\n$3\r\nGET\r\n$1\r\n7\r\n$1\r\n\xff\r\n$2\r\n\xc3\xa4\r\n")
        for word in (None, 1.5, True, {}):
            with self.assertRaises(TypeError):
                encode(["GET", word])


class Times(unittest.TestCase):
    def test_durations(self):
        for value, word in ((5, "5000ms"), (0.0001, "1ms"), ("1h30m", "1h30m"), (dt.timedelta(seconds=1.5), "1500ms"),
                            (dt.timedelta(microseconds=1), "1ms"), (0.3, "300ms"), (0, "0ms")):
            self.assertEqual(times.duration_word(value), word)
        self.assertEqual(times.seconds("1m30.5s"), 90.5)
        for value in (-1, "soon", "", None, True, float("inf"), dt.timedelta(seconds=-1), "5 m"):
            with self.assertRaises(TypeError, msg=value):
                times.duration_word(value)

    def test_moments(self):
        at = dt.datetime(2027, 1, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=1)))
        self.assertEqual(times.moment_word(at), "1798761600000")
        self.assertEqual(times.moment_of(1798761600000), at)
        self.assertEqual(times.moment_word(1798761600.5), "1798761600500")
        with self.assertRaisesRegex(ValueError, "zone"):
            times.moment_word(dt.datetime(2027, 1, 1))

    def test_backoffs(self):
        self.assertEqual(times.backoff_word([1, "5m", dt.timedelta(hours=1)]), "1000ms,5m,3600000ms")
        self.assertEqual(times.backoff_word("exp:1s:1h"), "exp:1s:1h")
        with self.assertRaises(TypeError):
            times.backoff_word(5)


class Words(unittest.TestCase):
    def test_an_unknown_option_says_what_to_write(self):
        with self.assertRaisesRegex(TypeError, "countdown: say in_"):
            words.option_words("SCHEDULE", {"countdown": 5})
        with self.assertRaisesRegex(TypeError, "unknown option colour; there are in_"):
            words.option_words("SCHEDULE", {"colour": 5})
        with self.assertRaisesRegex(ValueError, "without seconds"):
            words.option_words("RECUR", {"cron": "0 30 9 * * 1"})

    def test_words_of_each_kind(self):
        self.assertEqual(
            words.option_words("SCHEDULE", {"tags": ["a", "b"], "meta": {"k": 1}, "notify": True, "key": b"\xff",
                                            "after": [belfry.Scheduled(id="X"), "Y"], "expire": None}),
            ["TAG", "a", "TAG", "b", "META", "k", "1", "NOTIFY", "yes", "KEY", b"\xff", "AFTER", "X", "AFTER", "Y"])
        for name, value in (("notify", 1), ("priority", "3"), ("meta", ["a"]), ("key", 1.5)):
            with self.assertRaises(TypeError, msg=name):
                words.option_words("SCHEDULE", {name: value})

    def test_types_have_the_options_of_the_tables(self):
        typed = {"SCHEDULE": options.JobOptions, "CLONE": options.CloneOptions, "EDIT": options.EditOptions,
                 "RECUR": options.RecurOptions, "PREVIEW": options.PreviewOptions, "LIST": options.ListOptions,
                 "BULK": options.BulkOptions, "QUEUE": options.QueueSettings, "TENANT": options.TenantSettings,
                 "FORECAST": options.ForecastOptions}
        for verb, kind in typed.items():
            self.assertEqual(set(kind.__annotations__), set(words.TABLES[verb]), verb)


class Urls(unittest.TestCase):
    def test_the_parts(self):
        found = url.config_of("belfry://shop.SECRET@jobs.example:99?tls&tenant=acme")
        self.assertEqual((found.host, found.port, found.token, found.tls, found.tenant),
                         ("jobs.example", 99, "shop.SECRET", True, "acme"))
        self.assertEqual(url.config_of("belfry://shop:SECRET@h").token, "shop.SECRET")
        self.assertEqual(url.config_of("belfry://[::1]:7").where, "[::1]:7")
        for text in ("redis://h", "belfry:", "belfry://h?colour=1", "belfry://h:0", "belfry://h:x"):
            with self.assertRaises(ValueError, msg=text):
                url.config_of(text)

    def test_the_environment(self):
        with mock.patch.dict(os.environ, {"BELFRY_URL": "belfry://there:7", "BELFRY_AUTH": "a.b"}):
            found = url.config_of()
            self.assertEqual((found.host, found.port, found.token), ("there", 7, "a.b"))
            self.assertEqual(url.config_of(port=8).host, "127.0.0.1")


class Package(unittest.TestCase):
    def test_it_uses_the_standard_library_alone(self):
        program = "import sys; before = set(sys.modules); import belfry; print(*sorted(set(sys.modules) - before))"
        home = pathlib.Path(belfry.__file__).resolve().parents[1]
        done = subprocess.run([sys.executable, "-S", "-c", program], cwd=home, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        tops = {name.split(".")[0] for name in done.stdout.split()} - {"belfry"}
        if sys.version_info >= (3, 10):
            self.assertLessEqual(tops, set(sys.stdlib_module_names))

    def test_all_names_are_there(self):
        for name in belfry.__all__:
            self.assertTrue(hasattr(belfry, name), name)


if __name__ == "__main__":
    unittest.main()
