//! Parameters of a GPU, read from `gpus/`.

pub struct Gpu {
    pub sms: f64,
    pub clock_mhz: f64,
    /// Warp instructions that an SM issues per clock.
    pub schedulers: f64,
    /// Most resident invocations per SM.
    pub threads: f64,
    pub registers: f64,
    pub l2_gb_s: f64,
    pub dram_gb_s: f64,
    /// Microseconds added to every dispatch.
    pub dispatch_us: f64,
}

impl Gpu {
    pub fn named(name: &str) -> Self {
        let text = match name {
            "h100" => include_str!("../../gpus/h100.txt"),
            "laptop" => include_str!("../../gpus/laptop.txt"),
            "integrated" => include_str!("../../gpus/integrated.txt"),
            _ => panic!("--gpu {name}: h100, laptop or integrated"),
        };
        let number = |key: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' '));
            let value = line.and_then(|value| value.trim().parse().ok());
            value.unwrap_or_else(|| panic!("{name}: no number for {key}"))
        };
        Self {
            sms: number("sms"),
            clock_mhz: number("clock_mhz"),
            schedulers: number("schedulers"),
            threads: number("threads"),
            registers: number("registers"),
            l2_gb_s: number("l2_gb_s"),
            dram_gb_s: number("dram_gb_s"),
            dispatch_us: number("dispatch_us"),
        }
    }
}
