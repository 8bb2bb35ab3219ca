/* SPDX-License-Identifier: MIT */
/* The rule of a recurrence in words. Rules that have no simple words are shown as they are. */

const DAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const CODES = ["SU", "MO", "TU", "WE", "TH", "FR", "SA"];
const NAMED = {
    "@hourly": "every hour",
    "@daily": "every day at 00:00",
    "@midnight": "every day at 00:00",
    "@weekly": "every Sunday at 00:00",
    "@monthly": "on day 1 of every month at 00:00",
    "@yearly": "on 1 January at 00:00",
    "@annually": "on 1 January at 00:00",
};

const two = (n) => String(n).padStart(2, "0");
const list = (items) => (items.length < 2 ? items.join("") : `${items.slice(0, -1).join(", ")} and ${items.at(-1)}`);
const ordinal = (n) =>
    n === -1
        ? "last"
        : n < 0
          ? `${-n}th last`
          : `${n}${{ 1: "st", 2: "nd", 3: "rd" }[n % 100 > 10 && n % 100 < 14 ? 0 : n % 10] ?? "th"}`;

/** "1,3-5" -> [1, 3, 4, 5]; null if it is more than that. */
function numbers(text, names = []) {
    const out = [];
    for (const piece of text.split(",")) {
        const ends = piece
            .split("-")
            .map((w) => (/^\d+$/.test(w) ? Number(w) : names.indexOf(w.slice(0, 3).toUpperCase())));
        if (ends.length > 2 || ends.some((n) => n < 0)) return null;
        for (let n = ends[0]; n <= (ends[1] ?? ends[0]); n++) out.push(n);
    }
    return out;
}

function days(found) {
    const key = [...new Set(found.map((n) => n % 7))].sort().join("");
    return key === "12345"
        ? "on weekdays"
        : key === "06"
          ? "at weekends"
          : key === "0123456"
            ? "every day"
            : `every ${list(found.map((n) => DAYS[n % 7]))}`;
}

function cron(rule) {
    const text = rule.trim();
    if (NAMED[text]) return NAMED[text];
    const [minute, hour, day, month, week] = text.split(/\s+/);
    if (week === undefined || /H/.test(`${minute} ${hour}`))
        return /H/.test(text) ? `at a time that follows from its name (${text})` : null;
    const step = /^\*\/(\d+)$/;
    const date = () => {
        const months =
            month === "*"
                ? ""
                : numbers(
                      month,
                      MONTHS.map((m) => m.slice(0, 3).toUpperCase()),
                  );
        if (months === null || (day !== "*" && week !== "*")) return null;
        const of = months ? ` of ${list(months.map((n) => MONTHS[n - 1]))}` : " of every month";
        if (day !== "*") return numbers(day) && `on day ${list(numbers(day))}${of}`;
        if (week !== "*")
            return (
                numbers(
                    week,
                    CODES.map((c, n) => DAYS[n].slice(0, 3).toUpperCase()),
                ) &&
                days(
                    numbers(
                        week,
                        DAYS.map((d) => d.slice(0, 3).toUpperCase()),
                    ),
                ) + (months ? ` in ${list(months.map((n) => MONTHS[n - 1]))}` : "")
            );
        return months ? `every day in ${list(months.map((n) => MONTHS[n - 1]))}` : "every day";
    };
    const words = date();
    if (!words) return null;
    const often = words === "every day" ? "" : `, ${words}`;
    if (minute === "*" && hour === "*") return `every minute${often}`;
    if (step.test(minute) && hour === "*") return `every ${step.exec(minute)[1]} minutes${often}`;
    const at = numbers(minute);
    if (!at) return null;
    if (hour === "*") return `every hour at minute ${list(at.map(two))}${often}`;
    if (step.test(hour)) return `every ${step.exec(hour)[1]} hours at minute ${list(at.map(two))}${often}`;
    const hours = numbers(hour);
    if (!hours || hours.length * at.length > 6) return null;
    return `${words} at ${list(hours.flatMap((n) => at.map((m) => `${two(n)}:${two(m)}`)))}`;
}

const FREQUENCIES = {
    SECONDLY: "second",
    MINUTELY: "minute",
    HOURLY: "hour",
    DAILY: "day",
    WEEKLY: "week",
    MONTHLY: "month",
    YEARLY: "year",
};

function rrule(rule) {
    const parts = Object.fromEntries(rule.split(";").map((piece) => piece.split("=")));
    const unit = FREQUENCIES[parts.FREQ];
    if (!unit || ["BYSETPOS", "BYWEEKNO", "BYYEARDAY", "RSCALE"].some((name) => parts[name])) return null;
    const n = Number(parts.INTERVAL ?? 1);
    let words = n === 1 ? `every ${unit}` : `every ${n} ${unit}s`;
    if (parts.BYDAY) {
        const found = parts.BYDAY.split(",").map((d) => /^([+-]?\d+)?([A-Z]{2})$/.exec(d));
        if (found.some((d) => !d)) return null;
        if (found.some((d) => d[1]))
            words += ` on the ${list(found.map((d) => `${d[1] ? `${ordinal(Number(d[1]))} ` : ""}${DAYS[CODES.indexOf(d[2])]}`))}`;
        else
            words =
                n === 1 && (unit === "week" || unit === "day")
                    ? days(found.map((d) => CODES.indexOf(d[2])))
                    : `${words} on ${list(found.map((d) => DAYS[CODES.indexOf(d[2])]))}`;
    }
    if (parts.BYMONTHDAY)
        words += ` on the ${list(parts.BYMONTHDAY.split(",").map((d) => `${ordinal(Number(d))} day`))}`;
    if (parts.BYMONTH) words += ` in ${list(parts.BYMONTH.split(",").map((m) => MONTHS[m - 1]))}`;
    if (parts.BYHOUR)
        words += ` at ${list(parts.BYHOUR.split(",").flatMap((hh) => (parts.BYMINUTE ?? "0").split(",").map((mm) => `${two(hh)}:${two(mm)}`)))}`;
    else if (parts.BYMINUTE) words += ` at minute ${list(parts.BYMINUTE.split(",").map(two))}`;
    if (parts.COUNT) words += `, ${parts.COUNT} times`;
    if (parts.UNTIL) words += `, until ${parts.UNTIL.replace(/^(\d{4})(\d{2})(\d{2}).*/, "$1-$2-$3")}`;
    return words;
}

/** @param {"cron"|"rrule"|"every"} kind */
export function inWords(kind, rule) {
    if (kind === "every") return `every ${rule}`;
    return (kind === "cron" ? cron(rule) : rrule(rule)) ?? rule;
}
