//! `trefoil calibrate`: thresholds of the bundled models, what it says of bad files, and its policy at a service.

use crate::world::*;

fn set(name: &str) -> [String; 4] {
    let file = |file: &str| format!("{}/../../bench/data/{name}/{file}", env!("CARGO_MANIFEST_DIR"));
    ["--x".to_owned(), file("x.npy"), "--y".to_owned(), file("y.npy")]
}

fn calibrate(files: &[String; 4], more: &[&str]) -> Output {
    let files = files.each_ref().map(String::as_str);
    trefoil(&[&["calibrate"], &files[..], more].concat())
}

/// Scores, refused photographs of the right person and accepted pairs of strangers as another program counted them
/// (`scripts/testing/calibration.py`).
#[test]
fn the_bundled_models_have_their_known_thresholds_and_only_indicate_class_4() {
    for (name, width, scores, refused, accepted) in [
        ("lfw_facenet128", 128, [11_781, 16_046, 21_362], [8, 66, 591], [9_004, 900, 90]),
        ("lfw_arcface512", 512, [6_253, 8_496, 10_818], [4, 6, 19], [2_232, 223, 22]),
    ] {
        let json: Value = serde_json::from_str(&calibrate(&set(name), &["--json"]).done()).unwrap();
        let classes = json["experiments"][0]["quantised"]["classes"].as_array().unwrap();
        let of =
            |key: &str| -> Vec<i64> { classes.iter().map(|class| class[key].as_i64().unwrap()).collect() };
        assert_eq!((of("score"), of("refused")), (scores.to_vec(), refused.to_vec()), "{name}");
        assert!(of("accepted").iter().zip(accepted).all(|(found, most)| *found <= most), "{name}: {json}");
        let shown: Vec<&Value> = classes.iter().map(|class| &class["shown"]).collect();
        assert_eq!(shown, [true, true, false], "{name}: class 4 is only indicated");
        let three = &json["experiments"][1]["quantised"]["classes"][2];
        assert!(
            three["refused_share"][0].as_f64() < classes[2]["refused_share"][0].as_f64(),
            "three are better"
        );
        let [share, low, high] = [0, 1, 2].map(|at| classes[2]["refused_share"][at].as_f64().unwrap());
        assert!(low < share && share < high && high < 2.0 * share, "{low} {share} {high}");

        let text = calibrate(&set(name), &[]).done();
        assert!(
            text.contains(&format!("vectors of {width} numbers")) && text.contains("indicated"),
            "{text}"
        );
        let wide = text.lines().find(|line| line.chars().count() > 80 && !line.contains("--x"));
        assert_eq!(wide, None);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_policy_of_an_indicated_class_is_asked_for_twice_and_makes_a_tenant() {
    let service = Program::own(&[]);
    let path = |name: &str| service.file(name).to_str().unwrap().to_owned();
    let (policy, html) = (path("policy.json"), path("report.html"));
    let ask =
        ["--policy", &policy, "--model", "my-facenet", "--audience", "https://shop.example", "--html", &html];
    let files = set("lfw_facenet128");
    calibrate(&files, &ask).ends(1, "class 4 with one photograph at enrolment is only indicated");
    assert!(!service.file("policy.json").exists());
    let said = calibrate(&files, &[&ask[..], &["--accept-indicated", "--three-photographs"]].concat()).done();
    assert!(said.contains(&format!("trefoil admin tenant create NAME --policy {policy}")), "{said}");
    let page = std::fs::read_to_string(&html).unwrap();
    assert_eq!((page.matches("<svg").count(), page.matches("</svg>").count()), (5, 5));
    assert!(
        !page.contains("http") && !page.contains("NaN") && page.contains("23.0 (19."),
        "it needs no network"
    );

    let data = service.data();
    let admin =
        ["--data-dir", data.to_str().unwrap(), "--admin", &format!("https://{}", service.admin.address)];
    let made =
        trefoil(&[&["admin", "tenant", "create", "shop", "--policy", &policy], &admin[..]].concat()).done();
    let tenant = made.split_whitespace().nth(1).unwrap();
    let shown = trefoil(&[&["admin", "tenant", "show", tenant, "--json"], &admin[..]].concat()).done();
    let shown: Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(shown["policy"]["threshold"], json!({"calibrated": {"score": 21_827, "fmr_class": 4}}));
    assert_eq!(shown["policy"]["embedder"], "my-facenet");
}

/// Vectors and people as text, whether they can be used, and what is said of them.
const FILES: [(&str, &str, i32, &str); 9] = [
    ("1,nan\n2,3\n", "a\na\n", 1, "row 0, column 1: not a finite number"),
    ("1,2\n0,0\n", "a\na\n", 1, "row 1: all its numbers are zero; look at what the model gave"),
    ("1,2\n3,4\n", "a\n", 1, "2 embeddings but 1 person ids"),
    ("1\n2\n", "a\na\n", 1, "2 to 512 columns expected, found 1"),
    ("1,2\n3,4\n", "a\na\n", 1, "expected two people or more, with at least 2 each"),
    ("1,2\n3,4\n", "a\nb\n", 1, "2 people can be enrolled and 0 photographs compared"),
    (
        "1,2\n2,1\n1,2\n5,1\n",
        "a\nb\na\nb\n",
        0,
        "rows 0 and 2 are equal, and of one person: the same photograph twice",
    ),
    (
        "1,2\n2,1\n1,3\n1,2\n",
        "a\nb\na\nb\n",
        0,
        "rows 0 and 3 are equal, and of two people: a label is wrong",
    ),
    (
        "1,2\n2,1\n1,3\n5,1\n7,7\n",
        "a\nb\na\nb\nc\n",
        0,
        "people with one photograph, only compared as strangers: 1",
    ),
];

#[test]
fn what_is_wrong_with_the_files_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let text = ["--x".to_owned(), path("x.csv"), "--y".to_owned(), path("y.csv")];
    for (x, y, ends, said) in FILES {
        std::fs::write(path("x.csv"), x).unwrap();
        std::fs::write(path("y.csv"), y).unwrap();
        calibrate(&text, &[]).ends(ends, said);
    }
    let told = calibrate(&text, &[]).ends(0, "they are scaled to 1, as in the service");
    assert!(told.contains("left out with three at enrolment: 3") && told.contains("left out:"), "{told}");
    std::fs::write(path("x.npy"), "1,2\n").unwrap();
    let mut other = text.clone();
    other[1] = path("x.npy");
    calibrate(&other, &[])
        .ends(1, "x.npy: not a .npy file: it does not begin with \\x93NUMPY; save with numpy.save");
    calibrate(&text, &["--policy", "p.json"]).ends(2, "--model");
    calibrate(&text, &["--class", "5"]).ends(2, "2..=4");
}
