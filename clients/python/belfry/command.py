# SPDX-License-Identifier: MIT
"""The command: python -m belfry work module:app -j 8."""

from __future__ import annotations

import argparse
import asyncio
import importlib
import logging
import os
import sys
from typing import List, Optional

from .app import App
from .processes import WRONG_USE, Processes, when_parent_ends
from .times import seconds
from .worker import Worker


def _duration(text: str) -> str:
    try:
        seconds(text)
    except TypeError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return text


def _positive(text: str) -> int:
    if not text.isdigit() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"expected a whole number from 1, not {text!r}")
    return int(text)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m belfry", description="Runs the tasks of an app.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="command")
    work = commands.add_parser("work", help="take jobs and run their tasks, until SIGTERM or ^C")
    work.add_argument("app", help="where the app is: module:name, such as shop.tasks:app")
    work.add_argument("-j", "--jobs", type=_positive, default=1, metavar="N", help="how many tasks run at a time; 1")
    work.add_argument(
        "--processes",
        nargs="?",
        type=_positive,
        const=0,
        metavar="N",
        help="share the tasks out to N processes; without N, a process for each of the -j tasks",
    )
    work.add_argument("--queues", help="only the tasks of these queues, with commas between")
    work.add_argument("--lease", type=_duration, help="length of the leases; that of the job or the queue")
    work.add_argument("--grace", type=_duration, help="how long tasks may go on after SIGTERM; as long as they take")
    work.add_argument("--name", help="name in the history of jobs; host and process id")
    work.add_argument("--tenant", help="a tenant, or * for all")
    work.add_argument("--log-level", default="info", choices=["debug", "info", "warning", "error"])
    work.add_argument("--under-parent", action="store_true", help=argparse.SUPPRESS)
    return parser


def find_app(place: str) -> App:
    """The app of module:name. ValueError if there is none."""
    module, colon, name = place.partition(":")
    if not colon or not module or not name:
        raise ValueError(f"expected module:name, such as shop.tasks:app, not {place!r}")
    if os.getcwd() not in sys.path and "" not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        found = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is not None and (module == error.name or module.startswith(error.name + ".")):
            raise ValueError(f"there is no module {error.name} (looked in {os.getcwd()} and the path of Python)") from None
        raise
    for part in name.split("."):
        found = getattr(found, part, None)  # type: ignore[assignment]
    if not isinstance(found, App):
        raise ValueError(f"{place} is no belfry.App")
    return found


def _share(argv: List[str], jobs: int, processes: int) -> List[str]:
    """The command of one process of several."""
    own = [sys.executable, "-m", "belfry", *argv, "--under-parent"]
    return [*own, "-j", str(-(-jobs // processes))]


def main(argv: Optional[List[str]] = None) -> int:
    argv = sys.argv[1:] if argv is None else argv
    args = _parser().parse_args(argv)
    logging.basicConfig(
        level=args.log_level.upper(), format="%(asctime)s %(levelname)s %(message)s", stream=sys.stderr
    )
    if args.processes is not None and not args.under_parent:
        count = args.processes or args.jobs
        return Processes(_share(argv, args.jobs, count), count).run()
    try:
        app = find_app(args.app)
        worker = Worker(
            app,
            concurrency=args.jobs,
            queues=None if args.queues is None else args.queues.split(","),
            name=args.name and (f"{args.name}:{os.getpid()}" if args.under_parent else args.name),
            lease=args.lease,
            tenant=args.tenant,
        )
    except ValueError as error:
        print(f"belfry: {error}", file=sys.stderr)
        return WRONG_USE
    if args.under_parent:
        when_parent_ends(worker.stop)
    logging.getLogger("belfry").info(
        "%s takes jobs of %s from %s, %d at a time",
        worker.name,
        ", ".join(worker.queues),
        app.client.config.where,
        args.jobs,
    )
    asyncio.run(worker.serve(signals=True, grace=args.grace))
    return 0
