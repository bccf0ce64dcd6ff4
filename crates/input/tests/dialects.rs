//! Small texts as people have them, and what is read from each: edges by their own ids, or an error
//! that names what decides, and what is said beside. Nothing is wrong without a word.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use welter_input::{
    ColumnRef, Comment, FileSummary, Format, IdKind, InputSummary, Quote, ReadOptions,
    WeightChoice, fuzzing,
};
use welter_model::ids::IdMap;
use welter_progress::FailureKind;

/// Edges as `source>target` or `source>target:weight`, and how they were read.
fn read_with(text: &[u8], options: &ReadOptions) -> Result<(String, InputSummary), String> {
    let input = fuzzing::read_bytes("f", text, Format::Text, options);
    let input = input.map_err(|error| {
        assert!(matches!(error.kind(), FailureKind::Input | FailureKind::Usage), "{error}");
        error.to_string()
    })?;
    let id = |slot: u32| match &input.ids {
        IdMap::Sparse(ids) => ids[slot as usize].to_string(),
        IdMap::Same | IdMap::Declared => slot.to_string(),
        IdMap::Offset(first) => (first + u64::from(slot)).to_string(),
        IdMap::Names(names) => names.get(slot as usize).to_owned(),
        IdMap::NonCompact(_) => panic!("ids are few"),
        IdMap::TwoKinds(ids) => {
            format!("{}:{}", ids.side(slot.into()), ids.get(slot as usize).integer().unwrap())
        }
    };
    let mut edges = Vec::new();
    for part in 0..input.edges.parts() {
        let read = input.edges.read(part, &mut |batch| {
            for (row, [source, target]) in batch.pairs.iter().enumerate() {
                let weight = batch.weights.map_or(String::new(), |all| format!(":{}", all[row]));
                edges.push(format!("{}>{}{weight}", id(*source), id(*target)));
            }
            true
        });
        read.unwrap();
    }
    Ok((edges.join(" "), input.summary))
}

fn weighing() -> ReadOptions {
    ReadOptions { weight: WeightChoice::IfPresent, ..ReadOptions::default() }
}

fn read(text: &str) -> Result<(String, InputSummary), String> {
    read_with(text.as_bytes(), &weighing())
}

/// Texts with the edges that are read from them.
fn are_read(cases: &[(&str, &str)]) {
    for (text, expected) in cases {
        let (edges, _) = read(text).unwrap_or_else(|error| panic!("{text:?}: {error}"));
        assert_eq!(edges, *expected, "{text:?}");
    }
}

/// Texts that are refused, with what the error must say.
fn are_refused(cases: &[(&str, &str)]) {
    for (text, message) in cases {
        match read(text) {
            Ok((edges, _)) => panic!("{text:?} was read: {edges}"),
            Err(error) => assert!(error.contains(message), "{text:?}: {error}"),
        }
    }
}

fn reading(summary: &InputSummary) -> &FileSummary {
    &summary.readings[0]
}

#[test]
fn headers_of_any_words_are_found() {
    are_read(&[
        ("protein1 protein2 combined_score\nP1 P2 490\nP2 P3 198\n", "P1>P2:490 P2>P3:198"),
        ("caller,callee\nmain,init\ninit,read\n", "main>init init>read"),
        ("Person A\tPerson B\nann\tbob\n", "ann>bob"),
        ("employee;friend;since\nann;bob;2020-01-31\n", "ann>bob"),
        (
            "from,to\n123e4567-e89b-12d3-a456-426614174000,123e4567-e89b-12d3-a456-426614174001\n",
            "123e4567-e89b-12d3-a456-426614174000>123e4567-e89b-12d3-a456-426614174001",
        ),
        ("Quelle|Ziel\n7|8\n8|9\n", "7>8 8>9"),
        ("node1 node2\nnode2 node3\n", "node1>node2 node2>node3"),
        ("gene_a,gene_b,corr\nTP53,MDM2,0.5\nMDM2,MDM4,-0.25\n", "TP53>MDM2:0.5 MDM2>MDM4:-0.25"),
    ]);
    let (_, summary) = read("Boss,Clerk\nann,bob\nbob,ann\nann,bob\n").unwrap();
    assert!(summary.notes[0].contains("--header"), "{:?}", summary.notes);
}

#[test]
fn ends_are_where_names_and_kinds_say() {
    are_read(&[
        (
            ":START_ID(Body-ID),weight:int,:END_ID(Body-ID)\n1,10,2\n2,20,3\n3,30,1\n",
            "1>2:10 2>3:20 3>1:30",
        ),
        (
            "start_id,start_vertex_type,end_id,end_vertex_type\n12,comment,7,person\n\
             13,comment,7,person\n",
            "12>7 13>7",
        ),
        (",u,v\n0,10,20\n1,20,30\n2,30,40\n", "10>20 20>30 30>40"),
        ("Unnamed: 0,a,b\n0,10,20\n1,20,10\n", "10>20 20>10"),
        (",0,1\n0,5,6\n1,6,7\n", "5>6 6>7"),
        ("\"x\" \"y\" \"w\"\n\"1\" 5 6 0.5\n\"2\" 6 7 1.5\n\"3\" 7 5 1\n", "5>6:0.5 6>7:1.5 7>5:1"),
        ("id,from_user,to_user,amount\n7,ann,bob,2.5\n9,bob,cat,1\n", "ann>bob:2.5 bob>cat:1"),
        ("Id,Label,Source,Target\n0,x,1,2\n1,y,2,3\n", "1>2 2>3"),
    ]);
    are_refused(&[
        ("ann\tknows\tbob\nbob\tknows\tcat\ndan\tlikes\teve\n", "--source-column"),
        ("<a> <knows> <b> .\n<b> <knows> <c> .\n", "--source-column"),
        ("id,name\n1,Ann\n2,Bob\n3,Cat\n", "--source-column"),
        ("1 First\n2 Second\n3 Third\n", "one kind"),
        ("1,KNOWS,2\n2,KNOWS,3\n3,LIKES,1\n", "one kind"),
        ("lon,lat\n1.5,2.25\n3.5,4.75\n", "--source-column"),
        ("gene,drug,disease\nTP53,aspirin,flu\nMDM2,ibu,cold\nX,Y,Z\n", "--source-column"),
    ]);
    let triples = "ann\tknows\tbob\nbob\tknows\tcat\n";
    let column = |number| Some(ColumnRef::Number(number));
    let options = ReadOptions { source: column(1), target: column(3), ..weighing() };
    assert_eq!(read_with(triples.as_bytes(), &options).unwrap().0, "ann>bob bob>cat");
}

#[test]
fn comments_name_columns_and_matrices_are_no_edges() {
    are_read(&[
        (
            "#Interaction ID\tGene A\tGene B\n103\t6416\t2318\n117\t84665\t88\n",
            "6416>2318 84665>88",
        ),
        ("#source\ttarget\nann\tbob\nbob\tcat\n", "ann>bob bob>cat"),
        ("# Nodes: 3 Edges: 2\n# to\tfrom\n1\t2\n2\t3\n", "2>1 3>2"),
    ]);
    are_refused(&[
        ("0,1,0\n1,0,1\n0,1,0\n", "a matrix"),
        (",a,b,c\na,0,2,0\nb,2,0,5\nc,0,5,0\n", "a matrix"),
        ("0 1 1 0\n1 0 0 1\n1 0 0 1\n0 1 1 0\n", "a matrix"),
        ("one\ntwo\nthree\n", "--separator"),
    ]);
}

#[test]
fn weights_are_found_by_one_rule() {
    are_read(&[
        ("source,target,cost\n1,2,5\n2,3,1\n", "1>2:5 2>3:1"),
        ("src,dst,label,distance\n1,2,x,5\n2,3,y,1\n", "1>2:5 2>3:1"),
        ("src,dst,year\n1,2,1999\n2,3,2001\n", "1>2 2>3"),
        ("a b 0.5\nb c 1.5\n", "a>b:0.5 b>c:1.5"),
        ("1 2 3 881250949\n2 3 4 891717742\n", "1>2:3 2>3:4"),
        ("0 1 {'weight': 4}\n1 2 {'weight': 5}\n", "0>1:4 1>2:5"),
        ("0 1 {}\n1 2 {}\n", "0>1 1>2"),
        ("0,1,{'color': 'a, b', 'weight': 0.5}\n1,2,{'weight': 5}\n", "0>1:0.5 1>2:5"),
        ("a;b;0,5\nb;c;1,25\n", "a>b:0.5 b>c:1.25"),
    ]);
    are_refused(&[
        ("src,dst,length,capacity\n1,2,5,7\n2,3,1,9\n", "--weight"),
        ("src,dst,p,q\n1,2,5,7\n2,3,1,9\n", "--weight"),
        ("0 1 {'weight': 4}\n1 2 {'a': 5}\n", ":2: expected a weight in a dictionary"),
    ]);
    let (edges, summary) = read("0 1 {'color': 'red'}\n1 2 {'color': 'blue'}\n").unwrap();
    assert_eq!(edges, "0>1 1>2");
    assert!(summary.notes[0].contains("no weight"), "{:?}", summary.notes);
}

#[test]
fn separators_give_all_rows_the_same_number_of_fields() {
    are_read(&[
        ("ann;bob;0,5\nbob;cat;1,25\ndan;eve;2,0\n", "ann>bob:0.5 bob>cat:1.25 dan>eve:2"),
        ("1::1193::5::978300760\n1::661::3::978302109\n", "1>1193:5 1>661:3"),
        ("a\u{1}b\nb\u{1}c\n", "a>b b>c"),
        ("a:b\nb:c\n", "a>b b>c"),
        (
            "Paris, France\tRome, Italy\nRome, Italy\tOslo, Norway\n",
            "Paris, France>Rome, Italy Rome, Italy>Oslo, Norway",
        ),
        ("Smith, J.;Doe, A.\nDoe, A.;Roe, B.\n", "Smith, J.>Doe, A. Doe, A.>Roe, B."),
        ("1 2 0,5\n2 3 1,25\n", "1>2:0.5 2>3:1.25"),
        ("New York,Los Angeles\nLos Angeles,Rome\n", "New York>Los Angeles Los Angeles>Rome"),
    ]);
    are_refused(&[
        ("ann,bob;cat,dan\neve,fay;gil,hal\n", "--separator"),
        ("one two\nthree four five\nsix seven eight nine\nten\n", "--separator"),
        ("1 2 3\n2 3 4 5\n3 4\n4 5 6 7 8\n", "--format adjacency"),
        ("a b\nb c d\nc d e f\n", "the same number of fields"),
    ]);
    let options = ReadOptions { separator: Some("->".parse().unwrap()), ..weighing() };
    assert_eq!(read_with(b"a -> b\nb -> c\n", &options).unwrap().0, "a>b b>c");
}

#[test]
fn comments_stand_where_no_row_can() {
    are_read(&[
        (
            "#rust\t#python\nann\t#rust\n#go\tbob\n%off\tcat\n",
            "#rust>#python ann>#rust #go>bob %off>cat",
        ),
        ("# FromNodeId\tToNodeId\n1\t2\n#3\t4\n", "1>2"),
        ("#node1\tnode2\nann\tbob\nbob\tcat\n", "ann>bob bob>cat"),
        ("% a comment\nann bob\n%half\tcat\nbob cat\n", "ann>bob %half>cat bob>cat"),
        ("ann\tbob\n# and then\nbob\tcat\n#end\n", "ann>bob bob>cat"),
    ]);
    let (_, summary) = read("# one\n\n1 2\n% two\n2 3\n\n\n# three\n").unwrap();
    let passed = reading(&summary).passed;
    assert_eq!((passed.comments, passed.blank), (3, 3));
    let options = ReadOptions { comment: Some(Comment::Prefix("//".into())), ..weighing() };
    assert_eq!(read_with(b"// x\n#a b\nb c\n// d e\n", &options).unwrap().0, "#a>b b>c");
    let options = ReadOptions { comment: Some(Comment::None), ..weighing() };
    assert_eq!(read_with(b"#a b\nb %c\n", &options).unwrap().0, "#a>b b>%c");
}

#[test]
fn ids_come_out_as_they_came_in() {
    are_read(&[
        ("from,to\n01234,02139\n1234,94110\n", "01234>02139 1234>94110"),
        ("src,dst\n-1,2\n2,-3\n", "-1>2 2>-3"),
        ("+1 2\n2 +1\n", "+1>2 2>+1"),
        ("1 100000000000000000000\n2 1\n", "1>100000000000000000000 2>1"),
        ("src,dst\n1.0,2.0\n2.0,3.0\n", "1>2 2>3"),
        ("a,b\n1,2.0\n2,3.0\n", "1>2 2>3"),
        ("00 0\n0 1\n", "00>0 0>1"),
    ]);
    for text in ["01 2\n2 1\n", "-1 2\n2 1\n", "1.0 2.0\n2.0 1.0\n"] {
        let (_, summary) = read(text).unwrap();
        assert!(summary.notes[0].starts_with("f: ids are "), "{text:?}: {:?}", summary.notes);
    }
    let late = format!("{}007 1\n", "1 2\n".repeat(3000));
    are_refused(&[(&late, "--ids strings"), ("1.5 2\n2 3\n3 1\n", "--source-column")]);
    let options = ReadOptions { ids: IdKind::Integers, ..weighing() };
    for text in [late.as_bytes(), b"1 2\n007 1\n", b"1 2\n7.0 +1\n"] {
        let edges = read_with(text, &options).unwrap().0;
        assert!(edges.ends_with("7>1"), "{edges}");
    }
}

#[test]
fn lines_end_where_quotes_and_old_files_say() {
    are_read(&[
        ("1,2\r2,3\r4,5\r", "1>2 2>3 4>5"),
        ("source,target\rann,bob\rbob,cat", "ann>bob bob>cat"),
        (
            "source,target,comment\nann,bob,\"first line\nsecond, line\"\nbob,cat,ok\n",
            "ann>bob bob>cat",
        ),
        ("source,target\n\"a\nb\",c\nc,\"d\"\"e\"\n", "a\nb>c c>d\"e"),
        ("1,2,\"x\ny\"\n3,4,z\n", "1>2 3>4"),
        (
            "\"Weird Al\" Yankovic\tMadonna\nMadonna\tPrince\n",
            "\"Weird Al\" Yankovic>Madonna Madonna>Prince",
        ),
        ("src,dst\n\"say \\\"hi\\\"\",bob\nbob,\"c\\\\d\"\n", "say \"hi\">bob bob>c\\d"),
        ("'a, b','c'\n'c','d'\n", "a, b>c c>d"),
        ("1,2\r\n3,4\r\n", "1>2 3>4"),
    ]);
    let late = format!("{}1,2,\"open\n3,4,\"\n", "1,2,x\n".repeat(3000));
    are_refused(&[
        (&late, ":3001: expected a closing quote"),
        ("1,2\n3,4\r5,6\n7,8\n", ":2: expected"),
        ("1,2\n3,\"4\n5,6\n", ":2: expected a closing quote"),
    ]);
    let options = ReadOptions { quote: Some(Quote::Mark(b'"')), ..weighing() };
    assert!(read_with(late.as_bytes(), &options).unwrap().0.ends_with("1>2 1>2"));
    let (edges, summary) = read("a,b\nc,\"d\ne,f\n").unwrap();
    assert_eq!(edges, "a>b c>\"d e>f");
    assert!(summary.notes[0].contains("--quote"), "{:?}", summary.notes);
    let options = ReadOptions { quote: Some(Quote::None), ..weighing() };
    assert_eq!(read_with(b"\"a\tb\n\"b\tc\n", &options).unwrap().0, "\"a>b \"b>c");
}

#[test]
fn what_first_lines_state_is_kept_to_or_said() {
    let (edges, summary) = read("% sym unweighted\n% 3 4 4\n1 2\n2 3\n3 4\n").unwrap();
    assert_eq!((&edges[..], summary.undirected), ("1>2 2>3 3>4", Some(true)));
    let (edges, summary) = read("% asym positive\n1 2 5\n2 3 7\n").unwrap();
    assert_eq!((&edges[..], summary.undirected), ("1>2:5 2>3:7", Some(false)));
    let (edges, _) = read("% sym unweighted\n1 2 5 99\n2 3 7 98\n").unwrap();
    assert_eq!(edges, "1>2 2>3");
    let (edges, summary) = read("% bip weighted\n1 1 5\n2 1 7\n").unwrap();
    assert_eq!(edges, "source:1>target:1:5 source:2>target:1:7");
    assert!(summary.notes[0].contains("two kinds of vertices"), "{:?}", summary.notes);
    for (text, expected) in [
        ("6 6 4\n0 5\n5 4\n1 2\n3 3\n", "0>5 5>4 1>2 3>3"),
        ("5 5 3\n1 2 0.5\n2 3 1\n5 1 2\n", "1>2:0.5 2>3:1 5>1:2"),
    ] {
        let (edges, summary) = read(text).unwrap();
        assert_eq!(edges, expected);
        assert!(summary.notes[0].contains("numbers of vertices and edges"), "{:?}", summary.notes);
    }
    are_read(&[
        ("6 6 5\n0 5\n5 4\n1 2\n3 3\n", "6>6 0>5 5>4 1>2 3>3"),
        ("5 5 3\n1 2 0.5\n2 3 1\n6 1 2\n", "5>5:3 1>2:0.5 2>3:1 6>1:2"),
    ]);
}
