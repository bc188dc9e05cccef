//! The three checks of the whole repository, each with the cheapest steps first. Every step of `check` and `test` uses one
//! profile and the features of the whole workspace, so that a step need not build again what an earlier one built: cargo would build
//! most dependencies anew for `--package`.

use std::fs::{self, File};
use std::process::{Child, Command, Stdio};

use trefoil_testing::{PATRONI, POSTGRES, Scale, VARIABLE};

use crate::libtest::WITH_TIMES;
use crate::repo::Repo;
use crate::steps::{Steps, flush};
use crate::{
    calibration, clients, deny, deploy, described, docs, fuzz, generators, guard, h2spec, interop, miri,
    numbers, once, packages, paper, processor, proxies, quotes, smoke, started, targets, tidy, tools,
};

/// The check for every change.
pub(crate) fn check(repo: &Repo) -> Result<(), String> {
    let mut steps = Steps::new();
    let name = format!("tests but {} slow ones", once::slow(&repo.profile_directory()?).len());
    add_check(repo, &mut steps, Scale::Check, &once::as_runner(repo)?, (&name, false));
    steps.finish()
}

/// The check for a push.
pub(crate) fn test(repo: &Repo, demand_all: bool) -> Result<(), String> {
    let mut steps = Steps::tolerant(demand_all);
    let runner = started::as_runner(&["start"])?;
    add_check(repo, &mut steps, Scale::Test, &runner, ("tests", demand_all));
    let times = steps.slowest(usize::MAX);
    steps.step("slow tests", || once::note_slow(&repo.profile_directory()?, &times));
    match tools::postgresql() {
        Ok(_) => {
            steps.tests(ON_POSTGRES, on_postgres(repo, &runner, Scale::Test, &[]));
            steps.tests(ON_THREE_NODES, on_three_nodes(repo, &runner, Scale::Test, &[]));
        }
        Err(why) if demand_all => {
            steps.step(ON_POSTGRES, || Err(why));
        }
        Err(why) => steps.not_run(ON_POSTGRES, why),
    }
    steps.tests("examples in the documentation", cargo_test(repo, Scale::Test, &["--workspace", "--doc"]));
    // The last step that leaves programs in the target directory must be this one, and not that over the baseline map.
    steps.tests(OVER_BASELINE, over_baseline(repo, &runner, Scale::Test, &[]));
    let build = repo.cargo(&["build", "--locked", "--workspace", "--bins", "--examples"]);
    let built = steps.command("build", build);
    let beside = start_beside(repo, demand_all);
    if built {
        smoke::add(repo, &mut steps);
        steps.step("commands in the pages", || docs::run(repo).map(|()| String::new()));
        steps.step("output in README.md", || quotes::run(repo).map(|()| String::new()));
        clients::add(repo, &mut steps);
        described::add(repo, &mut steps, Scale::Test);
        calibration::add(repo, &mut steps);
        interop::add(repo, &mut steps);
        h2spec::add(repo, &mut steps);
        generators::add(repo, &mut steps, Scale::Test);
        proxies::add(repo, &mut steps);
        guard::add(repo, &mut steps);
    } else {
        // Programs of an earlier build may be in the target directory; running them would show nothing.
        steps.step("smoke runs", || Err("not run: the build failed".to_owned()));
    }
    deploy::add(repo, &mut steps);
    paper::add(repo, &mut steps);
    steps.step("steps beside these", || end_beside(repo, beside?));
    steps.finish()
}

/// The task that runs, in a process of its own, steps that need no built program of ours. Those beside it mostly wait for a service, so that
/// together they take less than one after the other.
pub(crate) const BESIDE: &str = "beside";
/// Where it prints, in the folder of the dev profile.
const BESIDE_LOG: &str = "beside.log";

fn start_beside(repo: &Repo, demand_all: bool) -> Result<Child, String> {
    let named = |why: std::io::Error| format!("{BESIDE}: {why}");
    let log = File::create(repo.profile_directory()?.join(BESIDE_LOG)).map_err(named)?;
    // Not the program that runs, whose file a build may have replaced.
    let mut command = repo.command(repo.binary("trefoil-xtask")?);
    command.arg(BESIDE).args(demand_all.then_some("--all-tools")).stderr(log.try_clone().map_err(named)?);
    command.stdout(log).stdin(Stdio::null()).spawn().map_err(named)
}

/// Prints what it printed; its last line counts its steps.
fn end_beside(repo: &Repo, mut started: Child) -> Result<String, String> {
    let ended = started.wait().map_err(|why| format!("{BESIDE}: {why}"))?;
    let log = fs::read_to_string(repo.profile_directory()?.join(BESIDE_LOG));
    let log = log.map_err(|why| format!("{BESIDE_LOG}: {why}"))?;
    print!("{log}");
    flush();
    let counts = log.lines().last().unwrap_or_default().to_owned();
    if ended.success() { Ok(counts) } else { Err(format!("{ended}: {counts}")) }
}

/// The steps of [`BESIDE`].
pub(crate) fn beside(repo: &Repo, demand_all: bool) -> Result<(), String> {
    let mut steps = Steps::tolerant(demand_all);
    targets::add(repo, &mut steps);
    steps.command("packages of what clients link", packages::list(repo));
    fuzz::add(repo, &mut steps, Scale::Test);
    deny::add(repo, &mut steps);
    steps.finish()
}

/// The check that takes hours: full volume in the release profile, and the interpreter.
pub(crate) fn soak(repo: &Repo) -> Result<(), String> {
    let mut steps = Steps::patient();
    let runner = started::as_runner(&["start"])?;
    steps.step("kernels for this processor", || Ok(processor::note()));
    steps.tests("tests", timed_tests(repo, Scale::Soak, &runner, &["--release"]));
    steps.tests(ON_POSTGRES, on_postgres(repo, &runner, Scale::Soak, &["--release"]));
    steps.tests(ON_THREE_NODES, on_three_nodes(repo, &runner, Scale::Soak, &["--release"]));
    add_failover(repo, &mut steps, &runner);
    steps.tests(OVER_BASELINE, over_baseline(repo, &runner, Scale::Soak, &["--release"]));
    steps.command("packages of what clients link, built", packages::built(repo));
    let build = repo.cargo(&["build", "--locked", "--package=trefoil-cli"]);
    if steps.command("build", build) {
        described::add(repo, &mut steps, Scale::Soak);
        generators::add(repo, &mut steps, Scale::Soak);
        proxies::add_pauses(repo, &mut steps);
    }
    steps.command("release", repo.command("scripts/release"));
    fuzz::add(repo, &mut steps, Scale::Soak);
    miri::add(repo, &mut steps);
    steps.finish()
}

/// The step of [`over_baseline`].
const OVER_BASELINE: &str = "server over the baseline map";

/// The step of [`add_failover`].
const FAILS_OVER: &str = "service on PostgreSQL that fails over";

/// The end-to-end tests. Some crates beside the service have a program of this name; a name of a module below occurs in few of them.
const END_TO_END: [&str; 2] = ["--workspace", "--test=it"];
/// The step of [`on_postgres`].
const ON_POSTGRES: &str = "service on PostgreSQL";
/// As many modules of tests as an ordinary run has time for. A `soak` runs all of them, less those below.
const ON_POSTGRES_OFTEN: [&str; 13] = [
    "batches::",
    "callers::",
    "credentials::",
    "enrolment::",
    "kills::",
    "lockouts::",
    "modes::",
    "policies::",
    "renewal::",
    "revocation::",
    "session::",
    "subjects::",
    "unproven::",
];

/// Tests that copy, damage or open the file of a store, or audit it offline. A database is copied and looked at with its own tools, and its log is
/// audited over HTTPS.
const OF_A_FILE: [&str; 24] = [
    "a_gateway_that_forgets_a_revocation_gets_no_decision",
    "a_lock_of_another_program_is_named_with_its_holder",
    "a_restart_ends_no_session_and_verifies_no_proof",
    "a_store_whose_sessions_were_edited_does_not_start",
    "ages::",
    "an_account_is_the_same_for_good_and_another_for_each_audience_and_tenant",
    "an_installation_that_does_not_start_says_what_where_and_what_to_do",
    "backup::",
    "beside_a_running_service_it_exits_0_1_or_2",
    "canary::",
    "damage::",
    "decided::",
    "disk::",
    "erasure::",
    "every_change_answers_with_a_receipt_that_verifies_offline",
    "every_request_in_a_waiting_batch_is_answered_and_its_seal_is_kept",
    "log::",
    "retention::",
    "vaults::",
    "what_a_killed_replacement_left_behind_is_forgotten_at_the_next_start",
    "what_a_killed_revocation_left_behind_is_forgotten_at_the_next_start",
    "what_a_revoked_key_set_sealed_verifies_no_more_and_no_service_signs_with_it",
    "what_was_noted_and_not_sealed_is_sealed_by_the_next_start",
    "without_the_first_owner_doctor_and_a_probe_find_a_service_well",
];

/// The step of [`on_three_nodes`].
const ON_THREE_NODES: &str = "service on three nodes";
/// As many modules of tests as an ordinary run has time for. A `soak` runs all of them, less those below.
const ON_THREE_NODES_OFTEN: [&str; 8] = [
    "batches::",
    "client::",
    "client_certificates::",
    "clock::",
    "conditional::",
    "enrolment::",
    "policies::",
    "session::",
];

/// Tests that hold for one node alone, by the reason.
const OF_ONE_NODE: [(&str, &[&str]); 3] = [
    (
        "a restart refuses requests of the seconds before it, and a fleet remembers which it answered",
        &["a_standing_session_makes_its_request_again_after_a_restart"],
    ),
    (
        "the test moves the clock by which the key-holder counts the attempts of a day, and that of a fleet goes by its machine's",
        &["boundary::"],
    ),
    (
        "the key-holder is in the process, so that an operator of the service may reset its counts",
        &["a_reset_lets_a_locked_out_subject_in"],
    ),
];

/// `tests` names the step, and says whether its tests with PostgreSQL are demanded.
fn add_check(
    repo: &Repo,
    steps: &mut Steps,
    scale: Scale,
    runner: &[String; 2],
    (tests, demand_postgres): (&str, bool),
) {
    steps.command("format", repo.cargo(&["fmt", "--all", "--check"]));
    steps.step("tidy", || tidy::run(repo).map(|()| String::new()));
    steps.step("numbers in prose", || numbers::check(repo).map(|()| String::new()));
    let lints = ["clippy", "--locked", "--workspace", "--all-targets", "--", "-D", "warnings"];
    steps.command("lints", repo.cargo(&lints));
    let mut documentation = repo.cargo(&["doc", "--locked", "--workspace", "--no-deps"]);
    // A module may point its readers at its private parts; they read the source.
    documentation.env("RUSTDOCFLAGS", "-D warnings -A rustdoc::private-intra-doc-links");
    steps.command("documentation", documentation);
    steps.step("kernels for this processor", || Ok(processor::note()));
    let mut command = timed_tests(repo, scale, runner, &[]);
    if let Err(why) = tools::postgresql()
        && !demand_postgres
    {
        command.env(POSTGRES, "absent");
        steps.not_run("tests with PostgreSQL", why);
    }
    steps.tests(tests, command);
}

/// The primary of a cluster under Patroni dies or hangs: minutes, in a step of its own, because other tests beside it would take the seconds that it
/// counts.
fn add_failover(repo: &Repo, steps: &mut Steps, runner: &[String; 2]) {
    let needed = [tools::postgresql(), tools::patroni(repo), tools::etcd(repo)];
    let which = ["--package=trefoil-cli", "--test=it", "--release"];
    let arguments = [&which[..], &WITH_TIMES, &["failover::"]].concat();
    match needed.into_iter().find_map(Result::err) {
        None => steps.tests(FAILS_OVER, started_tests(repo, Scale::Soak, runner, &arguments)),
        Some(missing) => {
            steps.step(FAILS_OVER, || Err(missing));
        }
    }
}

/// The tests of all crates with their times, started by `runner`.
fn timed_tests(repo: &Repo, scale: Scale, runner: &[String; 2], more: &[&str]) -> Command {
    let arguments = [&["--workspace", "--tests"], more, &WITH_TIMES].concat();
    let mut command = started_tests(repo, scale, runner, &arguments);
    command.env(PATRONI, "absent");
    command
}

fn started_tests(repo: &Repo, scale: Scale, runner: &[String; 2], arguments: &[&str]) -> Command {
    let runner = runner.each_ref().map(String::as_str);
    cargo_test(repo, scale, &[&runner[..], arguments].concat())
}

fn cargo_test(repo: &Repo, scale: Scale, arguments: &[&str]) -> Command {
    let mut command = repo.cargo(&["test", "--locked", "--no-fail-fast"]);
    command.args(arguments).env(VARIABLE, scale.name());
    command
}

/// The same tests of the service, with its store in PostgreSQL.
fn on_postgres(repo: &Repo, runner: &[String; 2], scale: Scale, more: &[&str]) -> Command {
    let (which, modules) = match scale {
        // Without names of modules, the tests of other crates would run too.
        Scale::Soak => (["--package=trefoil-cli", "--test=it"], &[][..]),
        Scale::Check | Scale::Test => (END_TO_END, &ON_POSTGRES_OFTEN[..]),
    };
    let but: Vec<&str> = OF_A_FILE.iter().flat_map(|name| ["--skip", name]).collect();
    let arguments = [&which[..], more, &WITH_TIMES, modules, &but].concat();
    let mut command = started_tests(repo, scale, runner, &arguments);
    command.env("TREFOIL_TEST_STORE", "postgres").env(PATRONI, "absent");
    command
}

/// The same on three nodes that share a database. Each request goes to one of them at random.
fn on_three_nodes(repo: &Repo, runner: &[String; 2], scale: Scale, more: &[&str]) -> Command {
    let (which, modules) = match scale {
        Scale::Soak => (["--package=trefoil-cli", "--test=it"], &[][..]),
        Scale::Check | Scale::Test => (END_TO_END, &ON_THREE_NODES_OFTEN[..]),
    };
    let of_one = OF_ONE_NODE.iter().flat_map(|(_, names)| *names);
    let but: Vec<&str> = OF_A_FILE.iter().chain(of_one).flat_map(|name| ["--skip", name]).collect();
    let arguments = [&which[..], more, &WITH_TIMES, modules, &but].concat();
    let mut command = started_tests(repo, scale, runner, &arguments);
    command.env("TREFOIL_TEST_STORE", "fleet").env(PATRONI, "absent");
    command
}

/// The cache and the pipeline are tested over both maps in every run. In the server only one file depends on the map, so a few
/// tests suffice: sessions from the first request to the last, across roots and restarts.
///
/// The benchmark is left out because it asks for both maps.
fn over_baseline(repo: &Repo, runner: &[String; 2], scale: Scale, more: &[&str]) -> Command {
    let server =
        ["--exclude=trefoil-bench", "--no-default-features", "--features", "trefoil-cli/cache-dashmap"];
    let which = [&END_TO_END[..], &server, more].concat();
    let arguments = [&which[..], &WITH_TIMES, &["session::", "revocation::"]].concat();
    started_tests(repo, scale, runner, &arguments)
}
