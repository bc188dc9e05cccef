//! What `cargo xtask help` prints.

/// The tasks, one a line.
pub(crate) const USAGE: &str = "\
usage: cargo xtask <task>

  check             for every change: format, rules, lints, documentation, tests at small scale
  test              for every push: the same with more of each volume test, smoke runs, and what other programs
                    check (Go, Node, Python, Chromium, libFuzzer, cargo-deny) where they are installed
  test --all-tools  the same, and a step whose program is missing fails: for a release
  beside            the steps that `test` runs beside those with a service: `targets`, `fuzz` and `deny`
  soak              for hours: the full volume of every test in the release profile, Miri, long fuzzing
  tidy              rules of the source tree: dependency direction, circles of imports, clocks, lengths, evidence,
                    one list of forbidden locks
  locks             write the list of forbidden locks and shared writes into the clippy.toml of each crate on a request's path
  clients           the TypeScript and Python clients, the dlib example of server/MODELS.md, and the pages of the built server in
                    Chromium
  packages          the wheel and the npm package of the clients, in target/packages
  deploy            alerts, units and the metrics of the built server, by Prometheus' and systemd's programs; a fleet in plain
                    processes, which is logged in to; `containers`
  containers        the image of the built program, and the Kubernetes file of a fleet, run by podman and logged in to
  described         the built server against its own description, by schemathesis
  calibration       thresholds of the bundled models, counted again by NumPy
  generators        clients that ogen and oapi-codegen (Go) make from the description, compiled
  generators --all  those of openapi-generator for Python, TypeScript and Java too
  proxies           nginx, haproxy and Caddy with the settings of server/PROXIES.md before the built server
  proxies --pauses  2,000 logins on kept connections with pauses of 4 to 70 s, by four HTTP clients and through two proxies
  h2spec            HTTP/2 of the built server, by h2spec (Go)
  deny              licences, bans and sources by cargo-deny; advisories where the database is reachable
  pages             write what the pages repeat of the program, and the claims that stand above their tests
  numbers           write the numbers of all pages from bench/records/
  numbers --check   fail if a number in prose differs from its record, or one of the paper has none
  paper [--png]     the white paper, target/trefoil.pdf, or its pages as pictures
  interop           exchange signatures with CIRCL (Go) and noble (Node); read the log of the built server with torchwood (Go)
  docs              fail if a page names a command or flag that does not exist, or README.md quotes what `trefoil demo` does
                    not print
  miri              unit tests of the cache and of what it shares memory through, under Miri
  guard [--record]  instructions and allocations of the hot path against bench/guard.json, under valgrind; or write that file
  guard --extra-hash
                    shows that the guard fails when a batch, or its digests, cost one hash more, and what it says
  targets           what clients link, checked for machines without the standard library and for a browser; the program for Arm
  fuzz              the fuzz targets of attestations and proofs, built and run by libFuzzer for seconds
  fuzz --executions N [--record]
                    attestations alone, N inputs; writes bench/records/fuzz-attest.json
";
