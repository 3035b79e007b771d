use crate::support::Folder;

fn explanation(folder: &Folder, arguments: &[&str]) -> String {
    let ran = folder.run(&[&["why"], arguments].concat());
    assert_eq!(ran.status, 0, "{arguments:?}: {}", ran.stderr);
    assert_eq!(ran.stdout.lines().count(), 1, "{}", ran.stdout);
    ran.stdout.trim_end().to_owned()
}

fn refused(folder: &Folder, arguments: &[&str], needles: &[&str]) {
    let ran = folder.run(&[&["why", "--quiet"], arguments].concat());
    assert_eq!(
        (ran.status, ran.stdout.as_str()),
        (2, ""),
        "{arguments:?}: {}",
        ran.stderr
    );
    assert_eq!(ran.stderr.lines().count(), 1, "{arguments:?}: {}", ran.stderr);
    for needle in needles {
        assert!(
            ran.stderr.contains(needle),
            "{arguments:?}: {:?} lacks {needle:?}",
            ran.stderr
        );
    }
}

fn scene() -> Folder {
    let folder = Folder::new();
    folder.write("boxes.csv", "0,0,0,1,1,1\n0.5,0,0,2,1,1\nnan,0,0,1,1,1\n5,5,5,6,6,6\n");
    folder.write("rays.csv", "-1,0.5,0.5,1,0,0,inf\n-1,0.5,0.5,1,0,0,0.5\n");
    folder.write("asked.csv", "-1,0,0,0,1,1\n3,3,3,4,4,4\n");
    folder
}

#[test]
fn the_rule_of_two_objects_is_one_sentence() {
    let folder = scene();
    let explanation = |arguments: &[&str]| explanation(&folder, arguments);
    assert_eq!(
        explanation(&["boxes.csv", "1", "0"]),
        "Object 1 and object 0 are a pair: the boxes overlap, and no rule excludes the pair."
    );
    assert_eq!(
        explanation(&["boxes.csv", "0", "3"]),
        "Object 0 and object 3 are not a pair: the boxes are 4 apart along x."
    );
    let invalid = explanation(&["boxes.csv", "0", "2"]);
    assert!(invalid.contains("object 2 is invalid: x from NaN to 1"), "{invalid}");
    let grown = explanation(&["boxes.csv", "0", "3", "--margin", "2"]);
    assert!(grown.contains("are a pair"), "{grown}");
    folder.write("bodies.csv", "7\n7\n-1\n-1\n");
    let body = explanation(&["boxes.csv", "0", "1", "--groups", "bodies.csv"]);
    assert!(body.ends_with("are not a pair: both belong to body 7."), "{body}");
}

#[test]
fn rays_and_queries_are_named_by_their_row() {
    let folder = scene();
    let ray =
        |object: &str, ray: &str| explanation(&folder, &["boxes.csv", object, "--rays", "rays.csv", "--ray", ray]);
    assert_eq!(ray("0", "0"), "Ray 0 hits object 0 at t = 1.");
    assert_eq!(
        ray("1", "0"),
        "Ray 0 does not hit object 1: it hits object 0 at t = 1, and this one at t = 1.5."
    );
    assert_eq!(
        ray("0", "1"),
        "Ray 1 does not hit object 0: it enters the box at t = 1, and its t_max is 0.5."
    );
    assert_eq!(ray("3", "0"), "Ray 0 does not hit object 3: it misses the box.");
    assert!(ray("2", "0").contains("object 2 is invalid"));
    let all = ["boxes.csv", "1", "--rays", "rays.csv", "--ray", "0", "--mode", "all"];
    assert_eq!(explanation(&folder, &all), "Ray 0 hits object 1 at t = 1.5.");
    let query = ["boxes.csv", "0", "--boxes", "asked.csv", "--query"];
    let ask = |more: &[&str]| explanation(&folder, &[&query, more].concat());
    assert_eq!(ask(&["0"]), "Query 0 finds object 0.");
    let apart = ask(&["1", "--radius", "1"]);
    assert!(
        apart.starts_with("Query 1 does not find object 0: the boxes are 3.46") && apart.ends_with("the radius is 1."),
        "{apart}"
    );
    assert_eq!(ask(&["1", "--radius", "9"]), "Query 1 finds object 0.");
}

#[test]
fn the_verdict_is_that_of_the_other_commands() {
    let folder = Folder::new();
    folder.write(
        "boxes.csv",
        "min_x,min_y,max_x,max_y,layers,group\n0,0,2,2,4294967295,0\n1,1,3,3,4294967295,7\n1,1,2,2,65538,7\n0,0,1,1,4294967295,2147483648\n\
         nan,0,1,1,4294967295,0\n3,3,-3,4,4294967295,0\n-inf,1,inf,1.5,4294967295,0\n2.5,2.5,2.75,2.75,131073,0\n",
    );
    folder.write(
        "rays.csv",
        "0.5,0.5,1,0,inf\n-1,1.25,1,0,9\n9,9,0,0,1\n1.5,-4,0,1,3\nnan,0,1,0,1\n",
    );
    folder.write("asked.csv", "0,0,1,1\n2,2,2,2\n4,1,1,4\n-9,-9,-8,-8\n");
    let rows = |arguments: &[&str]| folder.cpu(&[arguments, &["--quiet"]].concat());
    let why = |arguments: &[&str]| explanation(&folder, &[&["boxes.csv"], arguments].concat());
    for margin in ["0", "0.5"] {
        let pairs = rows(&["pairs", "boxes.csv", "--margin", margin]);
        for (a, b) in (0..8).flat_map(|a| (a + 1..8).map(move |b| (a, b))) {
            let text = why(&[&a.to_string(), &b.to_string(), "--margin", margin]);
            let is_pair = pairs.lines().any(|row| row == format!("{a},{b}"));
            assert_eq!(text.contains(" are a pair: "), is_pair, "{text}");
        }
    }
    for mode in ["closest", "all"] {
        let hits = rows(&["rays", "boxes.csv", "rays.csv", "--mode", mode]);
        for (ray, object) in (0..5).flat_map(|ray| (0..8).map(move |object| (ray, object))) {
            let [ray, object] = [ray, object].map(|number: i32| number.to_string());
            let text = why(&[&object, "--rays", "rays.csv", "--ray", &ray, "--mode", mode]);
            let is_hit = hits.lines().any(|row| row.starts_with(&format!("{ray},{object}")));
            assert_eq!(
                text.starts_with(&format!("Ray {ray} hits object")),
                is_hit,
                "{text}\n{hits}"
            );
        }
    }
    for radius in ["0", "1.5"] {
        let found = rows(&["query", "boxes.csv", "asked.csv", "--radius", radius]);
        for (query, object) in (0..4).flat_map(|query| (0..8).map(move |object| (query, object))) {
            let [query, object] = [query, object].map(|number: i32| number.to_string());
            let text = why(&[&object, "--boxes", "asked.csv", "--query", &query, "--radius", radius]);
            let is_found = found.lines().any(|row| row == format!("{query},{object}"));
            assert_eq!(
                text.starts_with(&format!("Query {query} finds object")),
                is_found,
                "{text}"
            );
        }
    }
}

#[test]
fn elements_of_a_mesh_have_their_ids() {
    let folder = Folder::new();
    folder.write(
        "mesh.obj",
        "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 9 9 9\nv 9 8 9\nv 8 9 9\nf 1 2 3\nf 4 5 6\n",
    );
    // Ids: six vertices, six edges, then two faces.
    let faces = explanation(&folder, &["mesh.obj", "12", "13"]);
    assert!(
        faces.starts_with("Element 12 (a face) and element 13 (a face) are not a pair: "),
        "{faces}"
    );
    let vertex = explanation(&folder, &["mesh.obj", "0", "12", "--elements", "vertices,faces"]);
    assert!(
        vertex.starts_with("Element 0 (a vertex) and element 12 (a face) are a pair: "),
        "{vertex}"
    );
    let free = explanation(
        &folder,
        &["mesh.obj", "0", "12", "--between", "vertices,faces", "--free"],
    );
    assert!(free.ends_with("--free drops elements that share a vertex."), "{free}");
    let local = |more: &[&str]| explanation(&folder, &[&["mesh.obj", "1", "0", "--local-ids"], more].concat());
    assert!(
        local(&[]).starts_with("Face 1 and face 0 are not a pair: "),
        "{}",
        local(&[])
    );
    let between = local(&["--between", "faces,vertices"]);
    assert!(between.starts_with("Vertex 1 and face 0 are a pair: "), "{between}");
    refused(
        &folder,
        &["mesh.obj", "1", "2", "--local-ids"],
        &["unknown local id 2: there are 2 faces, from 0"],
    );
    let several = ["--between", "edges,edges", "--between", "edges,faces", "--local-ids"];
    refused(
        &folder,
        &[&["mesh.obj", "1", "0"], &several[..]].concat(),
        &["a single --between"],
    );
    let twice = ["--between", "edges,faces", "--between", "faces,edges"];
    refused(
        &folder,
        &[&["mesh.obj", "6", "12"], &twice[..]].concat(),
        &["edges-faces: repeated"],
    );
    let needles = ["mesh.obj: no box has id 3", "12 to 13", "--elements"];
    refused(&folder, &["mesh.obj", "3", "12"], &needles);
}

#[test]
fn what_is_not_there_is_refused_in_one_line() {
    let folder = scene();
    let cases: [(&[&str], &[&str]); 14] = [
        (&["boxes.csv", "0", "4"], &["boxes.csv", "unknown object 4", "0 to 3"]),
        (&["boxes.csv", "9", "0"], &["unknown object 9"]),
        (
            &["boxes.csv", "0"],
            &["needs two objects", "--rays FILE --ray R", "--boxes FILE --query Q"],
        ),
        (&["boxes.csv", "0", "--ray", "1"], &["--rays"]),
        (
            &["boxes.csv", "0", "--rays", "rays.csv", "--ray", "2"],
            &["rays.csv", "unknown ray 2", "0 to 1"],
        ),
        (
            &["boxes.csv", "0", "--boxes", "asked.csv", "--query", "7"],
            &["asked.csv", "unknown query 7"],
        ),
        (
            &["boxes.csv", "0", "1", "--rays", "rays.csv", "--ray", "0"],
            &["only one of"],
        ),
        (&["boxes.csv", "0", "1", "--margin", "inf"], &["--margin"]),
        (
            &["boxes.csv", "0", "--rays", "rays.csv", "--ray", "0", "--free"],
            &["--free"],
        ),
        (&["boxes.csv", "0", "1", "--radius", "2"], &["--query"]),
        (&["boxes.csv", "0", "1", "--max-pairs", "2"], &["--max-pairs"]),
        (&["boxes.csv", "0", "1", "--mode", "all"], &["--ray"]),
        (&["boxes.csv", "zero", "1"], &["zero", "use an integer from 0"]),
        (&["boxes.csv", "-1", "1"], &["-1", "use an integer from 0"]),
    ];
    for (arguments, needles) in cases {
        refused(&folder, arguments, needles);
    }
}
