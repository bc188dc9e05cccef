//! Mistakes with key-holders: none of them may make new keys or pass for a key-holder that is away.

use super::{Folder, check};
use crate::world::*;

#[test]
fn a_key_holder_that_is_started_wrongly_says_what_where_and_what_to_do() {
    let folder = Folder { folder: tempfile::tempdir().unwrap() };
    let quiet = &[("TREFOIL_KEY_HOLDER_LOG_FILTER", "off")][..];
    let mut wrong = Vec::new();
    let listen = [(); 3].map(|()| crate::key_holder_process::listen());
    Command::new(env!("CARGO_BIN_EXE_trefoil"))
        .args(["key-holder", "init-quorum", "--dir", "three", "--gateway", "gateway", "--listen"])
        .args(&listen)
        .current_dir(folder.folder.path())
        .output()
        .unwrap()
        .done();
    let toml = std::fs::read_to_string(folder.path("three/1.toml")).unwrap();
    let absolute = format!("data_dir = {:?}", folder.path("three/1"));
    assert!(toml.contains(&absolute), "it starts in any working directory: {toml}");

    let misnamed = folder.file("misnamed.toml", &toml.replace(&absolute, "data_dir = \"three-2/1\""));
    let said = folder.said(&["key-holder", "--config", &misnamed], quiet);
    check("misnamed", &said, "is missing | three-2/1/pieces.key | data_dir is wrong", &mut wrong);
    check("misnamed", &said, "makes NEW key-holders | pieces.key | working directory", &mut wrong);
    assert!(!folder.path("three-2").exists(), "a directory was made for a key-holder that has nothing");

    let config = folder.text("three/1.toml");
    let said = folder.said(&["key-holder", "status", "--config", &config], quiet);
    let answer = format!("nothing listens | {} | start the key-holder", listen[0]);
    check("status", &said, &answer, &mut wrong);
    let said = folder.said(&["serve", "--config", &config], &[]);
    check("serve", &said, "a key-holder's file | 1.toml | trefoil key-holder --config", &mut wrong);
    let service = folder.file("service.toml", "[pipeline]\nworkers = 2\n");
    let said = folder.said(&["key-holder", "--config", &service], quiet);
    check("holder", &said, "a service's file | service.toml | trefoil serve --config", &mut wrong);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
