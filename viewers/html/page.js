"use strict";
(() => {
  const { figures, verifies } = JSON.parse(document.getElementById("figures-data").textContent);
  const root = document.documentElement;
  const told = document.getElementById("told");
  const PAPER_WIDTH = 640;
  const config = { displaylogo: false, responsive: true, modeBarButtonsToRemove: ["select2d", "lasso2d"] };
  const drawn = new Set();

  // Colours travel as names of the page's variables, so that a figure follows light, dark and paper.
  function coloured(value, key) {
    if (typeof value === "string") {
      const name = /color(scale)?$/.test(key.toLowerCase()) ? /^var\((--[\w-]+)\)$/.exec(value) : null;
      return name ? getComputedStyle(root).getPropertyValue(name[1]).trim() : value;
    }
    if (Array.isArray(value)) {
      return typeof value[value.length - 1] === "number" ? value : value.map((item) => coloured(item, key));
    }
    if (value === null || typeof value !== "object") return value;
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, coloured(item, name)]));
  }

  // A map says in words what its numbers mean: which pages, their use, and who holds them.
  function named(trace) {
    if (!trace.meta || !trace.meta.names) return trace;
    const { names, holders, block, last, unheld } = trace.meta;
    const who = (number, value) => {
      if (number === -1) return "";
      const name = number < 0 ? "several requests" : holders[number];
      return value === unheld ? `, last granted to ${name}` : `, ${name}`;
    };
    const text = trace.z.map((row, at) => {
      const first = trace.y[at];
      const pages = block > 1 ? `pages ${first} to ${Math.min(first + block - 1, last)}` : `page ${first}`;
      return row.map((value, x) => `${pages}: ${names[value]}${who(trace.customdata[at][x], value)}`);
    });
    return { ...trace, text };
  }

  // Theme, paper and choice may change before plotly's own script is read; it draws as they are then.
  function draw(figure) {
    const place = document.getElementById(figure.id);
    if (!window.Plotly || place.closest("[hidden]")) return;
    const layout = coloured(figure.layout, "");
    if (root.classList.contains("paper")) layout.width = PAPER_WIDTH;
    else if (drawn.has(figure.id)) layout.width = place.clientWidth; // plotly keeps that of paper
    Plotly.react(place, coloured(figure.data, "").map(named), layout, config);
    if (!drawn.has(figure.id)) {
      drawn.add(figure.id);
      place.on("plotly_click", (event) => goToStep(figure, event.points[0]));
    }
  }

  function drawAll() {
    figures.forEach(draw);
  }

  // One figure at a time, so that the page never stops answering.
  function drawSlowly(rest) {
    if (!rest.length) return;
    if (!drawn.has(rest[0].id)) draw(rest[0]);
    setTimeout(() => drawSlowly(rest.slice(1)), 0);
  }

  // Traces name their request by its place in the list; the reserve is tinted where one stands alone.
  function choose(select) {
    const figure = figures.find((each) => each.id === select.dataset.figure);
    const all = select.value === "all";
    figure.data.forEach((trace) => {
      trace.visible = all || trace.meta.request === Number(select.value);
      trace.fill = !all && trace.meta.length === "allocated" ? "tonexty" : "none";
    });
    draw(figure);
  }

  // A point stands for a span of steps: of those in the page the bad one opens, else the first.
  function goToStep(figure, point) {
    if (!figure.span) return;
    const process = figure.id.split("-")[1];
    const first = Math.round(point.x);
    const last = first + figure.span - 1;
    const there = [...document.querySelectorAll(`[id^="step-${process}-"][role=tab]`)].filter((tab) => {
      const step = Number(tab.id.split("-")[2]);
      return step >= first && step <= last;
    });
    const tab = there.find((each) => each.textContent.includes("✗")) || there[0];
    if (tab) {
      select(tab);
      tab.focus();
      tab.scrollIntoView({ block: "start" });
    } else {
      told.textContent = advice(process, first, last);
      told.scrollIntoView({ block: "center" });
    }
  }

  // Only a step with a verify can be asked for.
  function advice(process, first, last) {
    const span = first === last ? `Step ${first}` : `Steps ${first} to ${last}`;
    const runs = verifies[process];
    const run = runs ? runs.find(([start, end]) => start <= last && end >= first) : [first, last];
    if (!run) return `${span}: no verify was recorded there.`;
    const from = Math.max(first, run[0]);
    return `${span}: not in this file. Write the report with --steps ${from}:${Math.min(Math.max(last, from + 4), from + 99)} to have it.`;
  }

  // Only what scrolls is a stop on the way with Tab; without this script every box that might is one.
  const names = new Map();
  const boxes = new ResizeObserver((seen) => seen.forEach(({ target }) => {
    const scrolls = target.scrollWidth > target.clientWidth;
    const stop = { tabindex: "0", role: "region", "aria-label": names.get(target) };
    Object.entries(stop).forEach(([name, value]) => {
      if (scrolls) target.setAttribute(name, value);
      else target.removeAttribute(name);
    });
  }));

  function tabsOf(tab) {
    return [...tab.closest("[role=tablist]").querySelectorAll("[role=tab]")];
  }

  function select(tab) {
    tabsOf(tab).forEach((each) => {
      const chosen = each === tab;
      each.setAttribute("aria-selected", chosen);
      each.tabIndex = chosen ? 0 : -1;
      document.getElementById(each.getAttribute("aria-controls")).hidden = !chosen;
    });
    if (tab.closest("#figures")) drawAll();
  }

  function walk(event) {
    const all = tabsOf(event.target);
    const here = all.indexOf(event.target);
    const to = { ArrowRight: here + 1, ArrowLeft: here - 1, Home: 0, End: all.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    const next = all[(to + all.length) % all.length];
    select(next);
    next.focus();
  }

  function goToFinding(step) {
    const findings = [...document.querySelectorAll("article.finding")];
    if (!findings.length) return;
    const here = findings.indexOf(document.activeElement.closest("article.finding"));
    const next = here < 0 && step < 0 ? findings.length - 1 : (here + step + findings.length) % findings.length;
    findings[next].focus();
    findings[next].scrollIntoView({ block: "start" });
  }

  // Paper is light, narrow and can't be clicked.
  let opened = [];
  let hidden = [];
  function toPaper() {
    opened = [...document.querySelectorAll("details:not([open])")];
    opened.forEach((fold) => { fold.open = true; });
    hidden = [...document.querySelectorAll("[role=tabpanel][hidden]")];
    hidden.forEach((panel) => { panel.hidden = false; });
    root.classList.add("paper");
    drawAll();
  }
  function toScreen() {
    opened.forEach((fold) => { fold.open = false; });
    hidden.forEach((panel) => { panel.hidden = true; });
    root.classList.remove("paper");
    drawAll();
  }

  document.querySelectorAll(".scroll").forEach((box) => {
    names.set(box, box.getAttribute("aria-label"));
    boxes.observe(box);
  });
  document.querySelectorAll("[role=tablist]").forEach((list) => {
    const all = [...list.querySelectorAll("[role=tab]")];
    all.forEach((tab) => tab.addEventListener("click", () => select(tab)));
    list.addEventListener("keydown", walk);
    select(all.find((tab) => tab.textContent.includes("✗")) || all[0]);
  });
  document.querySelectorAll("select[data-figure]").forEach((each) => {
    each.addEventListener("change", () => choose(each));
  });
  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest("select, input, textarea");
    if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "n") goToFinding(1);
    if (event.key === "N") goToFinding(-1);
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
  addEventListener("beforeprint", toPaper);
  addEventListener("afterprint", toScreen);
  // Plotly's own script stands behind this one: everything else answers before it is read.
  addEventListener("DOMContentLoaded", () => drawSlowly(figures));
})();
