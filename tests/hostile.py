"""Texts that try to run a script, whatever shows them: each sets window.__xss where it succeeds."""

from __future__ import annotations

from bs4 import BeautifulSoup

SCRIPT = "window.__xss=1"
XSS = (
    f"<script>{SCRIPT}</script>",
    f"<img src=x onerror={SCRIPT}>",
    f"<svg onload={SCRIPT}>",
    f'"><script>{SCRIPT}</script>',
    f"' onmouseover='{SCRIPT}' x='",
    f"[click](javascript:{SCRIPT})",
    f'![picture](x" onerror="{SCRIPT})',
    f'<iframe srcdoc="<script>parent.{SCRIPT}</script>"></iframe>',
    f"</pre></details></div><script>{SCRIPT}</script>",
    f"</textarea></title></style></noscript><script>{SCRIPT}</script>",
    f'<a href="jav&#x09;ascript:{SCRIPT}">click</a>',
    "[click](data:text/html;base64,PHNjcmlwdD53aW5kb3cuX194c3M9MTwvc2NyaXB0Pg==)",
    f"<math><mtext><table><mglyph><style><img src=x onerror={SCRIPT}>",
    f"```html\n<b>code</b>\n```\n</code></pre><script>{SCRIPT}</script>",
    f"$\\href{{javascript:{SCRIPT}}}{{click}}$ and $$x^2$$",
    f"<details open ontoggle={SCRIPT}>more</details>",
    f"| a | b |\n|:-|-:|\n| <img src=x onerror={SCRIPT}> | <b>c</b> |",
    f"<style>@import 'javascript:{SCRIPT}'; * {{ display: none }}</style>",
    f"<form action=javascript:{SCRIPT}><button>send</button></form>",
    f"&lt;img src=x onerror={SCRIPT}&gt; &amp;lt;script&amp;gt;",
    f'<object data="data:text/html,<script>parent.{SCRIPT}</script>"></object>',
    f"<!--><script>{SCRIPT}</script>-->",
    f'<https://x.org/" onmouseover="{SCRIPT}>',
    f"<meta http-equiv=refresh content='0;url=javascript:{SCRIPT}'>",
    f"<base href='javascript:{SCRIPT}//'><link rel=stylesheet href=//x.org>",
    f"[x]: javascript:{SCRIPT}\n\n[x]",
    f"line\u2028{SCRIPT}\u2029 and \u202eturned\u202c \x00 \x1b[31m \ud800",
)
OURS = frozenset(
    "div p b span code pre ol ul li table thead tbody tr th td caption details summary a br hr del strong em "  # noqa: SIM905
    "blockquote progress style figure figcaption svg rect circle g path defs use clippath text tspan title "
    "metadata rdf:rdf cc:work cc:agent dc:title dc:type dc:format dc:creator".split()
)
"""The elements that our own pages are made of."""


def active(html: str) -> list[str]:
    """What in this HTML could run, load or cover something: empty for a harmless page of ours."""
    found = []
    for tag in BeautifulSoup(html, "html.parser").find_all(True):
        if tag.name not in OURS:
            found.append(f"<{tag.name}>")
        for name, value in tag.attrs.items():
            address = (
                str(value).strip().lower() if name in ("href", "src", "action", "data") else ""
            )
            inside = tag.name in ("use", "clippath") and address.startswith("#")
            harmless = inside or not address.split("/")[0].count(":") or address.startswith("http")
            if name.startswith("on") or not harmless:
                found.append(f"{tag.name} {name}={value}")
    return found
