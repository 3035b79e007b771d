"""Opens the pages in headless Chromium on its software WebGPU and watches what they say.

usage: run.py TESTS DEMO PICTURES

TESTS and DEMO are folders of built pages, PICTURES takes the pictures of the demo. Ends with 1 at the first page that fails, or
that says something on the console."""

import base64
import functools
import http.server
import json
import pathlib
import sys
import threading
import time

from selenium import webdriver
from selenium.common.exceptions import SessionNotCreatedException
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains

# Software WebGPU, and no requests to other machines.
FLAGS = [
    "--headless=new",
    "--no-sandbox",
    "--enable-unsafe-webgpu",
    "--use-webgpu-adapter=swiftshader",
    "--enable-features=Vulkan",
    # Without these, the first texture of a canvas loses the device.
    "--use-angle=vulkan",
    "--use-vulkan=swiftshader",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
]
# Longest wait without progress, in seconds.
LONGEST = 600
# Scene of the first picture, and the pointer's position from the page's centre.
PICTURE = "boxes=3000&size=0.6&cells=1&frames=30"
POINTER = (160, -150)


class Handler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def start(options):
    """A busy machine may take longer than the driver waits for the browser to begin."""
    for attempt in range(3):
        try:
            return webdriver.Chrome(service=Service("/usr/bin/chromedriver"), options=options)
        except SessionNotCreatedException as error:
            print(f"attempt {attempt + 1}: {error.msg}", flush=True)
    raise SystemExit("the browser does not start")


class Browser:
    """A fresh profile; `script` runs before every page's own."""

    def __init__(self, script="", size=(1280, 800)):
        options = Options()
        options.binary_location = "/usr/bin/chromium"
        for flag in FLAGS:
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = start(options)
        self.driver.set_script_timeout(LONGEST)
        # This is the page's size. A window's size would include its frame.
        metrics = {"width": size[0], "height": size[1], "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        if script:
            self.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": script})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.driver.quit()

    def open(self, url):
        self.driver.get(url)

    def run(self, script):
        return self.driver.execute_script(script)

    def text(self, name):
        return self.run(f"return document.getElementById('{name}').textContent")

    def wait(self, what, condition, longest=LONGEST, progress="0"):
        """Waits until the script's value is true and returns it. What changes the value of `progress` begins the time
        anew."""
        end, before = time.monotonic() + longest, None
        while time.monotonic() < end:
            value, now = self.run(f"return [{condition}, {progress}]")
            if value:
                return value
            if now != before:
                end, before = time.monotonic() + longest, now
            time.sleep(0.1)
        raise SystemExit(f"{what}: nothing after {longest} s")

    def said(self):
        """What the console has that is worse than a remark."""
        return [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]

    def check_console(self, what):
        said = self.said()
        if said:
            raise SystemExit(f"{what}: the console says\n" + "\n".join(said))


def serve(folder):
    handler = functools.partial(Handler, directory=folder)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_address[1]}/index.html"


def tests(url):
    for query in ("", "?time=1000,10000"):
        with Browser() as browser:
            browser.open(url + query)
            said = "document.getElementById('report')?.textContent"
            state = browser.wait("the tests", "document.documentElement.dataset.state", progress=said)
            print(browser.text("report"), end="", flush=True)
            browser.check_console("the tests")
            if state != "passed":
                raise SystemExit("the tests: failed")


def verify(browser, what):
    """Lets the page compare a frame with the reference that runs in it."""
    browser.wait(what, "document.documentElement.dataset.state === 'running' && pairs.textContent !== '–'")
    browser.run("verify.click()")
    verdict = browser.wait(what, "/^[✓✗]/.test(verdict.textContent) && verdict.textContent")
    print(f"demo, {what}: {verdict}", flush=True)
    if not verdict.startswith("✓"):
        raise SystemExit(f"{what}: {verdict}")


COLOURS = """
const [picture, done] = arguments;
const image = new Image();
image.src = `data:image/png;base64,${picture}`;
image.decode().then(() => {
    const context = new OffscreenCanvas(image.width, image.height).getContext("2d");
    context.drawImage(image, 0, 0);
    const { data } = context.getImageData(0, 0, image.width, image.height);
    done(new Set(new Uint32Array(data.buffer)).size);
});
"""


def take_picture(browser, path):
    """Not of an empty canvas: boxes, cells and hits have colours, and what lies over them is not counted."""
    path.write_bytes(base64.b64decode(browser.driver.get_screenshot_as_base64()))
    over = "document.querySelectorAll('body > :not(canvas)')"
    browser.run(f"for (const part of {over}) part.style.visibility = 'hidden'")
    colours = browser.driver.execute_async_script(COLOURS, browser.driver.get_screenshot_as_base64())
    browser.run(f"for (const part of {over}) part.style.visibility = ''")
    print(f"demo: {path}, {colours} colours", flush=True)
    if colours < 300:
        raise SystemExit(f"{path}: next to nothing is on it")


def demo(url, pictures):
    pictures.mkdir(parents=True, exist_ok=True)
    with Browser() as browser:
        start = time.monotonic()
        browser.open(f"{url}?{PICTURE}")
        browser.wait("the demo", "document.documentElement.dataset.state === 'running'")
        print(f"demo: runs after {time.monotonic() - start:.1f} s", flush=True)
        canvas = browser.driver.find_element("id", "canvas")
        ActionChains(browser.driver).move_to_element_with_offset(canvas, *POINTER).perform()
        browser.wait("the ray", "/[1-9]/.test(hits.textContent)")
        verify(browser, "flat boxes")
        take_picture(browser, pictures / "web.png")
        browser.check_console("the demo")
    for query in ("dimensions=3&boxes=3000&scheme=adaptive&cells=1", "boxes=3000&scheme=uniform&sizes=equal"):
        with Browser() as browser:
            browser.open(f"{url}?{query}")
            verify(browser, query)
            browser.check_console(query)
    with Browser(size=(390, 844)) as browser:
        browser.open(f"{url}?dimensions=3&boxes=3000")
        verify(browser, "a narrow window")
        take_picture(browser, pictures / "web-narrow.png")
        browser.check_console("a narrow window")


# Scripts that run before the page's own and simulate failures.
NO_WEBGPU = "Object.defineProperty(Navigator.prototype, 'gpu', { get: () => undefined });"
NO_ADAPTER = "GPU.prototype.requestAdapter = async () => null;"
NO_DEVICE = "GPUAdapter.prototype.requestDevice = async () => { throw new DOMException('not today', 'OperationError'); };"
KEPT_DEVICE = """
const { requestDevice } = GPUAdapter.prototype;
GPUAdapter.prototype.requestDevice = async function (...parts) { return window.kept = await requestDevice.apply(this, parts); };
"""


def check_told(browser, what):
    """All that the console says comes from the page itself, whose notice has it too."""
    notice = browser.text("notice-text")
    print(f"demo, {what}: {notice}", flush=True)
    # The console quotes its lines as JSON.
    begins = [json.dumps(text[:40])[1:-1] for text in (notice, browser.text("status")) if text]
    others = [line for line in browser.said() if not any(begin in line for begin in begins)]
    if others or not notice:
        raise SystemExit(f"{what}: the console says\n" + "\n".join(others))


def troubles(url):
    for what, script in (("no WebGPU", NO_WEBGPU), ("no adapter", NO_ADAPTER), ("no device", NO_DEVICE)):
        with Browser(script) as browser:
            browser.open(url)
            browser.wait(what, "document.documentElement.dataset.state === 'failed'", 60)
            check_told(browser, what)
    with Browser(KEPT_DEVICE) as browser:
        browser.open(f"{url}?boxes=2000")
        verify(browser, "before the loss")
        browser.run("kept.destroy()")
        browser.wait("the loss", "document.documentElement.dataset.state === 'lost'", 60)
        check_told(browser, "device lost")
        browser.run("restart.click()")
        verify(browser, "another device")
        browser.check_console("another device")
    # Too many boxes for a software device: the page reports this and offers fewer.
    with Browser() as browser:
        browser.open(f"{url}?boxes=4000000")
        browser.wait("4,000,000 boxes", "!notice.hidden && !restart.hidden", 60)
        check_told(browser, "4,000,000 boxes")
        browser.run("restart.click()")
        verify(browser, "back from 4,000,000 boxes")
        browser.check_console("back from 4,000,000 boxes")
    # Too many boxes for any device: the page returns to fewer by itself.
    with Browser() as browser:
        browser.open(f"{url}?boxes=40000000")
        verify(browser, "back from 40,000,000 boxes")
        check_told(browser, "40,000,000 boxes")


def main():
    tests_folder, demo_folder, pictures = sys.argv[1:]
    tests(serve(tests_folder))
    url = serve(demo_folder)
    demo(url, pathlib.Path(pictures))
    troubles(url)


if __name__ == "__main__":
    main()
