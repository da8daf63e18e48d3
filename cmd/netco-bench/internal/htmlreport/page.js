"use strict";
(() => {
  const root = document.documentElement;
  const height = 288; // of a chart without its legend, in CSS pixels
  const paperWidth = 640;
  const dashes = [[], [8, 4], [2, 3], [10, 4, 2, 4], [14, 4], [4, 4], [1, 4], [6, 2]];
  const colour = name => getComputedStyle(root).getPropertyValue(name).trim();
  const short = v => String(+v.toPrecision(3));
  const scaled = (v, steps) => {
    for (const [size, unit] of steps) if (Math.abs(v) >= size) return short(v / size) + unit;
    return short(v / steps.at(-1)[0]) + (v ? steps.at(-1)[1] : "");
  };
  const percentile = v => {
    const p = 100 * (1 - 1 / v);
    return +p.toFixed(Math.max(0, Math.ceil(Math.log10(v)) - 1));
  };
  const units = {
    "ns": v => scaled(v, [[1e9, " s"], [1e6, " ms"], [1e3, " µs"], [1, " ns"]]),
    "/s": v => scaled(v, [[1e6, "M/s"], [1e3, "k/s"], [1, "/s"]]),
    "B/s": v => scaled(v, [[2 ** 30, " GiB/s"], [2 ** 20, " MiB/s"], [2 ** 10, " KiB/s"], [1, " B/s"]]),
    "count": v => scaled(v, [[1e6, "M"], [1e3, "k"], [1, ""]]),
    "s": v => short(v) + " s",
    "percentile": percentile,
  };
  const show = unit => v => v == null ? "–" : units[unit](v);
  // On a log scale uPlot splits each power of ten into nine. Only the powers get
  // a line and a label.
  const power = v => Math.abs(Math.log10(v) - Math.round(Math.log10(v))) < 1e-9;
  const powers = (u, splits) => splits.map(v => v > 0 && power(v) ? v : null);
  const axis = (unit, label, log, side) => ({
    stroke: () => colour("--quiet"), grid: {stroke: () => colour("--line"), width: 1, ...(log ? {filter: powers} : {})},
    ticks: {stroke: () => colour("--line"), width: 1},
    font: "12px system-ui, sans-serif", labelFont: "12px system-ui, sans-serif", label, labelSize: 18,
    size: side === 3 ? 62 : 34, side, ...(log ? {filter: powers} : {}), space: unit === "percentile" ? 44 : side === 3 ? 36 : 64,
    values: (u, splits) => splits.map(v => v == null ? null : units[unit](v)),
  });
  const marks = list => u => {
    const ctx = u.ctx, {left, top, width, height} = u.bbox, px = devicePixelRatio;
    ctx.save();
    ctx.strokeStyle = ctx.fillStyle = colour("--quiet");
    ctx.font = `${12 * px}px system-ui, sans-serif`;
    ctx.setLineDash([4 * px, 4 * px]);
    for (const {x, text} of list) {
      const at = u.valToPos(x, "x", true);
      if (at < left || at > left + width) continue;
      ctx.beginPath(); ctx.moveTo(at, top); ctx.lineTo(at, top + height); ctx.stroke();
      const fits = at + ctx.measureText(text).width + 6 * px < left + width;
      ctx.textAlign = fits ? "left" : "right";
      ctx.fillText(text, at + (fits ? 4 : -4) * px, top + 14 * px);
    }
    ctx.restore();
  };
  const draw = figure => {
    const c = JSON.parse(figure.querySelector("script").textContent);
    const place = figure.querySelector(".plot");
    const scale = log => log ? {distr: 3, log: 10} : {};
    const opts = {
      width: place.clientWidth, height,
      scales: {
        x: {time: false, ...scale(c.xLog)},
        y: c.yLog ? scale(true) : {range: (u, low, high) => [0, high > 0 ? high * 1.08 : 1]},
      },
      cursor: {drag: {x: true, y: false}},
      axes: [axis(c.xUnit, c.xLabel, c.xLog, 2), axis(c.yUnit, c.yLabel, c.yLog, 3)],
      series: [{label: c.xLabel, value: (u, v) => show(c.xUnit)(v)}, ...c.series.map((s, i) => ({
        label: s.name, stroke: () => colour("--s" + i % 8), width: 2, dash: dashes[i % 8], spanGaps: true,
        points: {show: s.points || s.y.length < 3, size: 6, fill: () => colour("--s" + i % 8)},
        value: (u, v) => show(c.yUnit)(v),
      }))],
      hooks: {draw: c.marks && c.marks.length ? [marks(c.marks)] : []},
    };
    const y = c.series.map(s => c.yLog ? s.y.map(v => v > 0 ? v : null) : s.y);
    return {place, plot: new uPlot(opts, [c.x, ...y], place)};
  };
  const plots = [...document.querySelectorAll("figure.chart")].map(draw);
  const fit = ({place, plot}, width = place.clientWidth) => {
    if (width > 0 && width !== plot.width) plot.setSize({width, height});
  };
  const seen = new ResizeObserver(() => requestAnimationFrame(() => {
    if (!root.classList.contains("paper")) plots.forEach(p => fit(p));
  }));
  plots.forEach(p => seen.observe(p.place));
  const repaint = () => plots.forEach(p => p.plot.redraw(false, true));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
  // Paper is light and narrower than most windows.
  addEventListener("beforeprint", () => {
    root.classList.add("paper");
    plots.forEach(p => fit(p, paperWidth));
    repaint();
  });
  addEventListener("afterprint", () => {
    root.classList.remove("paper");
    plots.forEach(p => fit(p));
    repaint();
  });
})();
