//! ARCHITECTURE.md names every test that holds a promise of robustness.

#[test]
fn every_test_of_a_promise_stands_in_the_documentation() {
    let documentation = include_str!("../ARCHITECTURE.md");
    let files = [
        include_str!("bad_calls.rs"),
        include_str!("bad_input.rs"),
        include_str!("concurrency.rs"),
        include_str!("debug_draw.rs"),
        include_str!("device_counts.rs"),
        include_str!("events.rs"),
        include_str!("faults.rs"),
        include_str!("golden.rs"),
        include_str!("hunt.rs"),
        include_str!("mixed_sizes.rs"),
        include_str!("order.rs"),
        include_str!("overflow.rs"),
        include_str!("properties.rs"),
        include_str!("snapshot.rs"),
        include_str!("statics.rs"),
        include_str!("table.rs"),
    ];
    let names: Vec<_> = files
        .iter()
        .flat_map(|file| file.split("#[test]").skip(1))
        .filter_map(|test| test.split_once("fn ")?.1.split_once('('))
        .map(|(name, _)| name)
        .collect();
    assert!(names.len() > 70, "{names:?}");
    for name in names {
        assert!(documentation.contains(&format!("`{name}`")), "{name}");
    }
}
