"""How the page looks: one sheet, inside the page, for light and dark, for a wall and for a phone."""

from __future__ import annotations

from typing import Final

_LIGHT: Final = """
  --back: #f4f6f9; --card: #ffffff; --ink: #17202e; --soft: #5b6779; --rule: #e2e7ee; --accent: #1f5fbf;
  --good: #0f766e; --warn: #b45309; --bad: #b91c1c;
  --c4: #2a9d8f; --c3: #9bd4c9; --c2: #f3cf7a; --c1: #ef9a5b; --c0: #d1495b; --cn: #dde3ea;
  --on: #ffffff; --under: #3b2a10; --late: #f59e0b;
  --sea: #eaf0f6; --line: #cdd8e4; --main: #a9bacd;
  --m0: #bfdbf7; --m1: #8fc1ee; --m2: #5ba3e0; --m3: #2f80c8; --m4: #1b5f9f; --m5: #0d3b69;
  --l0: #1f5fbf; --l1: #d97706; --l2: #b4305e;
"""
_DARK: Final = """
  --back: #10151d; --card: #182029; --ink: #e6ecf3; --soft: #9aa8ba; --rule: #2a3542; --accent: #7db0ff;
  --good: #4fd1c0; --warn: #f5b84f; --bad: #ff8590;
  --c4: #1f8a7d; --c3: #2c5f5b; --c2: #93742a; --c1: #a85f2b; --c0: #b83a4c; --cn: #2b3643;
  --on: #ffffff; --under: #ffffff; --late: #fbbf24;
  --sea: #131b25; --line: #263341; --main: #3d4f63;
  --m0: #1d3a57; --m1: #22547f; --m2: #2a73ad; --m3: #4a98d8; --m4: #85bff0; --m5: #d3e9ff;
  --l0: #7db0ff; --l1: #f5b84f; --l2: #ff7fa8;
"""
_SHAPES: Final = """
* { box-sizing: border-box; }
body { margin: 0; background: var(--back); color: var(--ink); font: 15px/1.5 system-ui, "Segoe UI", Roboto, Helvetica,
  Arial, sans-serif; font-variant-numeric: tabular-nums; }
main { max-width: 1120px; margin: 0 auto; padding: 28px 20px 48px; }
h1 { font-size: 27px; line-height: 1.2; margin: 0 0 6px; letter-spacing: -0.01em; }
h2 { font-size: 18px; margin: 0 0 4px; }
h3 { font-size: 15px; margin: 20px 0 6px; overflow-wrap: anywhere; }
p { margin: 0 0 10px; }
.soft, .legend, .note { color: var(--soft); }
.note { font-size: 13.5px; margin-top: 10px; }
header { margin-bottom: 20px; overflow-wrap: anywhere; }
section { background: var(--card); border: 1px solid var(--rule); border-radius: 12px;
  padding: 20px; margin-top: 18px; }
.tiles { display: grid; gap: 12px; grid-template-columns: repeat(auto-fit, minmax(min(180px, 44%), 1fr)); }
.tile { background: var(--card); border: 1px solid var(--rule); border-radius: 12px; padding: 14px 16px; }
.tile b { display: block; font-size: 24px; line-height: 1.25; font-weight: 650; letter-spacing: -0.01em; }
.tile span { color: var(--soft); font-size: 13.5px; display: block; }
.good b { color: var(--good); } .warn b { color: var(--warn); } .bad b { color: var(--bad); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: 14px; }
th { text-align: left; color: var(--soft); font-weight: 600; white-space: nowrap; }
th, td { padding: 7px 14px 7px 0; border-bottom: 1px solid var(--rule); vertical-align: top; }
tbody tr:last-child td { border-bottom: 0; }
td.n, th.n { text-align: right; white-space: nowrap; } td.t { white-space: nowrap; }
td.what { overflow-wrap: anywhere; min-width: 210px; font-size: 13px;
  font-family: ui-monospace, Menlo, Consolas, monospace; }
summary { cursor: pointer; color: var(--accent); padding: 8px 0 2px; font-size: 14px; }
.tag { border-radius: 6px; padding: 1px 8px; font-size: 13px; white-space: nowrap; background: var(--cn); }
.tag.missing { background: var(--c0); color: #fff; } .tag.late { background: var(--c1); color: #2a1703; }
svg { display: block; max-width: 100%; height: auto; }
.scroll svg { max-width: none; }
svg.map, svg.plot { width: 100%; }
svg text { fill: var(--soft); font-size: 12.5px; }
svg text.middle { text-anchor: middle; } svg text.end { text-anchor: end; }
svg text.on { font-size: 11.5px; fill: var(--on); } svg text.c2t, svg text.c1t, svg text.c3t { fill: var(--under); }
.c4 { fill: var(--c4); background: var(--c4); } .c3 { fill: var(--c3); background: var(--c3); }
.c2 { fill: var(--c2); background: var(--c2); } .c1 { fill: var(--c1); background: var(--c1); }
.c0 { fill: var(--c0); background: var(--c0); } .cn { fill: var(--cn); background: var(--cn); }
circle.late { fill: var(--late); stroke: var(--card); stroke-width: 1.2; }
.dot { background: var(--late); border-radius: 50%; width: 10px; height: 10px; }
.legend { margin: 12px 0 0; font-size: 13.5px; display: flex; flex-wrap: wrap; gap: 4px 18px; }
.mark { display: inline-flex; align-items: center; gap: 7px; }
.mark i { display: inline-block; } .swatch { width: 14px; height: 14px; border-radius: 4px; }
.stroke { width: 20px; height: 3px; border-radius: 2px; }
.sea { fill: var(--sea); } .graticule { stroke: var(--line); stroke-width: 1; } .main { stroke: var(--main); }
.cells path { stroke: var(--card); stroke-width: 0.6; stroke-linejoin: round; }
.m0 { fill: var(--m0); background: var(--m0); } .m1 { fill: var(--m1); background: var(--m1); }
.m2 { fill: var(--m2); background: var(--m2); } .m3 { fill: var(--m3); background: var(--m3); }
.m4 { fill: var(--m4); background: var(--m4); } .m5 { fill: var(--m5); background: var(--m5); }
.band { fill: var(--l0); opacity: 0.1; } .line { fill: none; stroke-width: 2; stroke-linejoin: round; }
.line.l0 { stroke: var(--l0); } .line.l1 { stroke: var(--l1); } .line.l2 { stroke: var(--l2); stroke-dasharray: 5 4; }
.point.l0, .stroke.l0 { fill: var(--l0); background: var(--l0); }
.point.l1, .stroke.l1 { fill: var(--l1); background: var(--l1); }
.point.l2, .stroke.l2 { fill: var(--l2); background: var(--l2); }
@media (max-width: 640px) {
  main { padding: 18px 12px 32px; } section { padding: 16px 14px; border-radius: 10px; }
  .tiles { grid-template-columns: 1fr 1fr; } .tile { padding: 12px; }
  .tile b { font-size: 22px; } h1 { font-size: 22px; }
  svg.map, svg.plot { width: 780px; }
}
@media print { body { background: #fff; } section, .tile { break-inside: avoid; } }
"""
STYLE: Final = (
    f":root {{ color-scheme: light dark; {_LIGHT} }}\n"
    f"@media (prefers-color-scheme: dark) {{ :root {{ {_DARK} }} }}\n{_SHAPES}"
)
