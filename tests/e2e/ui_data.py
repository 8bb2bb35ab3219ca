# SPDX-License-Identifier: MIT
"""A server with something of everything, for the dashboard: every state, several tenants, failures, recurrences.
By hand: `tests/e2e/ui_data.py PORT` fills a server that runs, and `--live` goes on with work until it is interrupted."""
import random
import sys
import time

from web import Problem, Web

QUEUES = {"mail.send": {"attempts": 3, "backoff": "exp:5s:10m", "max_running": 25, "rate": "600/1m"},
          "report.build": {"attempts": 2, "backoff": "fixed:30s", "lease": "5m"},
          "image.resize": {"attempts": 2, "max_running": 3, "backoff": "1m,5m"},
          "invoice.charge": {"attempts": 3, "key_hold": "1d", "retain": "7d", "backoff": "1h"},
          "search.index": {"retain": "2d"},
          "export.csv": {"attempts": 1}}
ERRORS = ["SMTP 451 4.7.1: greylisted, try again in 317 s", "SMTP 451 4.7.1: greylisted, try again in 42 s",
          "timeout after 30000 ms connecting to mx2.example.net:25", "timeout after 30000 ms connecting to mx1.example.net:25",
          "template 'welcome-7' has no value for {{name}}"]
# Larger than a double holds exactly: the dashboard must show every digit.
BIG = b'{"order": 12345678901234567890, "total": 10.10, "items": [{"sku": "A-1", "n": 2}, {"sku": "B-7", "n": 1}]}'


class Fill:
    def __init__(self, web):
        self.web, self.random = web, random.Random(7)

    def job(self, queue, payload, **options):
        return self.web.post("/v1/jobs", {"queue": queue, "payload": payload, **options})["id"]

    def many(self, items):
        for n in range(0, len(items), 500):
            self.web.post("/v1/jobs/batch", {"mode": "all", "items": items[n:n + 500]})

    def lease(self, queue, count=1, worker="worker-1", tenant="default", **options):
        body = {"queues": [queue], "count": count, "worker": worker, "tenant": tenant, **options}
        return self.web.post("/v1/leases", body)["jobs"]

    def end(self, job, verb, **body):
        return self.web.post(f"/v1/jobs/{job['id']}/{verb}", {"token": job["token"], **body})

    def settings(self):
        for queue, settings in QUEUES.items():
            self.web.call("PATCH", f"/v1/queues/{queue}", settings)
        for tenant, settings in {"acme": {"weight": 3, "max_running": 50, "max_pending": 100000},
                                 "globex": {"weight": 1, "rate": "100/1m"}, "initech": {"maintenance": True}}.items():
            self.web.call("PATCH", f"/v1/tenants/{tenant}", settings)
        # Quiet from an hour ago to eight hours from now, so that jobs that notify are put off whenever the tests run.
        begin, end = (time.strftime("%H:%M", time.gmtime(time.time() + hours * 3600)) for hours in (-1, 8))
        self.web.call("PATCH", "/v1/tenants/hooli", {"quiet": f"{begin}-{end}", "tz": "Etc/UTC", "spread": "10m"})

    def ended(self):
        """Done, failed, dead, cancelled and expired jobs."""
        self.many([{"queue": "mail.send", "payload": {"to": f"user-{n}@example.com"}, "tag": ["campaign-3"]} for n in range(160)])
        for n in range(160):
            for job in self.lease("mail.send", 1, f"mailer-{1 + n % 3}"):
                if n % 8 == 0:
                    self.end(job, "fail", error=ERRORS[n // 8 % len(ERRORS)], final=True)
                elif n % 15 == 1:
                    self.end(job, "fail", error=ERRORS[n % 2])
                else:
                    self.end(job, "complete", result={"message_id": 9007199254740993 + n, "accepted": True})
        for n in range(4):
            self.job("report.build", {"report": "monthly", "part": n})
        for job in self.lease("report.build", 4, "reporter"):
            self.end(job, "fail", error="disk full: 0 bytes left of 107374182400", final=True)
        again = self.job("export.csv", {"table": "orders"}, attempts=4, backoff="1ms", meta={"trace": "ab12", "by": "ann"}, tag=["export", "orders"])
        for n in range(3):
            for job in self.lease("export.csv", wait="5s", worker=f"exporter-{n + 1}"):
                time.sleep(0.05)
                self.end(job, "fail", error=["connection reset by peer", "deadlock detected", "connection reset by peer"][n])
        for job in self.lease("export.csv", wait="5s", worker="exporter-1"):
            self.end(job, "complete", result=[18446744073709551615, "ok"])
        gone = [self.job("search.index", {"doc": n}, **{"in": "1h"}) for n in range(6)]
        for id in gone:
            self.web.call("DELETE", f"/v1/jobs/{id}")
        for n in range(3):
            self.job("search.index", {"late": n}, at=int(time.time() * 1000) - 60000, expire="1s")
        return again

    def running(self):
        """Leased jobs, at the limit of their queue, with progress."""
        self.many([{"queue": "image.resize", "payload": {"image": n, "width": 1024}, "priority": 1 + n % 5} for n in range(40)])
        for n, job in enumerate(self.lease("image.resize", 3, "gpu-7", **{"for": "30m"})):
            self.end(job, "extend", progress=20 + 30 * n, note=f"scaled {n + 1} of 3", **{"for": "30m"})
        self.job("report.build", {"report": "yearly"})
        self.lease("report.build", 1, "reporter", **{"for": "10m"})

    def waiting(self):
        """Parents and children, ordering keys, a paused queue, quiet hours, maintenance, a failing endpoint."""
        parts = [self.job("report.build", {"part": n}, **{"in": "20m"}) for n in range(2)]
        whole = self.job("report.build", {"join": True}, after=parts)
        self.job("mail.send", {"to": "boss@example.com"}, after=[whole])
        for n in range(5):
            self.job("ledger.post", {"entry": n}, order="acc-7", key=f"entry-{n}")
        self.lease("ledger.post", 1, "ledger", **{"for": "30m"})
        self.many([{"queue": "invoice.charge", "payload": {"invoice": 1000 + n}, "key": f"inv-{1000 + n}"} for n in range(12)])
        self.web.post("/v1/queues/invoice.charge/pause")
        self.many([{"queue": "digest", "payload": {"n": n}, "tenant": "hooli", "notify": True} for n in range(30)])
        self.lease("digest", 1, tenant="hooli")
        self.many([{"queue": "import", "payload": {"file": n}, "tenant": "initech"} for n in range(9)])
        self.many([{"queue": "mail.send", "payload": {"n": n}, "tenant": tenant} for tenant in ("acme", "globex") for n in range(25)])
        for job in self.lease("mail.send", 10, "mailer-2", tenant="acme"):
            self.end(job, "complete")
        # Nothing listens on port 9, so the circuit of this endpoint opens after five failures.
        self.web.call("PATCH", "/v1/queues/hooks", {"push_url": "http://127.0.0.1:9/in", "push_timeout": "2s", "backoff": "1s"})
        self.many([{"queue": "hooks", "payload": {"event": n}} for n in range(12)])
        big = self.job("search.index", BIG.decode(), key="order-17", tag=["big", "orders"], meta={"traceparent": "00-" + "a1" * 16 + "-" + "b2" * 8 + "-01"}, **{"in": "3h"})
        self.many([{"queue": "search.index", "payload": {"doc": n}} for n in range(70)])
        return big

    def future(self):
        """The next week, with a spike on midnight."""
        now, items = int(time.time() * 1000), []
        midnight = (now // 86400000 + 2) * 86400000
        for n in range(1500):
            hours = self.random.triangular(0, 160, 20)
            items.append({"queue": self.random.choice(list(QUEUES)), "payload": {"n": n}, "at": now + int(hours * 3600000) + 60000})
        items += [{"queue": "mail.send", "payload": {"digest": n}, "at": midnight, "tag": ["digest"]} for n in range(400)]
        self.many(items)

    def recurrences(self):
        rules = {"nightly-report": {"queue": "report.build", "payload": {"report": "nightly"}, "cron": "30 2 * * *", "tz": "Europe/Berlin"},
                 "heartbeat": {"queue": "search.index", "payload": "beat", "every": "1s", "overlap": "allow", "attempts": 1},
                 "weekday-standup": {"queue": "mail.send", "payload": {"to": "team"}, "rrule": "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR;BYHOUR=9;BYMINUTE=30;BYSECOND=0", "tz": "America/New_York", "notify": True},
                 "month-end": {"queue": "invoice.charge", "payload": {"run": "month"}, "rrule": "FREQ=MONTHLY;BYMONTHDAY=-1;BYHOUR=23;BYMINUTE=0;BYSECOND=0", "tz": "Australia/Sydney"},
                 "hashed": {"queue": "search.index", "payload": {}, "cron": "H H(0-5) * * *"},
                 "paused-sync": {"queue": "export.csv", "payload": {}, "cron": "*/15 * * * *"}}
        for name, rule in rules.items():
            self.web.call("PUT", f"/v1/recurrences/{name}", rule)
        self.web.call("PUT", "/v1/recurrences/weekly", {"queue": "digest", "payload": {}, "cron": "0 8 * * 1", "tz": "Europe/Berlin", "tenant": "hooli"})
        self.web.post("/v1/recurrences/paused-sync/pause")
        self.web.post("/v1/recurrences/nightly-report/run")
        time.sleep(2.2)  # a few times of the heartbeat
        for n, job in enumerate(self.lease("search.index", 200, "indexer")):
            if job.get("recurrence") and n % 3 == 2:
                self.end(job, "fail", error="index is read-only", final=True)
            else:
                self.end(job, "complete")
        self.web.post("/v1/recurrences/heartbeat/pause")

    def bulks(self):
        self.web.post("/v1/bulks", {"action": "cancel", "queue": "mail.send", "tag": "campaign-9", "dryrun": True})
        self.web.post("/v1/bulks", {"action": "redrive", "queue": "report.build", "state": "dead"})
        self.many([{"queue": "search.index", "payload": {"doc": n}} for n in range(70)])

    def all(self):
        """Answers ids of interest: a job that was tried four times, and one with large numbers."""
        self.settings()
        ids = {"again": self.ended()}
        self.running()
        ids["big"] = self.waiting()
        self.future()
        self.recurrences()
        self.bulks()
        return ids

    def live(self):
        """Producers and workers, until interrupted."""
        while True:
            queue = self.random.choice(["mail.send", "search.index", "mail.send", "thumbs"])
            for n in range(self.random.randrange(12)):
                self.job(queue, {"n": n}, **{"in": self.random.randrange(4000)})
            for queue in ("mail.send", "thumbs", "search.index"):
                for job in self.lease(queue, self.random.randrange(1, 12), "mailer-%d" % self.random.randrange(1, 4)):
                    try:
                        self.end(job, "fail", error=self.random.choice(ERRORS)) if self.random.random() < 0.1 else self.end(job, "complete")
                    except Problem:
                        pass
            time.sleep(0.5)


def fill(port, token=None):
    with Web(port, token=token) as web:
        return Fill(web).all()


if __name__ == "__main__":
    with Web(int(sys.argv[1])) as connection:
        work = Fill(connection)
        work.live() if "--live" in sys.argv else print(work.all())
