# Everything from a fresh Debian 12. `make run` starts the server; the rest is for development.
PREFIX ?= /usr/local
SOURCES = $(shell find src bench tests scripts -name '*.[ch]')
.DEFAULT_GOAL = build
.PHONY: run build test test-long fuzz bench install uninstall lint format docs docs-check clean

run: build
	@BELFRY_GREETING=1 exec build/belfryd

build:
	@scripts/setup
	@scripts/build release belfryd belfry

# docs/testing.md lists the stages; lint and docs are among them.
test:
	@scripts/setup test
	@tests/run-all

# As long as you like: BELFRY_SEEDS of the simulator, BELFRY_RUNS of each fuzzer, BELFRY_ROUNDS of kills.
test-long:
	@scripts/setup test
	@tests/run-all --long

fuzz:
	@scripts/setup test
	@tests/run-all --only fuzz --long

bench: build
	@scripts/setup bench
	@scripts/build release loadgen
	bench/run
	bench/deep
	bench/http
	bench/worst
	bench/node/run

# PREFIX=/usr says where to, DESTDIR=/tmp/package below what, and STRIP=1 leaves the symbols out.
install:
	@scripts/setup
	@scripts/build release belfryd belfry share
	cmake --install build --prefix $(PREFIX) $(if $(STRIP),--strip)

# What the last `make install` installed. Data and /etc/belfry stay.
uninstall:
	@scripts/uninstall build/install_manifest.txt $(PREFIX)

lint:
	@scripts/setup test
	@scripts/lint

format:
	@scripts/setup test
	clang-format -i $(SOURCES)

docs:
	@scripts/setup
	@scripts/build release gendocs
	build/gendocs docs
	@scripts/setup test
	scripts/shape --write

docs-check:
	@scripts/setup
	@scripts/build release gendocs
	build/gendocs --check docs

clean:
	rm -rf build build-*
