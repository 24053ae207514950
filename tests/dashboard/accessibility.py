"""Runs axe-core in a page; its file is vendored (axe/axe.min.js, licence in axe/LICENSE)."""

from pathlib import Path
from typing import Any

from playwright.sync_api import BrowserContext, Page

AXE = Path(__file__).parent / "axe" / "axe.min.js"
# Everything up to WCAG 2.2, level AA.
STANDARDS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
RUN = """async options => {
  const found = await axe.run(document, { ...options, resultTypes: ["violations"] });
  const why = node => (node.any[0] ?? node.all[0] ?? node.none[0])?.message ?? "";
  const told = node => `${node.target.join(" ")}: ${node.html.slice(0, 160)} ${why(node)}`;
  return found.violations.map(
    each => ({ id: each.id, help: each.help, nodes: each.nodes.slice(0, 5).map(told) }));
}"""
COLOUR_RULES = ["color-contrast", "link-in-text-block"]
"""They take most of the time. Colours depend on the mode, light or dark, not on the size of the window."""
COLOURS = {"runOnly": {"type": "rule", "values": COLOUR_RULES}}
ALL = {"runOnly": {"type": "tag", "values": STANDARDS}}
LAYOUT = {**ALL, "rules": {rule: {"enabled": False} for rule in COLOUR_RULES}}


def prepare(context: BrowserContext) -> None:
    """Load axe into every page of a context. Scripts of the debugger are not subject to the page's policy."""
    context.add_init_script(path=AXE)


def violations(page: Page, options: dict[str, Any] = ALL) -> list[str]:
    """What of WCAG 2.2 AA the page violates, with the elements."""
    found: list[dict[str, Any]] = page.evaluate(RUN, options)
    return [f"{each['id']} ({each['help']}): {node}" for each in found for node in each["nodes"]]
