//! Formats that are read, and those that are named and refused.

use super::{components, converted, kept, refused, with};
use crate::csv;

#[test]
fn what_is_packed_is_read() {
    for name in ["pairs.tsv.bz2", "pairs.zip"] {
        assert_eq!(components(&with(name, kept(name)), name), "1 2 3 | 4 5", "{name}");
    }
}

#[test]
fn arrays_of_numpy_are_edges() {
    assert_eq!(converted(&with("e.npy", kept("pairs.npy")), "e.npy"), "0>1 1>2");
}

#[test]
fn pajek_has_edges_and_arcs() {
    let vertices = "*Vertices 5\n1 \"Ann\"\n2 \"Bob\"\n3 \"Cat\"\n4 \"Dan\"\n5 \"Eve Lu\"\n";
    let sandbox = with("g.net", format!("{vertices}*Edges\n1 2\n2 3\n*Arcs\n4 5 2.5\n"));
    let parts = components(&sandbox, "g.net");
    assert!(parts == "1 2 3 | 4 5" || parts == "Ann Bob Cat | Dan Eve Lu", "{parts}");
    let sandbox = with("g.net", format!("{vertices}*Arcs\n1 2 0.5\n"));
    // Vertices without edges are vertices.
    assert_eq!(csv::rows(&sandbox.must("run wcc g.net -q -o -")).len(), 6);
}

#[test]
fn gexf_states_vertices_and_directions() {
    let gexf = |graph: &str, edge: &str| {
        format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<gexf xmlns=\"http://gexf.net/1.3\" \
             version=\"1.3\">\n<graph defaultedgetype=\"{graph}\">\n<nodes>\n<node id=\"0\"/>\n\
             <node id=\"1\"/>\n<node id=\"2\"/>\n</nodes>\n<edges>\n{edge}\n</edges>\n</graph>\n\
             </gexf>\n"
        )
    };
    let edge = "<edge id=\"0\" source=\"0\" target=\"1\" weight=\"2.5\"/>";
    let sandbox = with("g.gexf", gexf("undirected", edge));
    assert_eq!(components(&sandbox, "g.gexf"), "0 1 | 2");
    assert_eq!(converted(&sandbox, "g.gexf"), "0~1@2.5");
    assert_eq!(converted(&with("g.xml", gexf("directed", edge)), "g.xml"), "0>1@2.5");
}

#[test]
fn dot_is_read() {
    let sandbox = with("g.dot", "digraph deps {\n  a -> b;\n  b -> c;\n  c -> a;\n  d -> e;\n}\n");
    assert_eq!(components(&sandbox, "g.dot"), "a b c | d e");
    let sandbox = with("g.txt", "graph {\n  a -- b\n  \"c d\"\n}\n");
    assert_eq!(components(&sandbox, "g.txt"), "a b | c d");
}

#[test]
fn n_triples_are_subject_and_object() {
    let line = |s: &str, p: &str, o: &str| {
        format!("<http://e.x/{s}> <http://e.x/{p}> <http://e.x/{o}> .\n")
    };
    let text = line("a", "knows", "b") + &line("b", "knows", "c") + &line("d", "likes", "e");
    let parts = components(&with("g.nt", text), "g.nt").replace("http://e.x/", "");
    assert_eq!(parts.replace(['<', '>'], ""), "a b c | d e");
}

#[test]
fn formats_that_are_not_read_are_named() {
    for (name, text, word) in [
        ("g.lgr", "LEDA.GRAPH\nvoid\nvoid\n-2\n2\n|{}|\n|{}|\n1\n1 2 0 |{}|\n", "LEDA"),
        ("g.dl", "DL n=4\nformat = edgelist1\ndata:\n1 2\n2 3\n", "DL"),
        ("g.gdf", "nodedef>name VARCHAR\ns1\ns2\nedgedef>node1,node2\ns1,s2\n", "GDF"),
        ("g.xml", "<?xml version=\"1.0\"?>\n<osm version=\"0.6\"></osm>\n", "XML"),
    ] {
        refused(&with(name, text), &format!("run wcc {name} -o -"), 65, &[word]);
        // The name alone does not decide.
        refused(&with("g.txt", text), "run wcc g.txt -o -", 65, &["g.txt"]);
    }
}

#[test]
fn flows_and_trivial_graphs_are_read() {
    let flow = "c max flow\np max 4 3\nn 1 s\nn 4 t\na 1 2 5\na 2 3 4\na 3 4 3\n";
    assert_eq!(converted(&with("g.max", flow), "g.max"), "1>2@5 2>3@4 3>4@3");
    let trivial = "1 First\n2 Second\n3 Third\n#\n1 2 edge\n2 3 other\n";
    for name in ["g.tgf", "g.txt"] {
        assert_eq!(components(&with(name, trivial), name), "1 2 3", "{name}");
    }
}

#[test]
fn banners_and_sizes_that_files_state_are_kept_to() {
    let sizes = "4 4 3\n2 1\n3 2\n4 3\n";
    let text = format!("%MatrixMarket matrix coordinate pattern symmetric\n{sizes}");
    let sandbox = with("g.mtx", text);
    let ended = sandbox.run("run bfs g.mtx --source 3 -q -o -");
    if ended.code == Some(0) {
        assert_eq!(ended.stdout, "vertex,depth\n1,2\n2,1\n3,0\n4,1\n");
    } else {
        refused(&sandbox, "run bfs g.mtx --source 3 -o -", 65, &["g.mtx:1:"]);
    }
    let sandbox = with("out.zach", "% sym unweighted\n% 3 4 4\n1 2\n2 3\n3 4\n");
    let depths = sandbox.must("run bfs out.zach --source 3 -q -o -");
    assert_eq!(depths, "vertex,depth\n1,2\n2,1\n3,0\n4,1\n");
    assert_eq!(converted(&with("out.x", "% asym unweighted\n1 2\n2 3\n"), "out.x"), "1>2 2>3");
    assert_eq!(converted(&with("e.edges", "% sym unweighted\n1,2\n2,3\n"), "e.edges"), "1~2 2~3");
}

#[test]
fn a_size_line_in_text_is_kept_to_or_said() {
    let sandbox = with("graph.txt", "6 6 4\n0 5\n5 4\n1 2\n3 3\n");
    let ended = sandbox.run("run wcc graph.txt -o -");
    let silent = ended.code == Some(0) && ended.stdout.contains("\n6,");
    assert!(!silent || ended.stderr.contains("6 6 4"), "{}{}", ended.stdout, ended.stderr);
}

#[test]
fn what_a_format_may_hold_besides_is_passed_over() {
    let nodes = "node [ id 0 label \"0\" x NAN ] node [ id 1 y +INF ] node [ id 2 ]";
    let edges = "edge [ source 0 target 1 weight +INF ] edge [ source 0 target 2 weight 2.0 ]";
    let sandbox = with("g.gml", format!("graph [ directed 1 {nodes} {edges} ]\n"));
    let distances = sandbox.must("run sssp g.gml --source 0 -q -o -");
    assert_eq!(distances, "vertex,distance\n0,0.0\n1,inf\n2,2.0\n");

    let text = "Creator \"x\"\nVersion 1\ngraph\n[\n directed 1\n node [ id 0 label \"a\" ]\n \
                node [ id 1 label \"b\" ]\n edge [ source 0 target 1 ]\n]\n";
    let piped = with("g.gml", text).run_with("run wcc - -q -o -", text.as_bytes());
    assert_eq!(csv::groups(&piped.stdout), "0 1", "{}", piped.stderr);

    let sandbox = with("g.col", "c x\np edge 4 3\nn 1 5\nn 2 7\ne 1 2\ne 2 3\ne 3 4\n");
    assert_eq!(components(&sandbox, "g.col"), "1 2 3 4");
    let banner = "%%MatrixMarket matrix coordinate unsigned-integer general\n%\n3 3 2\n";
    let sandbox = with("g.mtx", format!("{banner}1 2 1\n2 3 2\n"));
    assert_eq!(components(&sandbox, "g.mtx"), "1 2 3");
}

#[test]
fn graphml_in_another_encoding_and_with_groups_is_read() {
    let head = "<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?>\n\
                <graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">\n";
    let mut bytes = format!("{head}<graph edgedefault=\"directed\">\n<node id=\"M").into_bytes();
    bytes.push(0xfc);
    bytes.extend(b"ller\"/><node id=\"b\"/>\n<edge source=\"M\xfcller\" target=\"b\"/>\n");
    bytes.extend(b"</graph></graphml>\n");
    assert_eq!(components(&with("g.graphml", bytes), "g.graphml"), "Müller b");

    let groups = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
        <graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\" \
        xmlns:y=\"http://www.yworks.com/xml/graphml\">\n\
        <key for=\"node\" id=\"d6\" yfiles.type=\"nodegraphics\"/>\n\
        <graph edgedefault=\"directed\" id=\"G\">\n<data key=\"d0\"/>\n\
        <node id=\"n0\" yfiles.foldertype=\"group\"><data key=\"d6\">\
        <y:ProxyAutoBoundsNode/></data>\n<graph edgedefault=\"directed\" id=\"n0:\">\
        <node id=\"n0::n0\"/><node id=\"n0::n1\"/>\
        <edge id=\"n0::e0\" source=\"n0::n0\" target=\"n0::n1\"/></graph>\n</node>\n\
        <node id=\"n1\"/>\n<edge id=\"e0\" source=\"n0::n1\" target=\"n1\"/>\n\
        </graph></graphml>\n";
    let parts = components(&with("g.graphml", groups), "g.graphml");
    assert_eq!(parts, "n0 | n0::n0 n0::n1 n1");
}

#[test]
fn weights_that_networkx_writes_are_read() {
    let sandbox = with("k.edgelist", "0 1 {'weight': 4}\n1 2 {'weight': 5}\n");
    let distances = sandbox.must("run sssp k.edgelist --source 0 -q -o -");
    assert_eq!(distances, "vertex,distance\n0,0.0\n1,4.0\n2,9.0\n");
    assert_eq!(converted(&with("k.edgelist", "0 1 {}\n1 2 {}\n"), "k.edgelist"), "0>1 1>2");
}

#[test]
fn rows_of_tntp_need_no_semicolon() {
    let head = "<NUMBER OF ZONES> 2\t\t\n<NUMBER OF NODES> 4\t\t\n<FIRST THRU NODE> 1\t\t\n\
                <NUMBER OF LINKS> 2\n<END OF METADATA>\t\t\n\t\t\n~\tinit_node\tterm_node\t\
                capacity\tlength\tfree_flow_time\tb\tpower\tspeed\ttoll\tlink_type\t;\n";
    let row = "2880\t0.904\t2.26\t0.25\t4\t24\t0\t2";
    for end in ["\t", "\t;", ";", "\tmore\tcolumns\t;"] {
        let text = format!("{head}\t1\t2\t{row}{end}\n\t2\t3\t{row}{end}\n");
        assert_eq!(components(&with("n_net.tntp", text), "n_net.tntp"), "1 2 3 | 4", "{end}");
    }
}
