"""Take every picture in docs/pictures from the real program: `make pictures`.

The question box is drawn by `screenshot.py`. The pages are those of `quandary serve`, in Chromium,
over the journal that `pictured.py` fills.

    python examples/pictures.py [--quick] [FOLDER]
"""  # noqa: INP001

from __future__ import annotations

import argparse
import asyncio
import base64
import os
import pty
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from zlib import compress, crc32

import screenshot
from pictured import House, fill
from playwright.sync_api import expect, sync_playwright

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Browser, Page

PICTURES = Path(__file__).resolve().parent.parent / "docs" / "pictures"


# -- what is on them -----------------------------------------------------------------------------


class Picture(NamedTuple):
    """A page as it is to be seen: with what somebody looks at it, and what they did before."""

    name: str
    path: str
    device: dict[str, Any]
    prepare: Callable[[Page], None] = lambda _: None


def wide(height: int) -> dict[str, Any]:
    """A window on a desk."""
    return {"viewport": {"width": 1080, "height": height}}


def own_words(page: Page) -> None:
    """Somebody types words of their own, and the page says how they will be read."""
    page.locator("input[data-words]").nth(0).fill("make two steps")
    expect(page.locator("output").nth(0)).not_to_be_empty()
    page.evaluate("scrollTo(0, 0)")


def first_answered(page: Page) -> None:
    """The first question is answered, and the person has scrolled back to it."""
    first = page.locator("fieldset").nth(0)
    first.get_by_text("Keep it").tap()
    first.evaluate("question => scrollTo(0, question.offsetTop - 12)")


PHONE = {"viewport": {"width": 390, "height": 760}, "has_touch": True, "is_mobile": True}
DARK = {"color_scheme": "dark"}
PAGES = (
    Picture("inbox", "/", wide(610)),
    Picture("question", "/runs/{shop}", wide(846), own_words),
    Picture("walk", "/runs/{walk}", wide(1176)),
    Picture("statistics", "/stats", wide(742)),
    Picture("phone", "/runs/{shop}", PHONE, first_answered),
    Picture("dark", "/runs/{gate}", wide(780) | DARK),
)


# -- taking them ---------------------------------------------------------------------------------


@contextmanager
def served(house: House) -> Iterator[tuple[str, str]]:
    """The real server over the journal: its address, and the code to log in with."""
    screen, its_end = pty.openpty()  # the code is shown at a terminal only
    process = subprocess.Popen(
        [sys.executable, "-m", "quandary", "serve", "--port", "0"],
        cwd=house.folder / "shop",
        stderr=its_end,
    )
    os.close(its_end)
    try:
        with open(screen, encoding="utf-8") as said:
            yield said.readline().split()[2], said.readline().split()[-1]
    finally:
        process.terminate()
        process.wait()


@contextmanager
def chromium() -> Iterator[Browser]:
    """The system's own browser, with grey edges around its letters: fewer colours to keep."""
    flags = ["--no-sandbox", "--disable-lcd-text"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=flags)
        yield browser
        browser.close()


def log_in(browser: Browser, address: str, code: str) -> Any:  # noqa: ANN401 - of Playwright
    """Become a person; the cookies that say so."""
    context = browser.new_context(base_url=address)
    page = context.new_page()
    page.goto("/login")
    page.get_by_label("Code or token").fill(code)
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("button", name="Log out")).to_be_visible()
    cookies = context.storage_state()
    context.close()
    return cookies


def take(browser: Browser, picture: Picture, **options: Any) -> bytes:  # noqa: ANN401 - the same
    """The picture of a page, as Chromium makes it."""
    context = browser.new_context(**options, **picture.device)
    page = context.new_page()
    page.goto(picture.path)
    picture.prepare(page)
    page.evaluate("document.activeElement.blur()")
    image = page.screenshot(animations="disabled", caret="hide")
    context.close()
    return image


# -- small files ---------------------------------------------------------------------------------

PIXELS = """async png => {
  const bytes = Uint8Array.from(atob(png), sign => sign.charCodeAt(0));
  const image = await createImageBitmap(new Blob([bytes]));
  const canvas = new OffscreenCanvas(image.width, image.height).getContext("2d");
  canvas.drawImage(image, 0, 0);
  const pixels = canvas.getImageData(0, 0, image.width, image.height).data;
  const link = await new Promise(done => {
    const reader = new FileReader();
    reader.onload = () => done(reader.result);
    reader.readAsDataURL(new Blob([pixels]));
  });
  return [image.width, image.height, link.slice(link.indexOf(",") + 1)];
}"""


def smaller(page: Page, png: bytes) -> bytes:
    """The same picture with 256 colours: those used most, and for the others the nearest one."""
    width, height, sent = page.evaluate(PIXELS, base64.b64encode(png).decode())
    pixels = memoryview(base64.b64decode(sent)).cast("I").tolist()
    found = [number for number, _ in Counter(pixels).most_common()]
    colours = [number.to_bytes(4, sys.byteorder)[:3] for number in found]
    kept = colours[:256]
    places = {
        number: place if place < 256 else _nearest(kept, colour)
        for place, (number, colour) in enumerate(zip(found, colours, strict=True))
    }
    indexed = bytes(map(places.__getitem__, pixels))
    rows = b"".join(b"\0" + indexed[n * width : (n + 1) * width] for n in range(height))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        (
            _part(b"IHDR", width.to_bytes(4) + height.to_bytes(4) + bytes([8, 3, 0, 0, 0])),
            _part(b"PLTE", b"".join(kept)),
            _part(b"IDAT", compress(rows, 9)),
            _part(b"IEND", b""),
        )
    )


def _nearest(kept: list[bytes], colour: bytes) -> int:
    def distance(place: int) -> int:
        return sum((a - b) ** 2 for a, b in zip(kept[place], colour, strict=True))

    return min(range(len(kept)), key=distance)


def _part(name: bytes, data: bytes) -> bytes:
    return len(data).to_bytes(4) + name + data + crc32(name + data).to_bytes(4)


# -- all of them ---------------------------------------------------------------------------------


def main() -> None:
    """Take all pictures; quickly, coarse ones of two days."""
    parser = argparse.ArgumentParser(description="Take every picture of the documentation.")
    parser.add_argument("folder", nargs="?", type=Path, default=PICTURES)
    parser.add_argument("--quick", action="store_true", help="coarse pictures of two days")
    wanted = parser.parse_args()
    wanted.folder.mkdir(parents=True, exist_ok=True)
    terminal = asyncio.run(screenshot.draw())
    (wanted.folder / "terminal.svg").write_text(terminal, encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        house = House(Path(folder))
        runs = fill(house, 2 if wanted.quick else 28)
        with served(house) as (address, code), chromium() as browser:
            options = {
                "base_url": address,
                "storage_state": log_in(browser, address, code),
                "device_scale_factor": 1 if wanted.quick else 1.5,
            }
            paper = browser.new_page()
            for picture in PAGES:
                there = picture._replace(path=picture.path.format(**runs))
                file = wanted.folder / f"{picture.name}.png"
                file.write_bytes(smaller(paper, take(browser, there, **options)))
                print(f"{file.name}: {file.stat().st_size // 1024} KB")


if __name__ == "__main__":
    main()
