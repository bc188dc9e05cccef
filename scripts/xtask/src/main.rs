//! Repository tasks, run as `cargo xtask <task>`.
//!
//! `check` is for every change, `test` for every push, and `soak` for checks that take hours. The other tasks are parts of them
//! that are useful alone.

mod calibration;
mod claims;
mod clients;
mod containers;
mod deny;
mod deploy;
mod described;
mod docs;
mod fleet;
mod fuzz;
mod generators;
mod guard;
mod h2spec;
mod interop;
mod libtest;
mod markdown;
mod miri;
mod nightly;
mod numbers;
mod once;
mod packages;
mod pages;
mod paper;
mod processor;
mod proxies;
mod quotes;
mod repo;
mod service;
mod smoke;
mod started;
mod steps;
mod targets;
mod test;
mod tidy;
mod tools;
mod usage;
mod watched;

use std::process::ExitCode;

use repo::Repo;
use steps::Steps;
use trefoil_testing::Scale;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    if let ["once", files, program, rest @ ..] = arguments.as_slice() {
        return once::run(files, program, rest).unwrap_or_else(|why| {
            eprintln!("{why}");
            ExitCode::FAILURE
        });
    }
    if let ["start", program, rest @ ..] = arguments.as_slice() {
        eprintln!("{}", started::run(program, rest));
        return ExitCode::FAILURE;
    }
    let outcome = Repo::open().and_then(|repo| match arguments.as_slice() {
        ["check"] => test::check(&repo),
        ["test"] => test::test(&repo, false),
        ["test", "--all-tools"] => test::test(&repo, true),
        [test::BESIDE] => test::beside(&repo, false),
        [test::BESIDE, "--all-tools"] => test::beside(&repo, true),
        ["soak"] => test::soak(&repo),
        ["tidy"] => tidy::run(&repo),
        ["locks"] => tidy::shared::write(&repo),
        ["clients"] => alone(|steps| clients::add(&repo, steps)),
        ["packages"] => clients::packages(&repo),
        ["deploy"] => alone(|steps| deploy::add(&repo, steps)),
        ["containers"] => alone(|steps| containers::add(&repo, steps)),
        ["calibration"] => alone(|steps| calibration::add(&repo, steps)),
        ["described"] => alone(|steps| described::add(&repo, steps, Scale::Test)),
        ["generators"] => alone(|steps| generators::add(&repo, steps, Scale::Test)),
        ["generators", "--all"] => alone(|steps| generators::add(&repo, steps, Scale::Soak)),
        ["proxies"] => alone(|steps| proxies::add(&repo, steps)),
        ["proxies", "--pauses"] => alone(|steps| proxies::add_pauses(&repo, steps)),
        ["h2spec"] => alone(|steps| h2spec::add(&repo, steps)),
        ["deny"] => deny::run(&repo).map(|summary| println!("{summary}")),
        ["pages"] => pages::write(&repo),
        ["numbers"] => numbers::write(&repo),
        ["numbers", "--check"] => numbers::check(&repo),
        ["paper", asked @ ..] => paper::run(&repo, asked),
        ["interop"] => alone(|steps| interop::add(&repo, steps)),
        ["docs"] => docs::run(&repo).and_then(|()| quotes::run(&repo)),
        ["miri"] => alone(|steps| miri::add(&repo, steps)),
        ["targets"] => alone(|steps| targets::add(&repo, steps)),
        ["guard", asked @ ..] => guard::run(&repo, asked),
        ["fuzz", asked @ ..] => fuzz::run(&repo, asked),
        ["help" | "--help" | "-h"] => {
            print!("{}", usage::USAGE);
            Ok(())
        }
        _ => Err(format!("unknown task {:?}\n\n{}", arguments.join(" "), usage::USAGE)),
    });
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            if !message.is_empty() {
                eprintln!("{message}");
            }
            ExitCode::FAILURE
        }
    }
}

/// Steps of `test` by themselves, with the programs of the last build.
fn alone(add: impl FnOnce(&mut Steps)) -> Result<(), String> {
    let mut steps = Steps::new();
    add(&mut steps);
    steps.finish()
}
