// Chromium on its software WebGPU, which asks for no hosts but ours.
import { chromium } from "playwright-core";

const FLAGS = [
    "--headless=new",
    "--no-sandbox",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
];
const GPU_FLAGS = [
    "--enable-unsafe-webgpu",
    "--use-webgpu-adapter=swiftshader",
    "--enable-features=Vulkan",
    // Without these the device is lost at the first texture of a canvas.
    "--use-angle=vulkan",
    "--use-vulkan=swiftshader",
];

export function launch({ gpu = true, flags = [] } = {}) {
    const off = gpu ? GPU_FLAGS : ["--disable-features=WebGPU", "--disable-gpu"];
    return chromium.launch({
        executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
        args: [...FLAGS, ...off, ...flags],
    });
}

/** A page that keeps what its console says that is worse than a remark. */
export async function open(browser, address) {
    const page = await browser.newPage();
    page.said = [];
    page.on("console", (message) => {
        if (["error", "warning"].includes(message.type())) {
            page.said.push(message.text());
        }
    });
    page.on("pageerror", (error) => page.said.push(String(error)));
    await page.goto(address);
    return page;
}
