//! Runs the browser's checks natively: `cargo run --release -p browser-tests`. The argument `golden` selects the fixed
//! scenes.

fn main() {
    let say = |line: &str| println!("{line}");
    pollster::block_on(async {
        if std::env::args().nth(1).as_deref() == Some("golden") {
            return browser_tests::golden(&say).await;
        }
        browser_tests::run(&say).await;
        browser_tests::time(&[10_000, 100_000], &say).await;
    });
}
