// Runs in the file of a view, beside viser's player: title, legend, layers, and curves with the time of the player.
(() => {
  const data = DATA;
  const style = document.createElement("style");
  style.textContent = `
    #trajopt { position: fixed; top: 10px; right: 10px; width: 290px; max-height: calc(100% - 70px); overflow: auto;
      z-index: 5; box-sizing: border-box; padding: 8px 12px; border: 1px solid #ddd; border-radius: 4px;
      background: rgba(255, 255, 255, 0.92); color: #222; font: 13px/1.4 system-ui, sans-serif; }
    #trajopt summary { font-weight: 600; cursor: pointer; overflow-wrap: anywhere; }
    #trajopt p { margin: 2px 0 6px; color: #666; font-size: 12px; }
    #trajopt label { display: flex; align-items: center; gap: 6px; margin: 2px 0; }
    #trajopt label i { flex: none; width: 14px; height: 10px; border-radius: 2px; }
    #trajopt small, #trajopt .key { color: #666; font-size: 11px; }
    #trajopt select { width: 100%; margin-top: 8px; }
    #trajopt svg { display: block; width: 100%; height: 170px; overflow: visible; }
    #trajopt .key span { display: inline-block; margin-right: 8px; white-space: nowrap; }`;
  const make = (tag, content, parent) => {
    const element = document.createElement(tag);
    element.textContent = content;
    parent.append(element);
    return element;
  };
  const panel = document.createElement("details");
  panel.id = "trajopt";
  panel.open = window.innerWidth >= 600;
  make("summary", data.title, panel);
  make("p", data.words, panel);

  // viser draws what messages say; a node that is sent again keeps whether it is visible
  const show = (path, visible) => {
    const viewer = window.__viserMutable;
    viewer.messageQueue.push({ type: "SetSceneNodeVisibilityMessage", name: path, visible });
    viewer.requestRender();
  };
  const boxes = data.layers.map((layer) => {
    const label = make("label", "", panel), box = make("input", "", label), swatch = make("i", "", label);
    box.type = "checkbox";
    box.checked = layer.on;
    swatch.style.background = layer.color;
    make("span", layer.label, label);
    if (layer.note) make("small", layer.note, label);
    box.addEventListener("change", () => show(layer.path, box.checked));
    return box;
  });
  const present = () => window.__viserSceneTree && window.__viserMutable
    && data.layers.every((layer) => window.__viserSceneTree.getState()[layer.path]);
  const begin = () => present()
    ? data.layers.forEach((layer, i) => show(layer.path, boxes[i].checked)) : setTimeout(begin, 30);
  begin();

  // viser's player has no handle: its slider, a component of React, has a function that moves to a time and pauses
  const goTo = (t) => {
    const thumb = document.querySelector("[role=slider]");
    let part = thumb[Object.keys(thumb).find((name) => name.startsWith("__reactFiber$"))];
    const moves = (props) => props && typeof props.onChange === "function" && "max" in props;
    while (part && !moves(part.memoizedProps)) part = part.return;
    if (part) part.memoizedProps.onChange(t + 1e-7);  // messages of this time come before it
  };
  document.documentElement.addEventListener("keydown", (event) => {
    const typing = event.target.closest("input:not([type=checkbox]), select, textarea");
    if (typing || !document.querySelector("[role=slider]") || event.ctrlKey || event.altKey || event.metaKey) return;
    if (event.code === "Space" && event.target.closest("button")) event.target.blur();  // or it plays and pauses
    if (event.code !== "ArrowLeft" && event.code !== "ArrowRight") return;
    event.preventDefault();
    event.stopPropagation();  // viser's camera listens at the document
    const now = time(), next = event.code === "ArrowRight"
      ? data.stops.find((t) => t > now + 2e-6) ?? data.stops.at(-1)
      : data.stops.findLast((t) => t < now - 2e-6) ?? data.stops[0];
    goTo(next);
  });
  panel.addEventListener("click", (event) => {  // then space plays again
    if (event.detail && !event.target.closest("select")) document.activeElement.blur();
  });

  const time = () => Number((document.querySelector("[role=slider]") || { ariaValueNow: 0 }).ariaValueNow);
  if (data.charts.length) {
    const W = 266, H = 170, LEFT = 40, BOTTOM = 18;
    const choice = make("select", "", panel), svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    svg.setAttribute("viewBox", `0 0 ${W} ${H}`);
    panel.append(svg);
    const key = make("div", "", panel);
    key.className = "key";
    data.charts.forEach((chart, i) => { make("option", chart.title, choice).value = i; });
    const short = (value) => Number(value.toPrecision(3)).toString();
    const draw = (tag, looks, content = "") => {
      const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
      Object.entries(looks).forEach(([name, value]) => element.setAttribute(name, value));
      element.textContent = content;
      svg.append(element);
      return element;
    };
    let chart, cursor, values, hovered = null;
    const x = (t) => LEFT + (W - LEFT - 4) * (t - chart.times[0]) / (chart.times.at(-1) - chart.times[0] || 1);
    const y = (v) => 6 + (H - BOTTOM - 6) * (chart.high - v) / (chart.high - chart.low);
    const select = () => {
      chart = data.charts[choice.value];
      svg.replaceChildren();
      key.replaceChildren();
      const text = { "font-size": 10, fill: "#666" };
      for (const part of [0, 0.5, 1]) {
        const v = chart.low + part * (chart.high - chart.low), t = part * chart.times.at(-1);
        draw("line", { x1: LEFT, x2: W - 4, y1: y(v), y2: y(v), stroke: "#e4e4e4" });
        draw("text", { ...text, x: LEFT - 4, y: y(v) + 3, "text-anchor": "end" }, short(v));
        draw("text", { ...text, x: x(t), y: H - 5, "text-anchor": ["start", "middle", "end"][2 * part] },
          short(t) + (part ? " s" : ""));
      }
      chart.values.forEach((row, i) => {
        let path = "", pen = "M";
        row.forEach((v, k) => {
          if (v === null) pen = "M"; else { path += `${pen}${x(chart.times[k]).toFixed(1)},${y(v).toFixed(1)}`; pen = "L"; }
        });
        draw("path", { d: path, fill: "none", stroke: data.palette[i % data.palette.length], "stroke-width": 1.5 });
      });
      cursor = draw("line", { y1: 6, y2: H - BOTTOM, stroke: "#8a8a8a", "stroke-width": 1.5 });
      values = chart.names.map((name, i) => {
        const entry = make("span", "", key);
        make("b", name + " ", entry).style.color = data.palette[i % data.palette.length];
        return make("span", "", entry);
      });
    };
    const follow = () => {
      const now = hovered === null ? time() : hovered;
      const place = Math.min(Math.max(now, chart.times[0]), chart.times.at(-1));
      cursor.setAttribute("x1", x(place));
      cursor.setAttribute("x2", x(place));
      const k = Math.max(chart.times.findLastIndex((t) => t <= place + 1e-9), 0);
      chart.values.forEach((row, i) => { values[i].textContent = row[k] === null ? "" : short(row[k]); });
      requestAnimationFrame(follow);
    };
    svg.addEventListener("mousemove", (event) => {
      const box = svg.getBoundingClientRect(), part = ((event.clientX - box.left) / box.width * W - LEFT) / (W - LEFT - 4);
      hovered = chart.times[0] + part * (chart.times.at(-1) - chart.times[0]);
    });
    svg.addEventListener("mouseleave", () => { hovered = null; });
    choice.addEventListener("change", () => { select(); choice.blur(); });
    select();
    requestAnimationFrame(follow);
  }
  document.head.append(style);
  document.body.append(panel);
})();
