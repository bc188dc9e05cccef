//! Completions and manual pages, as the program makes them.

use crate::world::*;

/// Every command as its words, from the help texts.
fn commands(of: &[String]) -> Vec<Vec<String>> {
    let words: Vec<&str> = of.iter().map(String::as_str).chain(["--help"]).collect();
    let help = String::from_utf8(trefoil(&words).stdout).unwrap();
    let list = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let list = list.take_while(|line| line.starts_with("  "));
    let names =
        list.filter_map(|line| line.strip_prefix("  ")?.split(' ').next().filter(|name| !name.is_empty()));
    let below = names.filter(|name| *name != "help").flat_map(|name| {
        let words = [of, &[name.to_owned()]].concat();
        let deeper = commands(&words);
        std::iter::once(words).chain(deeper)
    });
    below.collect()
}

#[test]
fn each_shell_is_told_of_every_command_and_bash_completes_them() {
    let commands = commands(&[]);
    assert!(
        commands.len() > 40 && commands.contains(&["admin", "tenant", "list"].map(str::to_owned).to_vec())
    );
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let made = trefoil(&["completions", shell]);
        let script = made.out();
        assert_eq!(code(&made), 0);
        for command in &commands {
            assert!(script.contains(command.last().unwrap().as_str()), "{shell}: {command:?}");
        }
    }
    assert_eq!(code(&trefoil(&["completions", "tcsh"])), 2);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trefoil");
    std::fs::write(&path, trefoil(&["completions", "bash"]).stdout).unwrap();
    assert!(Command::new("bash").arg("-n").arg(&path).status().unwrap().success());
    // As at the tabulator.
    let complete = |words: &str| {
        let script = format!(
            ". '{}'; COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); \
             _trefoil trefoil \"${{COMP_WORDS[COMP_CWORD]}}\" ''; echo \"${{COMPREPLY[@]}}\"",
            path.display()
        );
        Command::new("bash").args(["-c", &script]).output().unwrap().out().trim().to_owned()
    };
    assert_eq!(complete("trefoil quick"), "quickstart");
    assert_eq!(complete("trefoil admin api-key rev"), "revoke");
    assert_eq!(complete("trefoil serve --admin-l"), "--admin-listen");
}

#[test]
fn there_is_a_manual_page_for_each_command() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().to_str().unwrap();
    assert_eq!(code(&trefoil(&["man", "--directory", directory])), 0);
    let commands = commands(&[]);
    for command in &commands {
        let page = folder.path().join(format!("trefoil-{}.1", command.join("-")));
        let page = std::fs::read_to_string(page).unwrap_or_else(|cause| panic!("{command:?}: {cause}"));
        assert!(page.contains(".TH") && page.contains(".SH DESCRIPTION"), "{command:?}");
    }
    let pages = std::fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(pages, commands.len() + 1, "and that of the program");
    let missing = trefoil(&["man", "--directory", folder.path().join("none").to_str().unwrap()]);
    let told = missing.err();
    assert!(code(&missing) == 1 && told.contains("none") && told.contains("name a folder"), "{told}");
    let update = trefoil(&["issuer", "update", "ada", "--directory", "x", "--level", "3"]);
    let told = update.err();
    assert!(told.contains("--commitment") && told.contains("--expires"), "{told}");
}
