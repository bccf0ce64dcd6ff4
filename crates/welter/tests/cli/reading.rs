//! Readings of files are said: by runs, `info`, `convert` and reports; not with `-q`.

use crate::sandbox::Sandbox;

const EDGES: &str =
    "# a comment\nid,from_user,to_user,cost,year\n7,ann,bob,2.5,1999\n\n9,bob,cat,1,2001\n";

#[test]
fn runs_say_which_columns_were_read() {
    let sandbox = Sandbox::new();
    sandbox.write("e.csv", EDGES);
    let note = "e.csv: commas, a header; source is column 2 \"from_user\", target column 3 \
                \"to_user\", weight column 4 \"cost\"; ids are strings; 1 comment line, 1 blank \
                line passed over";
    let run = sandbox.run("run mcst e.csv --report r.json -o -");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(run.stderr.contains(&format!("note: {note}\n")), "{}", run.stderr);
    let convert = sandbox.run("convert e.csv -o copy.csv");
    assert!(convert.stderr.contains(note), "{}", convert.stderr);
    let quiet = sandbox.run("run mcst e.csv -q -o -");
    assert_eq!((quiet.code, &quiet.stderr[..]), (Some(0), ""));
    let info = sandbox.must("info e.csv");
    assert!(info.contains("read as      commas, a header; source is column 2"), "{info}");
    let report: serde_json::Value = serde_json::from_slice(&sandbox.read("r.json")).unwrap();
    let file = &report["input"]["files"][0];
    assert_eq!(file["source"]["name"], "from_user");
    assert_eq!((&file["weight"]["number"], &file["comment_lines"]), (&4.into(), &1.into()));
}

#[test]
fn what_cannot_be_known_is_refused_with_what_decides() {
    let sandbox = Sandbox::new();
    for (text, options, named) in [
        (
            "ann,knows,bob\nbob,knows,cat\n",
            "--source-column 1 --target-column 3",
            "--source-column",
        ),
        ("a,b;c\nd,e;f\n", "--separator ;", "--separator"),
        ("id,name\n1,Ann\n2,Bob\n", "--ids strings", "--ids strings"),
        ("a,b,length,capacity\n1,2,3,4\n2,3,4,5\n", "--weight length", "--weight"),
        ("1,2\n3,\"4\n5,6\n", "--quote none --ids strings", "--quote none"),
    ] {
        sandbox.write("e.txt", text);
        let refused = sandbox.run("convert e.txt -o -");
        assert_eq!(refused.code, Some(65), "{text}: {}", refused.stderr);
        assert!(refused.stderr.contains(named), "{}", refused.stderr);
        sandbox.must(&format!("convert e.txt -o copy.csv {options}"));
    }
    sandbox.write("nodes.csv", "key,group\n1,2\n2,2\n");
    sandbox.write("edges.csv", "src,dst\n1,2\n");
    let refused = sandbox.run("run wcc edges.csv nodes.csv");
    assert_eq!(refused.code, Some(65), "{}", refused.stderr);
    assert!(refused.stderr.contains("edges.csv has edges in the columns"), "{}", refused.stderr);
}
