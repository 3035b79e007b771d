//! The same without a browser, to compare with: `cargo run --release -p browser-tests`.

fn main() {
    let say = |line: &str| println!("{line}");
    pollster::block_on(async {
        browser_tests::run(&say).await;
        browser_tests::time(&[10_000, 100_000], &say).await;
    });
}
