//! The same without a browser, to compare with: `cargo run --release -p browser-tests`. With the argument `golden` it asks
//! for the fixed scenes alone.

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
