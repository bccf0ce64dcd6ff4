//! Header, columns, weights and separator, guessed from files of which nothing is said.

use super::{components, converted, refused, with};

#[test]
fn a_header_of_any_words_is_no_edge() {
    let string = "protein1 protein2 combined_score\n9606.ENSP1 9606.ENSP2 490\n\
                  9606.ENSP2 9606.ENSP3 198\n9606.ENSP1 9606.ENSP3 159\n";
    let sandbox = with("e.tsv", string);
    let top = sandbox.must("run pagerank e.tsv --top 9 -q");
    let ranks: Vec<_> = top.lines().skip(1).map(|line| line.split_whitespace().nth(1)).collect();
    assert_eq!(ranks, ["9606.ENSP3", "9606.ENSP2", "9606.ENSP1"].map(Some), "{top}");
    assert!(["0.520869", "0.281551", "0.197580"].iter().all(|rank| top.contains(rank)), "{top}");
    for (text, edges) in [
        ("caller,callee\nann,bob\nbob,cat\n", "ann>bob bob>cat"),
        ("city1,city2,km\nBonn,Berlin,600.5\nBerlin,Ulm,9\n", "Bonn>Berlin@600.5 Berlin>Ulm@9"),
        ("head,relation,tail\nann,knows,bob\nbob,likes,cat\n", "ann>bob bob>cat"),
        ("buyer,seller,on\nann,bob,2024-01-05\nbob,cat,2024-02-06\n", "ann>bob bob>cat"),
    ] {
        assert_eq!(converted(&with("e.csv", text), "e.csv"), edges, "{text}");
    }
}

#[test]
fn columns_of_neo4j_are_found_by_their_marks() {
    let text = ":START_ID(Body-ID),weight:int,:END_ID(Body-ID)\n1,10,2\n2,20,3\n3,30,1\n";
    assert_eq!(converted(&with("r.csv", text), "r.csv"), "1>2@10 2>3@20 3>1@30");
    for (text, edges) in [
        (":START_ID,:END_ID,:TYPE\na,b,KNOWS\nb,c,KNOWS\n", "a>b b>c"),
        (":TYPE,:END_ID(P),:START_ID(P)\nKNOWS,2,1\nKNOWS,3,2\n", "1>2 2>3"),
        (":START_ID;since:int;:END_ID\n1;1999;2\n2;2005;3\n", "1>2 2>3"),
    ] {
        assert_eq!(converted(&with("r.csv", text), "r.csv --no-weights"), edges, "{text}");
    }
}

#[test]
fn ends_that_parts_of_names_tell_are_taken() {
    let text = "start_id,start_vertex_type,end_id,end_vertex_type\n\
                1236950581249,comment,10995116284808,person\n\
                1236950581250,comment,4139,person\n2061584302085,comment,4139,person\n";
    let edges = "1236950581249>10995116284808 1236950581250>4139 2061584302085>4139";
    assert_eq!(converted(&with("r.csv", text), "r.csv"), edges);
    for (text, edges) in [
        ("day,src_ip,dst_ip\n1,10.0.0.1,10.0.0.2\n", "10.0.0.1>10.0.0.2"),
        ("when,sender_id,receiver_id\n5,7,8\n6,8,9\n", "7>8 8>9"),
    ] {
        let got = converted(&with("r.csv", text), "r.csv --no-weights");
        assert_eq!(got, edges, "{text}");
    }
}

#[test]
fn an_index_is_no_end() {
    for text in [
        ",u,v\n0,10,20\n1,20,30\n2,30,40\n",
        "Unnamed: 0,u,v\n0,10,20\n1,20,30\n2,30,40\n",
        "index,a,b\n0,10,20\n1,20,30\n2,30,40\n",
        "\"\",\"from\",\"to\"\n\"1\",10,20\n\"2\",20,30\n\"3\",30,40\n",
    ] {
        let got = converted(&with("e.csv", text), "e.csv");
        assert_eq!(got, "10>20 20>30 30>40", "{text}");
    }
}

#[test]
fn triples_are_refused_or_their_columns_are_said() {
    let sandbox = with("g.tsv", "ann\tknows\tbob\nbob\tknows\tcat\ndan\tlikes\teve\n");
    let ended = sandbox.run("run wcc g.tsv -o -");
    assert!(ended.stderr.contains("column"), "{}", ended.stderr);
    let options = "--source-column 1 --target-column 3";
    assert_eq!(components(&sandbox, &format!("g.tsv {options}")), "ann bob cat | dan eve");
}

#[test]
fn files_of_one_input_agree_on_their_columns() {
    let sandbox = with("nodes.csv", "id,name\n1,Ann\n2,Bob\n3,Cat\n4,Dan\n");
    sandbox.write("edges.csv", "src,dst\n1,2\n2,3\n");
    refused(&sandbox, "run wcc nodes.csv edges.csv -o -", 65, &["nodes.csv", "column"]);
    sandbox.write("turned.csv", "dst,src\n2,1\n3,2\n");
    let ended = sandbox.run("convert edges.csv turned.csv -o - --output-format csv");
    assert!(ended.code == Some(65) || ended.stdout.matches("1,2").count() == 2, "{}", ended.stdout);
}

#[test]
fn a_table_of_vertices_is_no_list_of_edges() {
    for text in [
        "id,name\n1,Ann\n2,Bob\n3,Cat\n",
        "personId:ID,name,:LABEL\np1,Ann,Person\np2,Bob,Person\n",
        "Id,Label,Interval\n1,Ann,\n2,Bob,\n",
    ] {
        refused(&with("nodes.csv", text), "run wcc nodes.csv -o -", 65, &["nodes.csv"]);
    }
}

#[test]
fn the_third_column_is_the_weight_with_and_without_a_header() {
    let sandbox = with("e.csv", "source,target,cost\n1,2,5\n2,3,1\n1,3,1\n");
    let tree = sandbox.must("run mcst e.csv -q -o -");
    let mut rows: Vec<_> = tree.lines().skip(1).collect();
    rows.sort_unstable();
    assert_eq!(rows, ["1,3,1.0", "2,3,1.0"]);
    for (text, edges) in [
        ("1,2,5\n2,3,1\n", "1>2@5 2>3@1"),
        ("ann,bob,5\nbob,cat,1\n", "ann>bob@5 bob>cat@1"),
        ("u v distance\n1 2 .5\n2 3 1e3\n", "1>2@0.5 2>3@1000"),
        ("weight,target,source\n5,2,1\n1,3,2\n", "1>2@5 2>3@1"),
    ] {
        assert_eq!(converted(&with("e.csv", text), "e.csv"), edges, "{text}");
    }
}

#[test]
fn a_separator_gives_all_rows_as_many_fields() {
    let sandbox = with("e.csv", "ann;bob;0,5\nbob;cat;1,25\ndan;eve;2,0\n");
    assert_eq!(components(&sandbox, "e.csv"), "ann bob cat | dan eve");
    for (text, parts) in [
        ("Lee, Ann;Ray, Bob\nRay, Bob;Eve, Cat\n", "Eve, Cat Lee, Ann Ray, Bob"),
        ("a b\tc d\nc d\te\n", "a b c d e"),
    ] {
        assert_eq!(components(&with("e.csv", text), "e.csv"), parts, "{text}");
    }
    let either = with("e.csv", "a|b,c\nb,c|d\n");
    refused(&either, "run wcc e.csv -o -", 65, &["commas and pipes", "--separator"]);
    assert_eq!(components(&either, "e.csv --separator pipe"), "a b,c d");
}

#[test]
fn any_string_separates() {
    let ratings = "1::1193::5::978300760\n1::661::3::978302109\n2::1193::4::978298413\n";
    let sandbox = with("ratings.dat", ratings);
    assert_eq!(converted(&sandbox, "ratings.dat"), "1>1193@5 1>661@3 2>1193@4");
    for (text, separator) in [("1:2\n2:3\n", ":"), ("1\u{1}2\n2\u{1}3\n", "\\x01")] {
        let line = format!("e.txt --separator {separator}");
        assert_eq!(converted(&with("e.txt", text), &line), "1>2 2>3");
    }
}

#[test]
fn ends_of_different_types_are_refused() {
    for text in ["0,ann\n1,bob\n2,cat\n", "date,who\n2024-01-05,3\n2024-01-06,4\n"] {
        refused(&with("e.csv", text), "run wcc e.csv -o -", 65, &["column"]);
    }
    let sandbox = with("e.csv", "0,ann\n1,bob\n");
    assert_eq!(converted(&sandbox, "e.csv --ids strings"), "0>ann 1>bob");
}
