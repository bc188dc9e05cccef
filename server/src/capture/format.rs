//! The lines of a capture: comma-separated, one for each request, and comments that begin with `#`.

use std::fmt;
use thiserror::Error;

/// The first lines of a file.
pub(super) const HEAD: &str = "# trefoil-capture/2\n# began_us,took_us,route,status,request_bytes,answer_bytes,tenant,subjects,stream\n";

/// The version of a file, which its first line names. The first one marks no streams.
#[derive(Clone, Copy)]
enum Version {
    One,
    Two,
}

/// The last line of a file that was ended.
pub(super) fn end(requests: u64, lost: u64, is_full: bool) -> String {
    let full = if is_full { "; the file is full" } else { "" };
    format!("# end: {requests} requests, {lost} lost{full}\n")
}

/// One request of a capture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Captured {
    /// Since the capture began.
    pub began_us: u64,
    /// From its head to its answer, in the service.
    pub took_us: u64,
    /// Method and pattern, which names no subject.
    pub route: String,
    /// Of the answer.
    pub status: u16,
    /// Of its body.
    pub request_bytes: u64,
    /// Of its body.
    pub answer_bytes: u64,
    /// Keyed hash of the tenant; `None` where no tenant was known.
    pub tenant: Option<u64>,
    /// Keyed hashes of the subjects, one for each login that could be read.
    pub subjects: Vec<u64>,
    /// The mark of its stream: on the request that opens a stream, and on each of its logins, which otherwise looks like a single one.
    pub stream: Option<u64>,
}

impl fmt::Display for Captured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Captured { began_us, took_us, route, status, request_bytes, answer_bytes, .. } = self;
        write!(f, "{began_us},{took_us},{route},{status},{request_bytes},{answer_bytes},")?;
        self.tenant.map_or(Ok(()), |tenant| write!(f, "{tenant:016x}"))?;
        f.write_str(",")?;
        for (at, subject) in self.subjects.iter().enumerate() {
            write!(f, "{}{subject:016x}", if at == 0 { "" } else { "+" })?;
        }
        f.write_str(",")?;
        self.stream.map_or(Ok(()), |stream| write!(f, "{stream:016x}"))
    }
}

/// A line that is not of the format.
#[derive(Debug, Error)]
#[error("line {line} is not one of a capture of this version: {cause}")]
pub struct FormatError {
    line: usize,
    cause: &'static str,
}

/// The requests of a capture in the order in which they began. If the process was killed, the last line may be cut off; it is left out.
///
/// # Errors
/// The text is no capture, or one of its lines is malformed.
pub fn read(text: &str) -> Result<Vec<Captured>, FormatError> {
    let version = match text.lines().next() {
        Some("# trefoil-capture/1") => Version::One,
        Some("# trefoil-capture/2") => Version::Two,
        _ => return Err(FormatError { line: 1, cause: "it begins with # trefoil-capture/1 or /2" }),
    };
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    let lines = whole.lines().enumerate().filter(|(_, line)| !line.starts_with('#'));
    let parsed =
        lines.map(|(at, line)| parse(line, version).map_err(|cause| FormatError { line: at + 1, cause }));
    let mut captured = parsed.collect::<Result<Vec<_>, _>>()?;
    captured.sort_by_key(|request| request.began_us);
    Ok(captured)
}

fn parse(line: &str, version: Version) -> Result<Captured, &'static str> {
    let (line, stream) = match version {
        Version::One => (line, ""),
        Version::Two => line.rsplit_once(',').ok_or("it has nine fields")?,
    };
    let fields: Vec<&str> = line.split(',').collect();
    let [began_us, took_us, route, status, request_bytes, answer_bytes, tenant, subjects] = fields[..] else {
        return Err(match version {
            Version::One => "it has eight fields",
            Version::Two => "it has nine fields",
        });
    };
    let number = |text: &str| text.parse::<u64>().map_err(|_| "a time, status or size is no number");
    let hash = |text: &str| u64::from_str_radix(text, 16).map_err(|_| "a hash is not hexadecimal");
    let one = |text: &str| (!text.is_empty()).then(|| hash(text)).transpose();
    let hashes =
        |text: &str| text.split('+').filter(|hash| !hash.is_empty()).map(hash).collect::<Result<_, _>>();
    Ok(Captured {
        began_us: number(began_us)?,
        took_us: number(took_us)?,
        route: route.to_owned(),
        status: number(status)?.try_into().map_err(|_| "a status has three digits")?,
        request_bytes: number(request_bytes)?,
        answer_bytes: number(answer_bytes)?,
        tenant: one(tenant)?,
        subjects: hashes(subjects)?,
        stream: one(stream)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn captured(subjects: Vec<u64>) -> Captured {
        Captured {
            began_us: 12,
            took_us: 3_400,
            route: "POST /v1/authentications".to_owned(),
            status: 200,
            request_bytes: 1_500,
            answer_bytes: 0,
            tenant: (!subjects.is_empty()).then_some(0xab),
            subjects,
            stream: None,
        }
    }

    #[test]
    fn a_line_is_read_as_it_was_written() {
        let streamed = Captured { stream: Some(0xc0de), ..captured(vec![7]) };
        for request in [captured(vec![]), captured(vec![1]), captured(vec![u64::MAX, 2, 3]), streamed] {
            assert_eq!(parse(&request.to_string(), Version::Two).unwrap(), request);
        }
        let line = Captured { stream: Some(3), ..captured(vec![1, 2]) }.to_string();
        assert_eq!(
            line,
            "12,3400,POST /v1/authentications,200,1500,0,00000000000000ab,0000000000000001+0000000000000002,0000000000000003"
        );
    }

    #[test]
    fn a_file_of_the_first_version_is_read_and_has_no_streams() {
        let line = "12,3400,POST /v1/authentications,200,1500,0,00000000000000ab,0000000000000001";
        let read_as =
            |version: u8, line: &str| read(&format!("# trefoil-capture/{version}\n# names\n{line}\n"));
        assert_eq!(read_as(1, line).unwrap(), [captured(vec![1])]);
        assert_eq!(read_as(2, &format!("{line},")).unwrap(), [captured(vec![1])]);
        assert!(read_as(1, &format!("{line},")).is_err() && read_as(2, line).is_err());
        assert!(read_as(3, line).is_err(), "a version to come");
    }

    #[test]
    fn requests_are_read_in_order_and_a_line_that_was_cut_off_is_left_out() {
        let [late, early] = [9, 4].map(|began_us| Captured { began_us, ..captured(vec![]) });
        let text = format!("{HEAD}{late}\n{early}\n{}12,34", end(2, 0, true));
        assert_eq!(read(&text).unwrap(), [early, late]);
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(
            version in 1..3_u8,
            text in prop_oneof!["[0-9a-f,+#\n]{0,99}", any::<String>()],
        ) {
            let _ = read(&text);
            if let Ok(captured) = read(&format!("# trefoil-capture/{version}\n{text}\n")) {
                for request in captured {
                    prop_assert_eq!(parse(&request.to_string(), Version::Two), Ok(request));
                }
            }
        }
    }

    #[test]
    fn what_is_no_capture_is_refused_by_its_line() {
        assert!(read("").is_err() && read("{}\n").is_err());
        for (line, cause) in [
            ("1,2,3", "nine"),
            ("1,2,r,200,0,0,,", "nine"),
            ("a,2,r,200,0,0,,,", "no number"),
            ("1,2,r,70000,0,0,,,", "three digits"),
            ("1,2,r,200,0,0,x,,", "hexadecimal"),
            ("1,2,r,200,0,0,,,é", "hexadecimal"),
            ("1,2,r,200,0,0,,,11112222333344445", "hexadecimal"),
        ] {
            let why = read(&format!("{HEAD}{line}\n")).unwrap_err().to_string();
            assert!(why.contains("line 3") && why.contains(cause), "{why}");
        }
    }
}
