//! The command `why`: one paragraph about two objects, an object and a ray, or an object and a query.

use crate::support::Folder;

/// Standard output of a command that ends well, in one line.
fn told(folder: &Folder, arguments: &[&str]) -> String {
    let ran = folder.run(&[&["why"], arguments].concat());
    assert_eq!(ran.status, 0, "{arguments:?}: {}", ran.stderr);
    assert!(ran.stdout.lines().all(|line| line.len() <= 100), "{}", ran.stdout);
    ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Status 2 and one line with all of `needles`.
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
fn two_objects_are_told_in_every_scheme() {
    let folder = scene();
    for scheme in ["hierarchical", "uniform", "adaptive"] {
        let told = |arguments: &[&str]| told(&folder, &[arguments, &["--scheme", scheme]].concat());
        let pair = told(&["boxes.csv", "1", "0"]);
        assert!(
            pair.starts_with("Object 1 and object 0 are a pair. The boxes overlap by 0.5 on x"),
            "{pair}"
        );
        assert!(pair.contains("The walk of object"), "{pair}");
        let apart = told(&["boxes.csv", "0", "3"]);
        assert!(
            apart.contains("On y the boxes are 4 apart: object 0 ends before object 3 begins."),
            "{apart}"
        );
        let invalid = told(&["boxes.csv", "0", "2"]);
        assert!(
            invalid.contains("Object 2 is invalid and takes no part: min.x is not a number."),
            "{invalid}"
        );
        let grown = told(&["boxes.csv", "0", "3", "--margin", "2"]);
        assert!(
            grown.contains("are a pair") && grown.contains("margin included"),
            "{grown}"
        );
    }
}

#[test]
fn rays_and_queries_are_told_by_their_row() {
    let folder = scene();
    let ray = |object: &str, ray: &str| told(&folder, &["boxes.csv", object, "--rays", "rays.csv", "--ray", ray]);
    assert!(ray("0", "0").starts_with("Ray 0 hits object 0 at t = 1."));
    assert!(ray("1", "0").contains("Only the closest hit is asked for, and that is object 0 at t = 1."));
    let short = ray("0", "1");
    assert!(
        short.contains("it would enter the box at t = 1, and t_max is 0.5"),
        "{short}"
    );
    let query = ["boxes.csv", "0", "--boxes", "asked.csv", "--query"];
    let ask = |more: &[&str]| told(&folder, &[&query, more].concat());
    assert!(ask(&["0"]).starts_with("Query 0 finds object 0."));
    assert!(ask(&["1"]).contains("On x the boxes are 2 apart: object 0 ends before query 1 begins."));
    assert!(ask(&["1", "--radius", "1"]).contains("and the radius is 1."));
    assert!(ask(&["1", "--radius", "9"]).starts_with("Query 1 finds object 0."));
}

#[test]
fn the_rows_that_pairs_cuts_are_told() {
    let folder = Folder::new();
    folder.write("boxes.csv", "0,0,1,1\n0,0,1,1\n0,0,1,1\n");
    let told = |most: &str| told(&folder, &["boxes.csv", "1", "2", "--max-pairs", most]);
    assert!(
        told("2").ends_with("It is row 2 of 3 sorted rows, which begin with row 0. With --max-pairs 2 it is cut off.")
    );
    assert!(told("3").ends_with("With --max-pairs 3 it is kept."));
}

#[test]
fn elements_of_a_mesh_have_their_ids() {
    let folder = Folder::new();
    folder.write(
        "mesh.obj",
        "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 9 9 9\nv 9 8 9\nv 8 9 9\nf 1 2 3\nf 4 5 6\n",
    );
    // Six vertices, six edges, two faces.
    let faces = told(&folder, &["mesh.obj", "12", "13"]);
    assert!(
        faces.starts_with("Element 12 (a face) and element 13 (a face) are not a pair."),
        "{faces}"
    );
    let vertex = told(&folder, &["mesh.obj", "0", "12", "--elements", "vertices,faces"]);
    assert!(
        vertex.starts_with("Element 0 (a vertex) and element 12 (a face) are a pair."),
        "{vertex}"
    );
    let free = told(
        &folder,
        &["mesh.obj", "0", "12", "--between", "vertices,faces", "--free"],
    );
    assert!(
        free.starts_with("--free drops this pair: the two share a vertex of the mesh. Without --free: Element 0"),
        "{free}"
    );
    let local = |more: &[&str]| told(&folder, &[&["mesh.obj", "1", "0", "--local-ids"], more].concat());
    assert!(
        local(&[]).starts_with("Face 1 and face 0 are not a pair."),
        "{}",
        local(&[])
    );
    let between = local(&["--between", "faces,vertices"]);
    assert!(between.starts_with("Vertex 1 and face 0 are a pair."), "{between}");
    refused(
        &folder,
        &["mesh.obj", "1", "2", "--local-ids"],
        &["of the faces none has the local id 2: there are 2"],
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
        &["edges-faces is given twice"],
    );
    let needles = ["mesh.obj: no box has the id 3", "12 to 13", "--elements"];
    refused(&folder, &["mesh.obj", "3", "12"], &needles);
}

#[test]
fn what_is_not_there_is_refused_in_one_line() {
    let folder = scene();
    let cases: [(&[&str], &[&str]); 13] = [
        (
            &["boxes.csv", "0", "4"],
            &["boxes.csv", "there is no object 4", "0 to 3"],
        ),
        (&["boxes.csv", "9", "0"], &["there is no object 9"]),
        (
            &["boxes.csv", "0"],
            &["needs two objects", "--rays FILE --ray R", "--boxes FILE --query Q"],
        ),
        (&["boxes.csv", "0", "--ray", "1"], &["--rays"]),
        (
            &["boxes.csv", "0", "--rays", "rays.csv", "--ray", "2"],
            &["rays.csv", "there is no ray 2", "0 to 1"],
        ),
        (
            &["boxes.csv", "0", "--boxes", "asked.csv", "--query", "7"],
            &["asked.csv", "no query 7"],
        ),
        (
            &["boxes.csv", "0", "1", "--rays", "rays.csv", "--ray", "0"],
            &["one of these"],
        ),
        (&["boxes.csv", "0", "1", "--margin", "inf"], &["--margin"]),
        (
            &["boxes.csv", "0", "--rays", "rays.csv", "--ray", "0", "--free"],
            &["--free"],
        ),
        (&["boxes.csv", "0", "1", "--radius", "2"], &["--query"]),
        (&["boxes.csv", "0", "1", "--mode", "all"], &["--ray"]),
        (&["boxes.csv", "zero", "1"], &["zero", "an id is an integer from 0"]),
        (&["boxes.csv", "-1", "1"], &["-1", "an id is an integer from 0"]),
    ];
    for (arguments, needles) in cases {
        refused(&folder, arguments, needles);
    }
}
