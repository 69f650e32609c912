"""A page in headless Chromium: what it writes to the console, how wide it is, and which words it breaks."""

from __future__ import annotations

import html
import json
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

_WRAPPER = """<!doctype html><meta charset="utf-8"><body>
<iframe id="page" src="{page}" style="width:{width}px;height:800px;border:0"></iframe>
<script>
onload = () => {{
  const root = document.getElementById("page").contentDocument.documentElement;
  for (const details of root.querySelectorAll("details")) details.open = true;
  const inside = e => e.getBoundingClientRect().right <= {width} + 0.5;
  const wide = [...root.querySelectorAll("body *")].filter(e => !inside(e));
  const broken = [...root.querySelectorAll("img")].filter(e => !e.complete || e.naturalWidth === 0);
  // a word is broken if it stands on two lines without a seam (wbr, space or hyphen) inside
  const words = [];
  const walker = document.createTreeWalker(root.querySelector("body"), NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {{
    const node = walker.currentNode;
    if (node.parentElement.closest("pre, style, script")) continue;
    for (const match of node.data.matchAll(/(?:\\d[eE]-\u2060?|[^\\s\\-\u2010-\u2015\\/])+/g)) {{
      const range = document.createRange();
      range.setStart(node, match.index);
      range.setEnd(node, match.index + match[0].length);
      const lines = new Set([...range.getClientRects()].map(box => Math.round(box.top)));
      if (lines.size > 1) words.push(match[0]);
    }}
  }}
  document.body.dataset.words = JSON.stringify(words);
  const found = [root.scrollWidth, wide.length, broken.length, root.querySelectorAll("img").length];
  document.title = "found " + found.join(" ");
}};
</script>"""
_LINE = re.compile(r"^.*CONSOLE.*$", re.MULTILINE)


@dataclass(frozen=True)
class Look:
    """What Chromium saw of a page."""

    console: list[str]
    scroll_width: int
    n_too_wide: int
    n_broken_images: int
    n_images: int
    broken_words: list[str]


def executable() -> str | None:
    """Debian's chromium, or what stands in for it; None when there is none."""
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    return next((found for name in names if (found := shutil.which(name))), None)


def look(page: Path, folder: Path, *, width: int) -> Look:
    """Open ``page`` in a frame of ``width`` pixels (Chromium's own windows are 500 wide at least)."""
    program = executable()
    assert program is not None, "the caller skips when there is no Chromium"
    wrapper = folder / "wrapper.html"
    wrapper.write_text(_WRAPPER.format(page=page.resolve().as_uri(), width=width), encoding="utf-8")
    command = [
        program,
        "--headless=new",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--allow-file-access-from-files",
        "--enable-logging=stderr",
        f"--user-data-dir={folder / 'profile'}",
        "--window-size=1000,1000",
        "--virtual-time-budget=20000",
        "--dump-dom",
        wrapper.resolve().as_uri(),
    ]
    if os.geteuid() == 0:
        command.insert(1, "--no-sandbox")  # Chromium's sandbox refuses to run for root
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    found = re.search(r"<title>found (\d+) (\d+) (\d+) (\d+)</title>", done.stdout)
    assert found, f"Chromium did not measure the page: {done.stderr[-2000:]}"
    words = re.search(r'data-words="([^"]*)"', done.stdout)
    assert words, "Chromium did not list the words"
    return Look(
        _LINE.findall(done.stderr),
        *(int(part) for part in found.groups()),
        broken_words=json.loads(html.unescape(words[1])),
    )
