//! Many members from a CSV file. Strict: a header, five fields, no quotes; the error names the line.

use super::super::remote;
use super::super::values::{digest, expiry};
use std::path::Path;
use trefoil_issuer::NewMember;
use trefoil_service::time;

const HEADER: &str = "name,commitment,level,expires,roles";

pub(super) fn read(path: &Path) -> Result<Vec<NewMember>, String> {
    let file = remote::read(path)?;
    trefoil_contents::text(&file).and_then(parse).map_err(|cause| format!("{}: {cause}", path.display()))
}

fn parse(text: &str) -> Result<Vec<NewMember>, String> {
    let mut lines = text.lines().enumerate();
    if lines.next().map(|(_, line)| line.trim_end()) != Some(HEADER) {
        return Err(format!("the first line must be `{HEADER}`"));
    }
    lines
        .filter(|(_, line)| !line.trim().is_empty())
        .map(|(at, line)| member(line.trim_end()).map_err(|cause| format!("line {}: {cause}", at + 1)))
        .collect()
}

fn member(line: &str) -> Result<NewMember, String> {
    let fields: Vec<&str> = line.split(',').collect();
    let [name, commitment, level, expires, roles] = fields[..] else {
        return Err(format!("{} fields, expected 5: {HEADER}", fields.len()));
    };
    let named = |field: &str, cause: &dyn std::fmt::Display| format!("{field}: {cause}");
    Ok(NewMember {
        name: name.to_owned(),
        commitment: digest(commitment).map_err(|cause| named("commitment", &cause))?,
        level: level.parse().map_err(|_| named("level", &"expected 0 to 255"))?,
        expiry: time::parse(expires).and_then(expiry).map_err(|cause| named("expires", &cause))?,
        roles: roles.parse().map_err(|_| named("roles", &"expected 0 to 65535"))?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_read_and_mistakes_are_named_with_their_line() {
        let good = format!("ann,{},2,2027-01-01T00:00:00Z,7", "01".repeat(32));
        let file = |lines: &[&str]| parse(&[&[HEADER], lines].concat().join("\n"));
        let members = file(&[&good, "", &good.replace("ann", "bob")]).unwrap();
        assert_eq!((members.len(), members[1].name.as_str(), members[0].roles), (2, "bob", 7));
        // A proof is valid in the hour after its own, so the last hour ends at New Year.
        assert_eq!(members[0].expiry, 499_654, "hours since 1970");
        let refused = |line: &str| file(&[&good, line]).unwrap_err();
        assert_eq!(refused("x,y"), format!("line 3: 2 fields, expected 5: {HEADER}"));
        assert!(refused(&good.replace("01", "zz")).starts_with("line 3: commitment: expected 64"));
        assert!(refused(&good.replace("01", "ff")).contains("not a digest"));
        assert!(refused(&good.replace(",2,", ",300,")).starts_with("line 3: level"));
        assert!(refused(&good.replace("2027-01-01T00:00:00Z", "soon")).starts_with("line 3: expires"));
        assert!(refused(&good.replace(",7", ",-1")).starts_with("line 3: roles"));
        assert!(parse(&good).unwrap_err().contains("first line"));
        assert!(parse("").is_err());
    }
}
