"use strict";
(() => {
  const figures = JSON.parse(document.getElementById("figures-data").textContent);
  const root = document.documentElement;
  const PAPER_WIDTH = 640;
  const config = { displaylogo: false, responsive: true, modeBarButtonsToRemove: ["select2d", "lasso2d"] };

  // Colours travel as names of the page's variables, so that a figure follows light, dark and paper.
  function coloured(value, key) {
    if (typeof value === "string") {
      const name = key.toLowerCase().endsWith("color") ? /^var\((--[\w-]+)\)$/.exec(value) : null;
      return name ? getComputedStyle(root).getPropertyValue(name[1]).trim() : value;
    }
    if (Array.isArray(value)) return value.map((item) => coloured(item, key));
    if (value === null || typeof value !== "object") return value;
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, coloured(item, name)]));
  }

  function draw(figure) {
    const layout = coloured(figure.layout, "");
    if (root.classList.contains("paper")) layout.width = PAPER_WIDTH;
    return Plotly.react(figure.id, coloured(figure.data, ""), layout, config);
  }

  function drawAll() {
    figures.forEach(draw);
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
  function toPaper() {
    opened = [...document.querySelectorAll("details:not([open])")];
    opened.forEach((fold) => { fold.open = true; });
    root.classList.add("paper");
    drawAll();
  }
  function toScreen() {
    opened.forEach((fold) => { fold.open = false; });
    root.classList.remove("paper");
    drawAll();
  }

  document.querySelectorAll("select[data-figure]").forEach((select) => {
    select.addEventListener("change", () => choose(select));
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
  drawAll();
})();
