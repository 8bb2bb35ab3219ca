# SPDX-License-Identifier: MIT
"""Random recurrence rules, and what they give by python3-dateutil and zoneinfo.

dateutil expands a rule in local time without a zone; what this file adds is how local times become
moments (src/recur/recur.h says how), START, UNTIL, COUNT, EXDATE and RDATE. Where dateutil is not
what RFC 5545 says, it is asked differently: test_recur.py has the list, whose numbers are used here.
"""
import datetime as dt
import functools
import heapq
import itertools
import zoneinfo

from dateutil import rrule as du

EPOCH = dt.datetime(1970, 1, 1)
UTC = dt.timezone.utc
DAYS = ["MO", "TU", "WE", "TH", "FR", "SA", "SU"]
UNITS = {"SECONDLY": 1, "MINUTELY": 60, "HOURLY": 3600}
LAST_S = 253402300799
PLAIN, MOVED, FIRST, SECOND = range(4)


@functools.lru_cache(None)
def weeks_of(year, start):
    """For each day of a year, and of seven more, the number of its week, forward and backward."""
    def week(day):
        middle = day - dt.timedelta((day.weekday() - start) % 7 - 3)
        return middle.year, (middle.timetuple().tm_yday - 1) // 7 + 1
    table = []
    for n in range(366 + 7):
        of_year, number = week(dt.date(year, 1, 1) + dt.timedelta(n))
        table.append((number, number - week(dt.date(of_year, 12, 28))[1] - 1))
    return table


class TooLong(Exception):
    pass


class Work:
    """What dateutil may still do: it steps through years of periods without a word. Counted, not
    timed, so that a seed means the same everywhere."""
    left = 0

    @classmethod
    def spend(cls, n):
        cls.left -= n
        if cls.left < 0:
            raise TooLong


class Info(du._iterinfo):
    """dateutil's view of a year, with our table of weeks; it is asked once for each period."""

    def rebuild(self, year, month):
        fresh = year != self.lastyear
        super().rebuild(year, month)
        if fresh and self.rrule._byweekno:
            wanted = set(self.rrule._byweekno)
            self.wnomask = [int(not wanted.isdisjoint(w)) for w in weeks_of(year, self.rrule._wkst)]

    def ydayset(self, *day):
        Work.spend(20)
        return super().ydayset(*day)

    def mdayset(self, *day):
        Work.spend(3)
        return super().mdayset(*day)

    def wdayset(self, *day):
        Work.spend(3)
        return super().wdayset(*day)

    def ddayset(self, *day):
        Work.spend(1)
        return super().ddayset(*day)


du._iterinfo = Info


def seconds(naive):
    return int((naive - EPOCH).total_seconds())


class Zone:
    def __init__(self, name):
        self.name = name
        self.tz = zoneinfo.ZoneInfo(name)

    def offset(self, t):
        return int(dt.datetime.fromtimestamp(t, self.tz).utcoffset().total_seconds())

    def local(self, t):
        return dt.datetime.fromtimestamp(t, self.tz).replace(tzinfo=None, fold=0)

    def shown(self, naive):
        """The moments at which the clock shows it."""
        out = []
        for fold in (0, 1):
            t = int(naive.replace(tzinfo=self.tz, fold=fold).timestamp())
            if t not in out and t <= LAST_S and self.local(t) == naive:
                out.append(t)
        return sorted(out)

    def moment(self, naive):
        """The moment of a local time, and its note."""
        shown = self.shown(naive)
        if shown:
            return shown[0], FIRST if len(shown) > 1 else PLAIN
        early = int(naive.replace(tzinfo=self.tz, fold=1).timestamp())
        late = int(naive.replace(tzinfo=self.tz, fold=0).timestamp())
        before = self.offset(early)
        while late - early > 1:  # the end of the gap is in (early, late]
            middle = (early + late) // 2
            if self.offset(middle) == before:
                early = middle
            else:
                late = middle
        return late, MOVED

    @functools.cached_property
    def changes(self):
        """Moments of change, found by looking every five days."""
        out = []
        for first, last in ((0, 2145916800), (13569465600, 13727145600)):
            for t in range(first, last, 432000):
                low, high = t, t + 432000
                if self.offset(low) == self.offset(high):
                    continue
                while high - low > 1:
                    middle = (low + high) // 2
                    low, high = (middle, high) if self.offset(middle) == self.offset(low) else (low, middle)
                out.append(high)
        return out or [1e9]


@functools.lru_cache(None)
def zone(name):
    return Zone(name)


def parts_of(text):
    return dict(part.split("=") for part in text.split(";"))


def for_dateutil(parts, start):
    """The rule's text with 1, 2 and 5 of the list, without COUNT and UNTIL."""
    p = {k: v for k, v in parts.items() if k not in ("COUNT", "UNTIL")}
    if "BYWEEKNO" in p and not p.keys() & {"BYDAY", "BYMONTHDAY", "BYYEARDAY"}:
        p["BYDAY"] = DAYS[start.weekday()]
    days = p.get("BYDAY", "").split(",")
    if any(len(d) > 2 for d in days):
        most = 53 if p["FREQ"] == "YEARLY" and "BYMONTH" not in p else 5
        p["BYDAY"] = ",".join(d if len(d) > 2 else ",".join(f"{n}{d}" for n in range(1, most + 1)) for d in days)
    if "BYSECOND" in p:
        p["BYSECOND"] = ",".join("59" if s == "60" else s for s in p["BYSECOND"].split(","))
    return ";".join(f"{k}={v}" for k, v in p.items())


def floating(parts, start):
    """Nominal local times from a local start on, for ever."""
    if parts["FREQ"] == "WEEKLY" and "BYSETPOS" in parts:
        p = {"BYDAY": DAYS[start.weekday()], "BYHOUR": str(start.hour), "BYMINUTE": str(start.minute),
             "BYSECOND": str(start.second), **parts}
        back = (start.weekday() - DAYS.index(parts.get("WKST", "MO"))) % 7
        first = (start - dt.timedelta(back)).replace(hour=0, minute=0, second=0)
        rule = du.rrulestr(for_dateutil(p, start), dtstart=first)
        return (t for t in rule if t >= start)
    return iter(du.rrulestr(for_dateutil(parts, start), dtstart=start))


def numbers(text):
    return [int(n) for n in text.split(",")]


def admits_date(parts, day):
    """BYMONTH, BYMONTHDAY, BYYEARDAY and BYDAY without numbers."""
    year_days = 366 if day.year % 4 == 0 and (day.year % 100 != 0 or day.year % 400 == 0) else 365
    month_days = (day.replace(day=28) + dt.timedelta(4)).replace(day=1) - dt.timedelta(1)
    n = day.timetuple().tm_yday
    if "BYMONTH" in parts and day.month not in numbers(parts["BYMONTH"]):
        return False
    if "BYMONTHDAY" in parts and not {day.day, day.day - month_days.day - 1} & {*numbers(parts["BYMONTHDAY"])}:
        return False
    if "BYYEARDAY" in parts and not {n, n - year_days - 1} & {*numbers(parts["BYYEARDAY"])}:
        return False
    return "BYDAY" not in parts or DAYS[day.weekday()] in parts["BYDAY"].split(",")


def pace(parts):
    if parts["FREQ"] not in UNITS or "BYHOUR" in parts:
        return "local"
    return "shown" if parts.keys() & {"BYMINUTE", "BYSECOND", "BYSETPOS"} else "elapsed"


def by_local(parts, z, start_s, near):
    """(moment, nominal, note) of each nominal time; several may share a moment."""
    start = z.local(start_s)
    for nominal in floating(parts, near or start):
        t, note = z.moment(nominal)
        if t >= start_s:
            yield t, nominal, note


def by_shown(parts, z, start_s, near):
    """The second moment of a nominal time waits for the first ones of later times."""
    step = int(parts.get("INTERVAL", 1)) * UNITS[parts["FREQ"]]
    back = dt.timedelta(seconds=-(-4 * 3600 // step) * step)
    waiting = []
    for nominal in floating(parts, (near or z.local(start_s)) - back):
        shown = z.shown(nominal)
        first = shown[0] if shown else z.moment(nominal)[0]
        while waiting and waiting[0][0] < first:
            yield heapq.heappop(waiting)
        for i, t in enumerate(shown):
            if t >= start_s:
                heapq.heappush(waiting, (t, nominal, PLAIN if len(shown) == 1 else FIRST + i))
    yield from sorted(waiting)


def by_elapsed(parts, z, start_s, near):
    step = int(parts.get("INTERVAL", 1)) * UNITS[parts["FREQ"]]
    if near:
        start_s += (int(near.replace(tzinfo=z.tz).timestamp()) - start_s) // step * step
    for t in range(start_s, LAST_S, step):
        Work.spend(1)
        nominal = z.local(t)
        if admits_date(parts, nominal.date()):
            shown = z.shown(nominal)
            yield t, nominal, PLAIN if len(shown) == 1 else FIRST + shown.index(t)


def until_s(text, z):
    if text.endswith("Z"):
        return seconds(dt.datetime.strptime(text, "%Y%m%dT%H%M%SZ"))
    return z.moment(dt.datetime.strptime(text if "T" in text else text + "T235959", "%Y%m%dT%H%M%S"))[0]


def expand(text, z, start_s, most, near=None, work=2000):
    """Up to `most` occurrences as (moment, nominal, note), and whether there are no more.

    `near`: a later local time that dateutil may be started from, as one that the rule counts from.
    """
    parts = parts_of(text)
    source = {"local": by_local, "shown": by_shown, "elapsed": by_elapsed}[pace(parts)](parts, z, start_s, near)
    if "COUNT" in parts:
        source = itertools.islice(source, int(parts["COUNT"]))
    end = until_s(parts["UNTIL"], z) if "UNTIL" in parts else LAST_S
    out = []
    Work.left = work
    try:
        for t, nominal, note in source:
            if t > end:
                return out, True
            if out and out[-1][0] == t:
                continue  # met at the end of a gap
            if len(out) == most:
                return out, False
            out.append((t, nominal, note))
    except TooLong:
        return out, None  # dateutil goes on for ever
    except ValueError as e:
        if "empty rule" not in str(e) and "Invalid rrule" not in str(e):
            raise
    return out, True


class Cron:
    """A matcher of minutes, as simple as it can be."""

    NAMES = [{}, {}, {}, {n: i for i, n in enumerate("jan feb mar apr may jun jul aug sep oct nov dec".split(), 1)},
             {n: i for i, n in enumerate("sun mon tue wed thu fri sat".split())}]
    RANGES = [(0, 59), (0, 23), (1, 31), (1, 12), (0, 7)]

    def __init__(self, text):
        words = text.lower().split()
        self.sets = [self.read(w, i) for i, w in enumerate(words)]
        self.either = words[2][0] != "*" and words[4][0] != "*"
        self.every_hour = self.sets[1] == set(range(24))

    def read(self, word, field):
        low, high = self.RANGES[field]
        out = set()
        for item in word.split(","):
            span, _, step = item.partition("/")
            first, _, last = span.partition("-")
            if span == "*":
                first, last = low, min(high, 6) if field == 4 else high
            else:
                first = self.NAMES[field].get(first) if first in self.NAMES[field] else int(first)
                last = (self.NAMES[field].get(last) if last in self.NAMES[field] else int(last)) if last else (
                    (6 if field == 4 else high) if step else first)
            out |= set(range(first, last + 1, int(step or 1)))
        return {v % 7 for v in out} if field == 4 else out

    def admits_day(self, day):
        month_day = day.day in self.sets[2]
        week_day = day.isoweekday() % 7 in self.sets[4]
        return day.month in self.sets[3] and (month_day or week_day if self.either else month_day and week_day)

    def admits_minute(self, t):
        return t.minute in self.sets[0] and t.hour in self.sets[1]

    def expand(self, z, start_s, days):
        """All occurrences within so many days, as expand() does."""
        out = []
        if self.every_hour:
            for t in range(-(-start_s // 30) * 30, start_s + days * 86400, 30):  # Monrovia was at -00:44:30
                nominal = z.local(t)
                if nominal.second == 0 and self.admits_minute(nominal) and self.admits_day(nominal.date()):
                    shown = z.shown(nominal)
                    out.append((t, nominal, PLAIN if len(shown) == 1 else FIRST + shown.index(t)))
            return out
        first = z.local(start_s).replace(second=0) + dt.timedelta(0, 60 if z.local(start_s).second else 0)
        for minute in range(days * 1440):
            nominal = first + dt.timedelta(0, minute * 60)
            if self.admits_minute(nominal) and self.admits_day(nominal.date()):
                t, note = z.moment(nominal)
                if t >= start_s and not (out and out[-1][0] == t):
                    out.append((t, nominal, note))
        return out
