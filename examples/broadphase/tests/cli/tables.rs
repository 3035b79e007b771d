//! Tables and points as other programs write them, and neighbours in f64.

use crate::support::{Folder, npy, npy_header};

/// Vertices of two triangles, whose edges have ids 4 to 8.
const OBJ: &str = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 5\n";

#[test]
fn arrays_have_headers_of_every_python_and_bytes_behind() {
    let folder = Folder::new();
    let values = [0.0_f32, 0.0, 0.0, 1.0, 1.0, 1.0, 0.5, 0.5, 0.5, 2.0, 2.0, 2.0];
    let little: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    let double: Vec<u8> = values
        .iter()
        .flat_map(|&value| f64::from(value).to_le_bytes())
        .collect();
    let big: Vec<u8> = values.iter().flat_map(|value| value.to_be_bytes()).collect();
    let words: Vec<u8> = values.iter().flat_map(|&value| (value as i32).to_le_bytes()).collect();
    for (kind, data) in [
        ("f4", &little),
        ("=f4", &little),
        ("|f4", &little),
        ("float32", &little),
        ("<float32", &little),
        ("f", &little),
        ("single", &little),
        (">f4", &big),
        (">float32", &big),
        ("f8", &double),
        ("float64", &double),
        ("d", &double),
        ("float", &double),
        ("i4", &words),
        ("int32", &words),
        ("uint32", &words),
    ] {
        folder.write("a.npy", npy(&npy_header(kind, false, "(2, 6)"), data));
        folder.answers(&["pairs", "a.npy"], "0,1\n", "");
    }
    let header = npy_header("<f4", false, "(2, 6)");
    let long = format!("{}{}\n", header.trim_end(), " ".repeat(20_000));
    let mut second = b"\x93NUMPY\x02\x00".to_vec();
    second.extend((long.len() as u32).to_le_bytes());
    second.extend(long.as_bytes());
    second.extend(&little);
    let third = [&b"\x93NUMPY\x03\x00"[..], &second[8..]].concat();
    for (name, bytes, warning) in [
        ("long.npy", npy(&header.replace("(2, 6)", "(2L, 6L)"), &little), ""),
        ("unicode.npy", npy(&header.replace("'descr'", "u'descr'"), &little), ""),
        ("wide.npy", npy(&long, &little), ""),
        ("second.npy", second, ""),
        ("third.npy", third, ""),
        (
            "behind.npy",
            npy(&header, &[&little[..], &[1; 7]].concat()),
            "behind.npy: ignored 7 bytes after the array's 2 rows",
        ),
    ] {
        folder.write(name, bytes);
        folder.answers(&["pairs", name], "0,1\n", warning);
    }
}

const WATER: &str = "3\nwater\nO 0.0 0.0 0.1\nH 0.0 0.75 -0.5\nH 0 -0.75 -0.5\n";

#[test]
fn atoms_are_points() {
    let folder = Folder::new();
    let near = |name: &str, rows: &str, warning: &str| {
        folder.answers(&["neighbors", name, "--radius", "1.2"], rows, warning);
    };
    let both = "0,1\n0,2\n";
    for (name, text) in [
        ("plain.xyz", WATER.to_owned()),
        ("blank.XYZ", WATER.replace("water", "")),
        (
            "numbers.xyz",
            WATER.replace("water", "1 2 3").replace("O ", "8 ").replace("H ", "1 "),
        ),
        ("rest.xyz", WATER.replace("0.1\n", "0.1 -0.8 # charge\n") + "\n\n"),
        ("comment.xyz", WATER.replace("water", "# water, Lattices")),
        ("windows.xyz", format!("  {}", WATER.replace('\n', "\r\n"))),
        ("returns.xyz", WATER.replace('\n', "\r")),
        ("tabs.extxyz", WATER.replace("O ", "  O\t")),
    ] {
        folder.write(name, text);
        near(name, both, "");
    }
    let columns = "Properties=forces:R:2:species:S:1:pos:R:3:tag:I:1 energy=-1";
    let rows = "9 9 O 0 0 0.1 1\n9 9 H 0 0.75 -0.5 1\n9 9 H 0 -0.75 -0.5 1\n";
    folder.write("columns.xyz", format!("3\n{columns}\n{rows}"));
    near("columns.xyz", both, "");
    folder.write("points.xyz", "0 0 0.1\n0 .75 -.5\n0 -.75 -.5\n");
    near("points.xyz", both, "");
    folder.write("empty.xyz", "0\nnothing\n");
    near("empty.xyz", "", "");

    // Neighbours only across the periodic border in y.
    let cell = |lattice: &str| format!("2\n{lattice} Properties=species:S:1:pos:R:3\nO 0 0.5 0\nO 0 2.5 0\n");
    for (name, lattice, rows, warning) in [
        ("cell.xyz", "Lattice=\"9 0 0 0 3 0 0 0 9\"", "0,1\n", ""),
        ("slab.xyz", "Lattice=\"9 0 0 0 3 0 0 0 9\" pbc=\"F T F\"", "0,1\n", ""),
        ("open.xyz", "Lattice=\"9 0 0 0 3 0 0 0 9\" pbc=\"T F T\"", "", ""),
        ("skew.xyz", "Lattice=\"9 0 0 0.5 3 0 0 0 9\"", "0,1\n", ""),
        (
            "flat.xyz",
            "Lattice=\"9 0 0 5 0 0 0 0 9\"",
            "",
            "flat.xyz: Lattice is flat, or its vectors too short or long: ignored",
        ),
    ] {
        folder.write(name, cell(lattice));
        near(name, rows, warning);
    }
    let shifts = ["neighbors", "cell.xyz", "--radius", "1.2", "--shifts", "--distances"];
    folder.answers(&shifts, "0,1,1,0,-1,0\n", "");
    // The image is at (-0.5, -0.5, 0).
    let skew = ["neighbors", "skew.xyz", "--radius", "1.2", "--shifts"];
    folder.answers(&skew, "0,1,0,-1,0\n", "");
    folder.answers(
        &["neighbors", "skew.xyz", "--nearest", "1", "--distances"],
        "0,1,2\n1,0,2\n",
        "skew.xyz: Lattice is not along the axes: ignored by --nearest",
    );
    let without = ["neighbors", "cell.xyz", "--radius", "1.2", "--period", "0"];
    folder.answers(&without, "", "");

    folder.write("frames.xyz", format!("{WATER}{WATER}"));
    near(
        "frames.xyz",
        both,
        "frames.xyz: read only the first frame; the next starts at line 6",
    );
    for (name, text, needle) in [
        ("cut.xyz", WATER.replace('3', "4"), "truncated: 3 of 4 atoms"),
        (
            "many.xyz",
            WATER.replace('3', "18446744073709551615"),
            "truncated: 3 of 18446744073709551615",
        ),
        (
            "more.xyz",
            WATER.replace('3', "2"),
            "line 5: unexpected \"H 0 -0.75 -0.5\" after 2 atoms",
        ),
        (
            "word.xyz",
            WATER.replace("0.75 -0.5\nH", "x -0.5\nH"),
            "line 4: column 3: \"x\" is not a number",
        ),
        (
            "short.xyz",
            WATER.replace(" -0.75", ""),
            "line 5: 3 columns; an atom needs",
        ),
        (
            "pos.xyz",
            cell("").replace("pos:", "x:"),
            "line 2: Properties: pos:R:3 is missing",
        ),
        (
            "kinds.xyz",
            cell("").replace("pos:R:3", "pos:R:2"),
            "line 2: Properties: pos:R:3 is missing",
        ),
        (
            "wide.xyz",
            cell("").replace("O 0 0", "O 0 0 0"),
            "line 3: 5 columns, Properties has 4",
        ),
        (
            "lattice.xyz",
            cell("Lattice=\"1 2\""),
            "line 2: Lattice \"1 2\": needs 9 numbers",
        ),
    ] {
        folder.write(name, text);
        folder.refuses(&["neighbors", name, "--radius", "1"], &[name, needle]);
    }
    folder.refuses(&["pairs", "plain.xyz"], &["plain.xyz: 3 columns; boxes need 6"]);
}

#[test]
fn small_differences_of_tables_do_not_matter() {
    let folder = Folder::new();
    let rows = "0,0,0,1,1,1\n0.5,0,0,2,1,1\n";
    for (name, text, warning) in [
        ("comma.csv", rows.replace('\n', ",\n"), ""),
        ("names.csv", format!("a,b,c,d,e,f,\n{}", rows.replace('\n', ",\n")), ""),
        ("semicolon.csv", rows.replace(',', "; ").replace('\n', ";\n"), ""),
        ("tab.tsv", rows.replace(',', "\t").replace('\n', "\t\n"), ""),
        ("returns.csv", rows.replace('\n', "\r"), ""),
        (
            "numbers.csv",
            format!("0,1,2,3,4,5\n{rows}").replace("0,0,0,1,1,1", "0.0,0.0,0.0,1.0,1.0,1.0"),
            "numbers.csv: line 1 numbers the columns from 0: read as a header",
        ),
    ] {
        folder.write(name, text);
        folder.answers(&["pairs", name], "0,1\n", warning);
    }
    // Without a fraction in line 2, line 1 stays ambiguous.
    folder.write("integers.csv", "0,1,2,3,4,5\n3,3,3,4,4,5\n");
    folder.answers(
        &["pairs", "integers.csv"],
        "0,1\n",
        "line 1 numbers the columns from 0: read as a row",
    );
    folder.write("three.csv", "0,0,0,1,1,1\n0,0,0,1,1,1\n0,0,0,1,1,1\n");
    folder.write("exclude.csv", "0,1\n0,2\n");
    folder.answers(&["pairs", "three.csv", "--exclude", "exclude.csv"], "1,2\n", "");
    folder.write("two.csv", "0,0,0,1,1,1,,\n");
    folder.refuses(
        &["pairs", "two.csv"],
        &["two.csv: line 1: column 7: \"\" is not a number"],
    );

    folder.write(
        "infinite.txt",
        "0 0 0 1.#INF 1.#INF00 1\n-1.#INF 0 0 2 1 1 # all\n-1.#IND 0 0 1 1 1\n",
    );
    let left_out = "ignored 1 of 3 boxes as invalid, the first in row 2: x from NaN to 1";
    folder.answers(&["pairs", "infinite.txt"], "0,1\n", left_out);
    folder.write(
        "infinite.obj",
        "v 0 0 0\rv 1.#INF 0 0\rv 0 1 0\rv 0 0 5\rf 1 2 3\rf 1 2 4\r",
    );
    folder.answers(&["pairs", "infinite.obj"], "9,10\n", "");
    let returns = format!("{OBJ}# none\nf 1 \\\n2 3\nf 1 2 4\n").replace('\n', "\r");
    folder.write("returns.obj", &returns);
    folder.answers(&["pairs", "returns.obj"], "9,10\n", "");
    folder.write("returns_word.obj", returns.replace("2 4", "2 x"));
    folder.refuses(&["pairs", "returns_word.obj"], &["line 8: \"x\" is not a vertex"]);

    folder.write("boxes.csv", rows);
    folder.write("rays.csv", "-1,0.5,0.5,1,0,0\n");
    folder.answers(&["rays", "boxes.csv", "rays.csv"], "0,0,1\n", "");
    folder.write("flat.csv", "0,0,1,1\n");
    folder.write("flat_rays.csv", "-1,0.5,1,0\n");
    folder.answers(&["rays", "flat.csv", "flat_rays.csv"], "0,0,1\n", "");

    for (name, start, kind) in [
        ("boxes.csv.gz", &b"\x1f\x8b\x08\x00"[..], "gzip"),
        ("packed.csv", b"\x1f\x8b\x08\x00", "gzip"),
        ("packed.obj", b"BZh91AY", "bzip2"),
        ("packed.ply", b"\xfd7zXZ\0", "xz"),
        ("packed.npy.zst", b"\x28\xb5\x2f\xfd", "zstd"),
    ] {
        folder.write(name, start);
        folder.refuses(
            &["pairs", name],
            &[name, &format!("compressed with {kind}; unpack it first")],
        );
    }
}

#[test]
fn rows_that_are_left_out_are_always_told() {
    let folder = Folder::new();
    folder.write("boxes.csv", "0,0,0,1,1,1\n");
    folder.write("inverted.csv", "1,1,1,0,0,0\n2,2,2,0,0,0\n");
    folder.write("colours.xyz", "0.1 0.2 0.3 255 0 0\n0.4 0.5 0.6 255 10 0\n");
    folder.write("points.csv", "0,0,0\nnan,0,0\n1,0,0\n2,inf,0\n");
    folder.write("rays.csv", "0,0,0,1,0,0,9\n0,0,0,inf,0,0,9\n0,0,nan,1,0,0,9\n");
    folder.write("nan.obj", format!("{OBJ}v nan 0 0\nf 1 2 3\nf 1 2 5\n"));
    for (arguments, rows, warning) in [
        (
            vec!["pairs", "inverted.csv"],
            "",
            "inverted.csv: ignored 2 of 2 boxes as invalid, the first in row 0: its min x 1 is above its max 0",
        ),
        (
            vec!["pairs", "colours.xyz"],
            "",
            "ignored 2 of 2 boxes as invalid, the first in row 0: its min y",
        ),
        (
            vec!["pairs", "nan.obj"],
            "",
            "nan.obj: ignored 1 of 2 elements as invalid, the first in element 11",
        ),
        (
            vec!["neighbors", "points.csv", "--radius", "2"],
            "0,2\n",
            "points.csv: ignored 2 of 4 points as invalid, the first in row 1: its x is NaN",
        ),
        (
            vec!["rays", "boxes.csv", "rays.csv", "--mode", "any"],
            "0,1\n1,0\n2,0\n",
            "rays.csv: ignored 2 of 3 rays as invalid, the first in row 1: its direction x is inf",
        ),
        (
            vec!["query", "boxes.csv", "inverted.csv"],
            "",
            "inverted.csv: ignored 2 of 2 queries as invalid, the first in row 0",
        ),
    ] {
        folder.answers(&arguments, rows, warning);
        let stderr = folder.run(&[&arguments[..], &["--backend", "cpu"]].concat()).stderr;
        let count = warning.split(" of ").next().unwrap().rsplit(' ').next().unwrap();
        let counted = stderr.lines().find(|line| line.contains(" ms")).unwrap();
        assert!(counted.contains(&format!("{count} invalid")), "{stderr}");
        let is_of_points = arguments[0] == "neighbors";
        assert!(!is_of_points || counted.matches("invalid").count() == 1, "{stderr}");
    }
}

#[test]
fn neighbours_are_exact_in_double_precision() {
    let folder = Folder::new();
    folder.write("two.csv", "0,0,0\n100,0,0\n");
    let period = [
        "neighbors",
        "two.csv",
        "--radius",
        "1e-5",
        "--period",
        "0.1",
        "--distances",
    ];
    let near = folder.quietly(&period).stdout;
    let distance: f64 = near.trim_end().strip_prefix("0,1,").unwrap().parse().unwrap();
    assert!(distance < 1e-14, "{near}");

    // A spacing of 0.1 in f64, which f32 rounds.
    let lattice: Vec<[f64; 3]> = (0..6 * 6 * 6)
        .map(|place| [place % 6, place / 6 % 6, place / 36].map(|step| f64::from(step) * 0.1 + 1000.0))
        .collect();
    let text: String = lattice.iter().map(|[x, y, z]| format!("{x},{y},{z}\n")).collect();
    folder.write("lattice.csv", text);
    for (period, radius) in [
        (0.0, 0.1),
        (0.6, 0.1),
        (0.6, 0.17),
        (0.0, 0.141_421_356_237_309_5),
        (0.0, 0.0),
    ] {
        let distance = |a: &[f64; 3], b: &[f64; 3]| {
            let squares = (0..3).map(|axis| {
                let apart = b[axis] - a[axis];
                let shifts = if period > 0.0 { (apart / period).round() } else { 0.0 };
                (apart - shifts * period).powi(2)
            });
            squares.sum::<f64>().sqrt()
        };
        let mut expected = String::new();
        for (row, a) in lattice.iter().enumerate() {
            for (other, b) in lattice.iter().enumerate().skip(row + 1) {
                if distance(a, b) <= radius {
                    expected += &format!("{row},{other},{}\n", distance(a, b));
                }
            }
        }
        let (period, radius) = (period.to_string(), radius.to_string());
        let mut arguments = vec![
            "neighbors",
            "lattice.csv",
            "--radius",
            &radius,
            "--period",
            &period,
            "--distances",
        ];
        assert_eq!(folder.quietly(&arguments).stdout, expected, "{arguments:?}");
        arguments.pop();
        arguments.push("--count-only");
        assert_eq!(
            folder.quietly(&arguments).stdout.trim(),
            expected.lines().count().to_string()
        );
    }
    // All six neighbours are equally near, except for rounding in f64.
    let nearest = [
        "neighbors",
        "lattice.csv",
        "--nearest",
        "3",
        "--distances",
        "--radius",
        "0.1",
    ];
    let rows = folder.quietly(&nearest).stdout;
    let distances: Vec<f64> = rows
        .lines()
        .map(|row| row.rsplit(',').next().unwrap().parse().unwrap())
        .collect();
    assert!(
        distances.iter().all(|&distance| distance <= 0.1) && !distances.is_empty(),
        "{rows}"
    );

    // Numbers that f32 cannot distinguish or represent.
    folder.write("far.csv", "1e9,0\n1000000001,0\n1000000002.5,0\n");
    folder.answers(&["neighbors", "far.csv", "--radius", "1.25"], "0,1\n", "");
    folder.answers(
        &["neighbors", "far.csv", "--nearest", "1", "--distances"],
        "0,1,1\n1,0,1\n2,1,1.5\n",
        "",
    );
    folder.write("small.csv", "0,0\n3e-42,4e-42\n1e-41,0\n");
    folder.answers(&["neighbors", "small.csv", "--radius", "5e-42"], "0,1\n", "");
    folder.write("huge.csv", "0,0\n1e300,0\n");
    folder.answers(&["neighbors", "huge.csv", "--radius", "1"], "", "");
    folder.answers(&["neighbors", "huge.csv", "--radius", "1e300"], "0,1\n", "");
    folder.answers(&["neighbors", "huge.csv", "--nearest", "1"], "0,1\n1,0\n", "");
    let lost = ["neighbors", "huge.csv", "--radius", "1", "--period", "7"];
    folder.answers(
        &lost,
        "",
        "ignored 1 of 2 points, the first in row 1: it is 2^36 or more periods away",
    );
    folder.write("large.csv", "0,0\n3e38,0\n");
    folder.answers(&["neighbors", "large.csv", "--radius", "1e300"], "0,1\n", "");

    for period in ["8 8 8", "8, 8, 8", "8"] {
        folder.write("apart.csv", "0.5,4,4\n7.5,4,4\n");
        folder.answers(
            &["neighbors", "apart.csv", "--radius", "1", "--period", period],
            "0,1\n",
            "",
        );
    }
}

/// `@` in `command` is the file.
fn with_header<'a>(folder: &Folder, command: &'a str, header: &str, rows: &str) -> Vec<&'a str> {
    let rows = rows.replace(' ', "\n");
    folder.write("named.csv", format!("{header}\n{rows}\n"));
    let words = command.split(' ');
    words.map(|word| if word == "@" { "named.csv" } else { word }).collect()
}

const INTERLEAVED: &str = "0,1,2,3,4,5 2,3,4,5,6,7";
/// Touch as corners and sizes, and are apart or invalid as mins and maxes.
const CORNERS_AND_SIZES: &str = "10,10,20,20 25,25,30,30";

#[test]
fn columns_of_boxes_are_read_by_name() {
    let folder = Folder::new();
    for header in [
        "minx,maxx,miny,maxy,minz,maxz",
        "xmin,xmax,ymin,ymax,zmin,zmax",
        "x_min,x_max,y_min,y_max,z_min,z_max",
        "MinX,MaxX,MinY,MaxY,MinZ,MaxZ",
        "bbox.min.x,bbox.max.x,bbox.min.y,bbox.max.y,bbox.min.z,bbox.max.z",
        "lower_x,upper_x,lower_y,upper_y,lower_z,upper_z",
        "xlo,xhi,ylo,yhi,zlo,zhi",
        "x0,x1,y0,y1,z0,z1",
        "x1,x2,y1,y2,z1,z2",
        "x,x.1,y,y.1,z,z.1",
        "west,east,south,north,zmin,zmax",
        "minlon,maxlon,minlat,maxlat,min z (m),max z (m)",
    ] {
        folder.answers(&with_header(&folder, "pairs @", header, INTERLEAVED), "", "");
    }
    folder.answers(
        &with_header(&folder, "pairs @", "a,b,c,d,e,f", INTERLEAVED),
        "0,1\n",
        "",
    );
    let said = folder
        .run(&with_header(
            &folder,
            "pairs @",
            "xmin,xmax,ymin,ymax",
            "0,1,2,3 2,3,4,5",
        ))
        .stderr;
    assert!(
        said.contains("named.csv: columns by name: xmin,ymin,xmax,ymax"),
        "{said}"
    );

    for (header, rows, expected) in [
        ("maxx,maxy,maxz,minx,miny,minz", "1,1,1,0,0,0 3,3,3,1,1,1", "0,1\n"),
        ("x,y,width,height", CORNERS_AND_SIZES, "0,1\n"),
        ("x,y,w,h", CORNERS_AND_SIZES, "0,1\n"),
        ("left,top,width,height", CORNERS_AND_SIZES, "0,1\n"),
        ("bb_left,bb_top,bb_width,bb_height", CORNERS_AND_SIZES, "0,1\n"),
        ("xmin,ymin,dx,dy", CORNERS_AND_SIZES, "0,1\n"),
        ("x,width,y,height", "10,20,10,20 25,30,25,30", "0,1\n"),
        ("x,y,z,width,height,depth", "0,0,0,2,2,2 1,1,1,2,2,2", "0,1\n"),
        ("cx,cy,w,h", "0,0,2,2 2,0,2,2", "0,1\n"),
        ("cx,cy,w,h", "0,0,2,2 2.5,0,2,2", ""),
        ("cx,cy,cz,half_x,half_y,half_z", "0,0,0,2,2,2 3,0,0,2,2,2", "0,1\n"),
        ("left,top,right,bottom", "0,0,2,2 1,1,3,3", "0,1\n"),
        ("left,bottom,right,top", "0,0,2,2 1,1,3,3", "0,1\n"),
        ("left,right,bottom,top", "0,2,0,2 1,3,1,3", "0,1\n"),
        ("x,y,x2,y2", "0,0,2,2 1,1,3,3", "0,1\n"),
        // Indices and other columns are left out.
        (",xmin,ymin,xmax,ymax", "0,0,0,2,2 1,1,1,3,3", "0,1\n"),
        (",0,1,2,3,4,5", "0,0,0,0,2,2,2 1,1,1,1,3,3,3", "0,1\n"),
        ("index,0,1,2,3", "0,0,0,2,2 1,1,1,3,3", "0,1\n"),
        ("id,a,b,c,d", "0,0,0,2,2 1,1,1,3,3", "0,1\n"),
        ("Unnamed: 0,a,b,c,d,e,f", "0,0,0,0,2,2,2 1,1,1,1,3,3,3", "0,1\n"),
        (
            "name,xmin,ymin,xmax,ymax,note",
            "wall,0,0,2,2,a door,1,1,3,3,b",
            "0,1\n",
        ),
        ("xmin,ymin,xmax,ymax,foo,bar", "0,0,2,2,7,7 1,1,3,3,9,9", "0,1\n"),
        (
            "xmin,ymin,xmax,ymax,width,height,cx,cy",
            "0,0,2,2,2,2,1,1 1,1,3,3,2,2,2,2",
            "0,1\n",
        ),
        (
            "layers,group,xmin,xmax,ymin,ymax",
            "4294967295,1,0,2,0,2 4294967295,1,1,3,1,3 4294967295,2,1,3,1,3",
            "0,2\n1,2\n",
        ),
        ("x,y,z,a,b,c", "0,0,0,1,1,1 1,1,1,2,2,2", "0,1\n"),
        ("x,y,u,v", "0,0,1,1 1,1,2,2", "0,1\n"),
        ("x_from,x_to,y_from,y_to", "0,2,0,2 1,3,1,3", "0,1\n"),
        ("x,y,half_w,half_h", "0,0,1,1 1.5,1,1,1", "0,1\n"),
        ("x1,y1,x0,y0", "1,1,0,0 2,2,1,1", "0,1\n"),
        ("x2,x1,y2,y1", "1,0,1,0 2,1,2,1", "0,1\n"),
        ("x,y,z,x,y,z", "0,0,0,1,1,1 1,1,1,2,2,2", "0,1\n"),
    ] {
        folder.answers(&with_header(&folder, "pairs @", header, rows), expected, "");
    }
}

#[test]
fn names_of_columns_that_mean_several_things_are_refused() {
    let folder = Folder::new();
    let six = "0,0,0,2,2,2 3,0,0,2,2,2";
    for (header, rows, needle) in [
        (
            "x,y,z,dx,dy,dz",
            six,
            "columns x,y,z,dx,dy,dz: dx would be the max in x; choose --form min-max, min-size",
        ),
        (
            "x,y,z,size_x,size_y,size_z",
            six,
            "size_x would be the max in x; choose --form",
        ),
        ("cx,cy,cz,dx,dy,dz", six, "--form"),
        ("x,y,z,l,w,h", six, "--form"),
        ("x,y,z,w,d,h", six, "--form"),
        ("ox,oy,oz,dx,dy,dz", six, "ox would be the min in x; choose --form"),
        ("x,y,z,dx,dy,dz,tmax", "0,0,0,1,1,1,1", "pick them with --columns"),
        ("x,y,z,nx,ny,nz", six, "nx would be the max in x; choose"),
        ("z,y,x,a,b,c", six, "z would be the min in x; choose --form"),
        ("x,y,z,sx,sy,sz", six, "the meaning of sx is unknown; choose --form"),
        ("x,y,rx,ry", "0,0,1,1", "the meaning of rx is unknown; choose --form"),
        (
            "x_a,x_b,y_a,y_b",
            "0,1,5,6",
            "the meaning of y_a is unknown; choose --form",
        ),
        ("x,y,z,radius", "0,0,0,1", "z would be the max in x; choose --form"),
    ] {
        folder.refuses(&with_header(&folder, "pairs @", header, rows), &["named.csv: ", needle]);
    }
    // As numpy.savetxt writes them.
    folder.write("saved.txt", "# x y z dx dy dz\n0 0 0 2 2 2\n3 0 0 2 2 2\n");
    folder.refuses(&["pairs", "saved.txt"], &["saved.txt: ", "dx would be the max in x"]);
    folder.write("saved.txt", "# xmin xmax ymin ymax\n# units m\n0 1 5 6\n3 4 5 6\n");
    folder.answers(&["pairs", "saved.txt"], "", "");
    folder.write("saved.txt", "# made by a program on day 6\n0 0 0 2 2 2\n1 0 0 2 2 2\n");
    folder.answers(&["pairs", "saved.txt"], "0,1\n", "");
    for (form, expected) in [("min-size", ""), ("center-size", ""), ("center-half", "0,1\n")] {
        for (header, rows) in [
            ("x,y,z,dx,dy,dz", six),
            ("a,b,c,d,e,f", six),
            ("id,x,dx,y,dy,z,dz,note", "7,0,2,0,2,0,2,a 8,3,2,0,2,0,2,b"),
        ] {
            let command = format!("pairs @ --form {form}");
            folder.answers(&with_header(&folder, &command, header, rows), expected, "");
        }
    }
    for header in ["x,y,z,dx,dy,dz", "ox,oy,oz,dx,dy,dz", "z,y,x,a,b,c"] {
        let command = with_header(&folder, "pairs @ --form min-max", header, "0,0,0,2,2,2 1,0,0,2,2,2");
        folder.answers(&command, "0,1\n", "");
    }
    // The names say corners, the user centers.
    let centers = "pairs @ --form center-size";
    folder.answers(
        &with_header(&folder, centers, "x,y,w,h", "0,0,2,2 1.5,1,1,1"),
        "0,1\n",
        "",
    );
    folder.answers(&with_header(&folder, "pairs @", "x,y,w,h", "0,0,1,1 1.5,1,1,1"), "", "");
    folder.write("mesh.obj", OBJ.to_owned() + "f 1 2 3\n");
    for command in [
        "pairs mesh.obj --form min-size",
        "pairs mesh.obj --columns 0,1",
        "neighbors mesh.obj --radius 1 --columns 0,1",
        "query mesh.obj mesh.obj --query-columns 0,1",
    ] {
        folder.refuses(
            &command.split(' ').collect::<Vec<_>>(),
            &["mesh.obj: --", "needs a table"],
        );
    }
}

#[test]
fn columns_are_picked_by_name_or_number() {
    let folder = Folder::new();
    let named = "wall,0,0,0,1,1,1 door,1,1,1,2,2,2";
    let flat = "0,1,2,3 2,3,4,5";
    let filters = "0,0,1,1,7,1,1 0,0,1,1,7,1,1";
    for (columns, header, rows, expected) in [
        ("a,b,c,d,e,f", "name,a,b,c,d,e,f", named, "0,1\n"),
        ("1,2,3,4,5,6", "name,a,b,c,d,e,f", named, "0,1\n"),
        ("minx,miny,maxx,maxy", "minx,maxx,miny,maxy", flat, ""),
        ("MINX,maxX,miny,maxy", "minx,maxx,miny,maxy", flat, ""),
        ("0,1,2,3", "minx,maxx,miny,maxy", flat, "0,1\n"),
        ("x,y,width,height", "x,y,width,height", CORNERS_AND_SIZES, "0,1\n"),
        (
            "x,y,width,height --form min-max",
            "x,y,width,height",
            CORNERS_AND_SIZES,
            "",
        ),
        ("a,b,c,d", "a,b,c,d,e,layers,group", filters, "0,1\n"),
        ("a,b,c,d,layers,group", "a,b,c,d,e,layers,group", filters, ""),
    ] {
        let command = format!("pairs @ --columns {columns}");
        folder.answers(&with_header(&folder, &command, header, rows), expected, "");
    }
    for (columns, header, rows, needle) in [
        ("x,y,dx,dy", "x,y,dx,dy", CORNERS_AND_SIZES, "choose --form"),
        (
            "a,b,c,q",
            "a,b,c,d",
            flat,
            "--columns: no column \"q\" among 4, numbered from 0: a,b,c,d",
        ),
        (
            "a,b,c,4",
            "a,b,c,d",
            flat,
            "--columns: no column \"4\" among 4, numbered from 0",
        ),
        ("a,b,c", "a,b,c,d", flat, "3 columns; boxes need 6"),
        ("a,b", "1,1,1,1", flat, "--columns: no column \"a\" among 4"),
    ] {
        let command = format!("pairs @ --columns {columns}");
        folder.refuses(&with_header(&folder, &command, header, rows), &["named.csv: ", needle]);
    }
    let values: Vec<u8> = [0_i32, 1, 2, 3, 2, 3, 4, 5]
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect();
    folder.write("a.npy", npy(&npy_header("<i4", false, "(2, 4)"), &values));
    folder.answers(&["pairs", "a.npy"], "0,1\n", "");
    folder.answers(&["pairs", "a.npy", "--columns", "0,2,1,3"], "", "");
}

#[test]
fn columns_of_points_rays_and_queries_are_read_by_name() {
    let folder = Folder::new();
    folder.write("boxes.csv", "0,0,0,1,1,1\n5,0,0,6,1,1\n");
    let points = "neighbors @ --radius 1.2";
    let rays = "rays boxes.csv @ --mode any";
    let queries = "query boxes.csv @";
    for (command, header, rows, expected) in [
        (points, "x,y,z,intensity", "0,0,0,9 1,0,0,1", "0,1\n"),
        (points, ",x,y,z", "0,0,9,0 1,1,9,0", "0,1\n"),
        (points, "id,x,y", "0,0,9 5,1,9", "0,1\n"),
        (points, "X (m),Y (m),Z (m),name", "0,0,0,a 1,0,0,b", "0,1\n"),
        (points, "city,lat,lon", "a,0,0 b,1,0", "0,1\n"),
        (
            "neighbors @ --radius 1.2 --period 9,0,0",
            "z,y,x",
            "0,0,0 0,0,8.5",
            "0,1\n",
        ),
        (
            "neighbors @ --radius 1.2 --period 9,0,0 --columns 0,1,2",
            "z,y,x",
            "0,0,0 0,0,8.5",
            "",
        ),
        (
            "neighbors @ --radius 1.2 --columns x,y",
            "x,y,t",
            "0,0,9 1,0,1",
            "0,1\n",
        ),
        ("neighbors @ --radius 1.2 --columns x,y,t", "x,y,t", "0,0,9 1,0,1", ""),
        (
            rays,
            "ox,oy,oz,dx,dy,dz,tmax",
            "-1,.5,.5,1,0,0,9 -1,.5,.5,1,0,0,0.5",
            "0,1\n1,0\n",
        ),
        (rays, "x,y,z,dx,dy,dz,t_max", "-1,.5,.5,1,0,0,0.5", "0,0\n"),
        (
            rays,
            "t_max,dx,dy,dz,x,y,z",
            "9,1,0,0,-1,.5,.5 0.5,1,0,0,-1,.5,.5",
            "0,1\n1,0\n",
        ),
        (
            rays,
            "origin_x,dir_x,origin_y,dir_y,origin_z,dir_z",
            "-1,1,.5,0,.5,0",
            "0,1\n",
        ),
        (rays, ",ox,oy,oz,dx,dy,dz", "7,-1,.5,.5,1,0,0", "0,1\n"),
        (rays, "x,y,z,a,b,c", "-1,.5,.5,1,0,0", "0,1\n"),
        (
            "rays boxes.csv @ --mode any --ray-columns 0,1,2,3,4,5",
            "x1,y1,z1,x2,y2,z2",
            "-1,.5,.5,1,0,0",
            "0,1\n",
        ),
        (queries, "id,x,y,z", "7,.5,.5,.5", "0,0\n"),
        (queries, "x,y,z,intensity", ".5,.5,.5,9", "0,0\n"),
        (queries, "xmin,xmax,ymin,ymax,zmin,zmax", ".1,.2,.1,.2,.1,.2", "0,0\n"),
        (queries, "x,y,z,width,height,depth", "-2,-2,-2,3,3,3", "0,0\n"),
        (queries, "cx,cy,cz,width,height,depth", "-1,-1,-1,2,2,2", "0,0\n"),
        (queries, "x,y,z,nx,ny,nz,r", ".5,.5,.5,9,9,9,9", "0,0\n"),
        (
            "query boxes.csv @ --query-columns x,y,z,a,b,c",
            "x,y,z,a,b,c",
            ".5,.5,.5,9,9,9",
            "0,0\n0,1\n",
        ),
        (
            "query boxes.csv @ --query-columns x,y,z",
            "x,y,z,dx,dy,dz",
            ".5,.5,.5,9,9,9",
            "0,0\n",
        ),
    ] {
        folder.answers(&with_header(&folder, command, header, rows), expected, "");
    }
    for (command, header, rows, needle) in [
        (
            points,
            "x,y,height",
            "0,0,9",
            "columns x,y,height: not all have known names; choose --columns x,y or --columns x,y,height",
        ),
        (
            rays,
            "ox,oy,oz,dx,dy,dz,foo",
            "0,0,0,1,0,0,9",
            "choose --ray-columns ox,oy,oz,dx,dy,dz or --ray-columns ox,oy,oz,dx,dy,dz,foo",
        ),
        (
            rays,
            "minx,miny,minz,maxx,maxy,maxz",
            "0,0,0,1,0,0",
            "minx would be the origin",
        ),
        (
            rays,
            "x1,y1,z1,x2,y2,z2",
            "0,0,0,1,0,0",
            "x1 would be the origin in x; --ray-columns 0,1,2,3,4,5 keeps this order",
        ),
        (
            rays,
            "x,y,z,dx,dy,dz,tmin,tmax",
            "0,0,0,1,0,0,0,9",
            "column tmin: rays start at t = 0",
        ),
        (
            queries,
            "x,y,z,dx,dy,dz",
            "0,0,0,1,0,0",
            "dx would be the max in x; --query-columns 0,1,2,3,4,5 keeps this order",
        ),
        (
            queries,
            "x,y,z,r,g,b",
            "0,0,0,1,0,0",
            "choose --query-columns x,y,z or --query-columns x,y,z,r,g,b",
        ),
        (queries, "ox,oy,oz,dx,dy,dz", "0,0,0,1,0,0", "ox would be the min"),
    ] {
        folder.refuses(&with_header(&folder, command, header, rows), &["named.csv: ", needle]);
    }
    folder.write("rays.csv", "dx,dy,dz,x,y,z\n1,0,0,-1,.5,.5\n");
    let why = |arguments: &[&str]| folder.run(&[&["why", "boxes.csv", "0"], arguments].concat()).stdout;
    let said = why(&["--rays", "rays.csv", "--ray", "0"]);
    assert!(
        said.contains("Ray 0 hits object 0") || said.contains("ray 0 hits"),
        "{said}"
    );
    let said = why(&["--boxes", "rays.csv", "--query", "0", "--query-columns", "x,y,z"]);
    assert!(said.contains("does not find"), "{said}");
}

#[test]
fn comments_separators_and_exponents_come_in_more_dialects() {
    let folder = Folder::new();
    let rows = "0,0,0,1,1,1\n1,1,1,2,2,2\n";
    for start in [
        "// boxes, of 2\n",
        "% 1 2 3\n",
        "; boxes\n",
        "; a; b\n ; c\n// d\n",
        "sep=,\n",
        "\"sep=,\"\n",
        "SEP=,\r\n",
        "# a\nsep=,\na,b,c,d,e,f\n",
    ] {
        folder.write("a.csv", format!("{start}{rows}// end\n  % end\n; end\n"));
        folder.answers(&["pairs", "a.csv"], "0,1\n", "");
    }
    for text in [
        "sep=;\n;a;b;c;d\n0;0;0;1;1\n1;1;1;2;2\n",
        ";a;b;c;d\n0;0;0;1;1\n1;1;1;2;2\n",
        "sep=|\na|b|c|d\n0|0|1|1\n1|1|2|2\n",
        "sep=\t\na\tb\tc\td\n0\t0\t1\t1\n1\t1\t2\t2\n",
        "0.0D0 0 1d0 1.0D+00\n1.0D+00 0 2 2\n",
        "# by numpy.savetxt\n# xmin xmax ymin ymax\n0 1.5 0 1\n1 2 0 1\n",
        "//xmin,xmax,ymin,ymax\n0,1.5,0,1\n1,2,0,1\n",
        "; xmin; xmax; ymin; ymax\n0 1.5 0 1\n1 2 0 1\n",
    ] {
        folder.write("a.csv", text);
        folder.answers(&["pairs", "a.csv"], "0,1\n", "");
    }
    // Neither a comment nor a number.
    folder.write("a.csv", "0;0;1;1\n;0;1;1\n");
    folder.refuses(&["pairs", "a.csv"], &["line 2: column 1: \"\" is not a number"]);
    for word in ["1D", "D1", "1D1D1", "1.5DD3", "infD0"] {
        folder.write("a.csv", format!("0,0,1,1\n0,0,1,{word}\n"));
        folder.refuses(&["pairs", "a.csv"], &["line 2: column 4", word]);
    }
    folder.write("water.xyz", "2\n\nO 0.0D0 0.0D0 0.0D0\nH 0.1D+01 0.0D0 0.0D0\n");
    folder.answers(&["neighbors", "water.xyz", "--radius", "1"], "0,1\n", "");
}
