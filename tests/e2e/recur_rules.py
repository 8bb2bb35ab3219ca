# SPDX-License-Identifier: MIT
"""Random rules, within what RFC 5545 allows, at random times near changes of the clock."""
import datetime as dt

from recur_oracle import DAYS, UNITS, zone

ZONES = """Europe/London America/New_York Australia/Lord_Howe Asia/Kathmandu Africa/Casablanca America/Sao_Paulo
Pacific/Apia Europe/Berlin Europe/Dublin Europe/Moscow Europe/Istanbul Europe/Lisbon Atlantic/Azores
Africa/Cairo Africa/El_Aaiun Africa/Monrovia Asia/Tehran Asia/Kolkata Asia/Gaza Asia/Amman Asia/Beirut
Asia/Jerusalem Asia/Pyongyang Asia/Tokyo Asia/Singapore Asia/Ulaanbaatar Asia/Dhaka America/St_Johns
America/Caracas America/Havana America/Santiago America/Asuncion America/Godthab America/Scoresbysund
America/Los_Angeles America/Phoenix America/Argentina/San_Luis Antarctica/Troll Antarctica/Casey
Australia/Sydney Australia/Eucla Pacific/Chatham Pacific/Norfolk Pacific/Kwajalein Pacific/Tongatapu
Pacific/Fiji Etc/GMT+12 Etc/GMT-14 UTC""".split()

FREQS = ["YEARLY", "MONTHLY", "WEEKLY", "DAILY", "HOURLY", "MINUTELY", "SECONDLY"]


class Draw:
    """Lists of a rule's parts. Those of SECONDLY to HOURLY mostly admit START's own time, as dateutil
    would look for years for the next that fits."""

    def __init__(self, rng, freq, start):
        self.rng, self.freq, self.start = rng, freq, start

    def own(self, value):
        return [value] if self.rng.random() < (0.9 if self.freq in UNITS else 0.5) else []

    def numbers(self, low, high, most, own, back=False):
        """Unsorted and perhaps with doubles."""
        ns = [self.rng.randint(low, high) * (self.rng.choice((1, -1)) if back else 1)
              for _ in range(self.rng.randint(1, most))]
        return ",".join(map(str, ns + self.own(own)))

    def days(self, by_week, by_month):
        days = self.own(DAYS[self.start.weekday()])
        for _ in range(self.rng.randint(1, 4)):
            nth = ""
            if self.freq in ("MONTHLY", "YEARLY") and not by_week and self.rng.random() < 0.5:
                most = 53 if self.freq == "YEARLY" and not by_month else 5
                nth = self.rng.choice(("", "-", "+")) + str(self.rng.randint(1, most))
            days.append(nth + self.rng.choice(DAYS))
        return ",".join(days)


def random_rrule(rng, freq, start):
    """Without COUNT and UNTIL."""
    draw, t = Draw(rng, freq, start), start
    p = {"FREQ": freq}
    if rng.random() < 0.5:
        p["INTERVAL"] = str(rng.choice((1, 2, 3, 4, 5, 6, 7, 10, 12, 13, 15, 24, 30, 45, 60, 90, 97)))
    chance = 0.25
    if rng.random() < chance * 1.5:
        p["BYMONTH"] = draw.numbers(1, 12, 4, t.month)
    if freq == "YEARLY" and rng.random() < chance:
        p["BYWEEKNO"] = draw.numbers(1, 53, 4, 1, True) if rng.random() < 0.7 else rng.choice(("1", "-1", "53", "-52", "-53"))
    if freq in ("YEARLY", *UNITS) and rng.random() < chance / 2:
        p["BYYEARDAY"] = draw.numbers(1, 366, 6, t.timetuple().tm_yday, True)
    if freq != "WEEKLY" and rng.random() < chance:
        p["BYMONTHDAY"] = draw.numbers(1, 31, 5, t.day, True)
    if rng.random() < chance * 1.5:
        p["BYDAY"] = draw.days("BYWEEKNO" in p, "BYMONTH" in p)
    if rng.random() < chance:
        p["BYHOUR"] = draw.numbers(0, rng.choice((3, 23)), 4, t.hour)
    if rng.random() < chance:
        p["BYMINUTE"] = draw.numbers(0, 59, 4, t.minute)
    if rng.random() < chance:
        p["BYSECOND"] = draw.numbers(0, rng.choice((59, 60)), 4, t.second)
    if rng.random() < chance and any(k.startswith("BY") for k in p):
        p["BYSETPOS"] = draw.numbers(1, rng.choice((2, 10)), 3, 1, True)
    if rng.random() < 0.3:
        p["WKST"] = rng.choice(DAYS)
    names = list(p)
    rng.shuffle(names)
    return ";".join(f"{k}={p[k]}" for k in names)


def random_start(rng, z, freq="DAILY"):
    """To the second, mostly before a change of the clock: for rules of hours and less near enough to reach
    it; for others days before it at about its time of day, so that they meet what the clock leaves out or
    repeats; and otherwise some time before it, or within it."""
    near = int(rng.choice(z.changes))
    if rng.random() < 0.7:
        t = near + rng.randint(-3600, 3600)
        t -= (UNITS[freq] * rng.randint(0, 30) if freq in UNITS else
              86400 * rng.choice((0, 1, 1, 2, 3, 7, 14, 28, 30, 31, 90, 365)))
    else:
        ago = rng.choice((1800, 3600, 2 * 3600, 86400, 7 * 86400, 40 * 86400, 300 * 86400))
        t = near + rng.randint(-ago, min(ago, 7200))
    if rng.random() < 0.7:
        t -= t % rng.choice((60, 900, 3600))
    return max(t, 0)


def random_case(rng):
    """(rule, zone, start_s)"""
    z, freq = zone(rng.choice(ZONES)), rng.choice(FREQS)
    start_s = random_start(rng, z, freq)
    return random_rrule(rng, freq, z.local(start_s)), z, start_s


def ical(t):
    return t.strftime("%Y%m%dT%H%M%S")


def random_end(rng, text, found):
    """The rule with a COUNT or UNTIL that matters for what it gives without; as often as not, none."""
    way = rng.random()
    if not found or way < 0.6:
        return text
    t, nominal, _ = rng.choice(found)
    if way < 0.75:
        return f"{text};COUNT={rng.randint(1, len(found))}"
    if way < 0.9:
        return f"{text};UNTIL={ical(dt.datetime(1970, 1, 1) + dt.timedelta(0, t + rng.choice((0, 0, -1, 1))))}Z"
    return f"{text};UNTIL={ical(nominal) if way < 0.95 else nominal.strftime('%Y%m%d')}"


def random_cron(rng):
    def field(low, high, names=()):
        way = rng.random()
        a, b = sorted((rng.randint(low, high), rng.randint(low, high)))
        if way < 0.3:
            return "*"
        if way < 0.45:
            return f"*/{rng.randint(1, max(2, high // 2))}"
        if way < 0.6:
            return f"{a}-{b}"
        if way < 0.7:
            return f"{a}-{b}/{rng.randint(1, 5)}"
        if way < 0.75:
            return f"{a}/{rng.randint(1, 20) if high > 20 else 2}"
        if names and way < 0.9:
            return ",".join(rng.choice(names) for _ in range(rng.randint(1, 3)))
        return ",".join(str(rng.randint(low, high)) for _ in range(rng.randint(1, 3)))
    return " ".join((field(0, 59), rng.choice(("*", field(0, 23), str(rng.randint(0, 3)))), rng.choice(("*", field(1, 31))),
                     rng.choice(("*", "*", field(1, 12, ("Jan", "MAR", "oct", "nov")))),
                     rng.choice(("*", field(0, 7, ("SUN", "mon", "Sat"))))))
