"""Records the demo page in headless Chromium as an animated WebP, the picture of README.md.

usage: record.py DEMO PICTURE

DEMO is the folder of the built page. Frames have a fixed time step, so slow software WebGPU does not change the motion."""

import base64
import math
import pathlib
import subprocess
import sys
import tempfile
import time

from run import Browser, serve
from selenium.webdriver.common.action_chains import ActionChains

SIZE = (1120, 700)
SCENE = "boxes=3000&size=0.6&cells=1&frames=100000"
FRAMES = 48
MILLISECONDS = 90
# The page draws a frame per call of `tick`.
GATE = """
const waiting = [];
window.requestAnimationFrame = (frame) => waiting.push(frame);
window.tick = () => waiting.splice(0).forEach((frame) => frame(document.timeline.currentTime));
"""
WARM_UP = 10
# Waits between calls of `tick` are in these figures.
WITHOUT_RATE = """
for (const name of ["fps", "frame-time"]) {
    const figure = document.getElementById(name);
    figure.style.visibility = figure.previousElementSibling.style.visibility = "hidden";
}
"""


def record(url, folder):
    with Browser(GATE, SIZE) as browser:
        browser.open(f"{url}?{SCENE}")
        canvas = browser.driver.find_element("id", "canvas")
        browser.wait("the stages", "(tick(), stages.children.length > 5)")
        browser.run(WITHOUT_RATE)
        for frame in range(-WARM_UP, FRAMES):
            turn = 2 * math.pi * frame / FRAMES
            x, y = round(260 * math.cos(turn)) - 130, round(190 * math.sin(turn))
            ActionChains(browser.driver, duration=0).move_to_element_with_offset(canvas, x, y).perform()
            browser.run("tick()")
            # Software adapters take this long to draw.
            time.sleep(0.7)
            picture = base64.b64decode(browser.driver.get_screenshot_as_base64())
            if frame >= 0:
                (folder / f"{frame:03}.png").write_bytes(picture)
        browser.check_console("the recording")


def main():
    demo, picture = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        record(serve(demo), folder)
        frames = sorted(map(str, folder.iterdir()))
        options = ["-loop", "0", "-lossy", "-q", "40", "-m", "6", "-d", str(MILLISECONDS)]
        subprocess.run(["img2webp", *options, *frames, "-o", picture], check=True)


if __name__ == "__main__":
    main()
