"use strict";
const byId = (id) => document.getElementById(id);
const state = { model: null, info: null, tab: "json", rates: [], latencies: [], last: null, file: null, key: "" };

function headers(more) {
  return state.key ? { ...more, "x-api-key": state.key } : { ...more };
}

async function getJson(path) {
  const answer = await fetch(path, { headers: headers() });
  if (answer.status === 401) byId("key-label").hidden = false;
  const body = await answer.json();
  if (!answer.ok && answer.status !== 503) throw new Error(body.error);
  return body;
}

function element(name, text, parent) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (parent) parent.append(made);
  return made;
}

function shapeText(shape) {
  return shape ? "[" + shape.map((size) => (size === null ? "?" : size)).join(", ") + "]" : "any";
}

function rowShape() {
  const input = state.info && state.info.inputs.length === 1 ? state.info.inputs[0] : null;
  if (!input || !input.shape) return null;
  const rest = input.shape.slice(1);
  return rest.every((size) => Number.isInteger(size)) ? rest : null;
}

function pictureSize() {
  // height and width when one row of the only input is a grey picture, flat or not
  const shape = rowShape();
  if (!shape) return null;
  const count = shape.reduce((product, size) => product * size, 1);
  const sides = shape.filter((size) => size !== 1);
  if (sides.length === 2 && shape.length <= 3 && sides[0] <= 64 && sides[1] <= 64) return sides;
  if (sides.length === 1 && (count === 784 || count === 64)) return [Math.sqrt(count), Math.sqrt(count)];
  return null;
}

function showTab(name) {
  state.tab = name;
  for (const button of document.querySelectorAll("[data-tab]")) {
    button.setAttribute("aria-selected", String(button.dataset.tab === name));
    byId("tab-" + button.dataset.tab).hidden = button.dataset.tab !== name;
  }
}

function showCard() {
  const info = state.info, card = byId("card"), body = byId("tensors").tBodies[0];
  card.replaceChildren();
  const facts = {
    version: info.version, platform: info.platform, device: info.device,
    parameters: Number(info.parameters).toLocaleString(),
    batching: info.batching.enabled ? "up to " + info.batching.max_batch_size + " rows" : "off",
  };
  if (info.metadata.producer) facts.producer = info.metadata.producer + " " + (info.metadata.producer_version || "");
  for (const [name, value] of Object.entries(facts)) { element("dt", name, card); element("dd", value, card); }
  body.replaceChildren();
  for (const kind of ["inputs", "outputs"]) {
    for (const tensor of info[kind]) {
      const row = element("tr", undefined, body);
      element("td", kind.slice(0, -1), row); element("td", tensor.name, row);
      element("td", tensor.datatype || "any", row); element("td", shapeText(tensor.shape), row);
    }
  }
}

function exampleBody() {
  const values = (shape) => {
    if (!shape) return [0];
    const sizes = shape.map((size) => (Number.isInteger(size) ? size : 1));
    const build = (dim) => dim === sizes.length ? 0 : Array.from({ length: sizes[dim] }, () => build(dim + 1));
    return sizes.reduce((product, size) => product * size, 1) > 4096 ? [0] : build(0);
  };
  const inputs = state.info.inputs;
  if (inputs.length === 1) return JSON.stringify({ input: values(inputs[0].shape) });
  return JSON.stringify({ inputs: Object.fromEntries(inputs.map((each) => [each.name, values(each.shape)])) });
}

async function chooseModel(name) {
  state.model = name;
  state.info = null;
  state.last = null; state.rates = []; state.latencies = [];
  state.info = await getJson("models/" + encodeURIComponent(name) + "/info");
  showCard();
  byId("body").value = exampleBody();
  const drawable = pictureSize() !== null, shape = rowShape();
  const pictures = state.info.preprocessing || (shape && (shape.length === 3 || shape.length === 2));
  document.querySelector("[data-tab=draw]").hidden = !drawable;
  byId("pixels-label").hidden = Boolean(state.info.preprocessing);
  document.querySelector("[data-tab=image]").hidden = !pictures;
  showTab(drawable ? "draw" : pictures ? "image" : "json");
}

function drawnValues() {
  const [height, width] = pictureSize();
  const small = document.createElement("canvas");
  small.width = width; small.height = height;
  const context = small.getContext("2d");
  context.imageSmoothingQuality = "high";
  context.drawImage(byId("canvas"), 0, 0, width, height);
  const pixels = context.getImageData(0, 0, width, height).data;
  const steps = state.info.preprocessing || {};
  const scale = steps.scale || Number(byId("pixels").value), mean = (steps.mean || [0])[0], deviation = (steps.std || [1])[0];
  return Array.from({ length: width * height }, (_, place) => (pixels[place * 4] / scale - mean) / deviation);
}

async function send() {
  const path = "models/" + encodeURIComponent(state.model) + "/predict";
  let body, kind = "application/json";
  if (state.tab === "draw") body = JSON.stringify({ input: drawnValues() });
  else if (state.tab === "image") {
    if (!state.file) { showAnswer("choose a picture first", false); return; }
    body = state.file; kind = state.file.type;
  } else body = byId("body").value;
  const begin = performance.now();
  try {
    const answer = await fetch(path, { method: "POST", body, headers: headers({ "content-type": kind }) });
    const found = await answer.json();
    byId("took").textContent = answer.ok ? found.inference_time_ms.toFixed(2) + " ms in the server, " + (performance.now() - begin).toFixed(1) + " ms here" : "";
    showAnswer(readable(found), answer.ok);
    showBars(answer.ok ? found.output : null);
    showCommand(path, body, kind);
  } catch (error) { showAnswer(String(error), false); }
}

function readable(value) {
  // indented, but lists of numbers on one line
  return JSON.stringify(value, null, 1).replace(/\[[\s\d.,eE+-]*\]/g, (list) => list.replace(/\s+/g, " "));
}

function showCommand(path, body, kind) {
  const address = new URL(path, location.href).href;
  const data = typeof body === "string" ? (body.length > 400 ? "@body.json" : "'" + body.replaceAll("'", "'\\''") + "'") : "@" + body.name;
  byId("curl").textContent = "curl " + address + " \\\n  -H 'content-type: " + kind + "'" + (state.key ? " \\\n  -H 'x-api-key: ...'" : "") + " \\\n  --data-binary " + data;
  byId("command").hidden = false;
}

function showAnswer(text, good) {
  byId("answer").textContent = text;
  byId("answer").classList.toggle("bad", !good);
}

function showBars(values) {
  const bars = byId("bars");
  bars.replaceChildren();
  if (!Array.isArray(values) || values.length < 2 || values.length > 1000 || !values.every((each) => typeof each === "number")) return;
  const order = values.map((value, index) => [value, index]).sort((a, b) => b[0] - a[0]).slice(0, 10);
  const low = Math.min(...values), high = Math.max(...values);
  order.forEach(([value, index], place) => {
    const bar = element("div", undefined, bars);
    bar.className = place === 0 ? "bar best" : "bar";
    element("span", String(index), bar);
    const filled = element("i", undefined, bar);
    filled.style.width = (high > low ? ((value - low) / (high - low)) * 100 : 0) + "%";
    element("span", value.toPrecision(4), bar);
  });
}

function plot(svg, lines) {
  const high = Math.max(1e-9, ...lines.flatMap((line) => line.values));
  svg.replaceChildren();
  for (const line of lines) {
    const shape = document.createElementNS("http://www.w3.org/2000/svg", "polyline");
    const step = 300 / 59;
    const begin = 60 - line.values.length; // the latest is at the right
    shape.setAttribute("points", line.values.map((value, place) => ((begin + place) * step).toFixed(1) + "," + (76 - (value / high) * 70).toFixed(1)).join(" "));
    shape.setAttribute("fill", "none"); shape.setAttribute("stroke", line.color); shape.setAttribute("stroke-width", "2");
    shape.setAttribute("vector-effect", "non-scaling-stroke");
    svg.append(shape);
  }
  const label = svg.parentNode.querySelector("small") || element("small", undefined, svg.parentNode);
  label.textContent = high > 1e-9 ? high.toPrecision(3) : "";
}

function kept(list, value) { list.push(value); if (list.length > 60) list.shift(); }

async function refresh() {
  try {
    const health = await getJson("health");
    byId("health").textContent = health.status;
    byId("health").className = "badge " + (health.status === "healthy" ? "good" : "bad");
    const names = [...new Set(health.models.map((each) => each.name))];
    const select = byId("model");
    if (names.join() !== [...select.options].map((each) => each.value).join()) {
      select.replaceChildren(...names.map((name) => new Option(name, name)));
      if (names.includes(state.model)) select.value = state.model;
    }
    if (names.length && !(state.info && names.includes(state.model))) { // also when a key was missing before
      await chooseModel(names.includes(state.model) ? state.model : names[0]);
      select.value = state.model;
    }
    if (!state.model) return;
    const stats = (await getJson("models/" + encodeURIComponent(state.model) + "/info")).stats;
    const now = performance.now();
    if (state.last) {
      const rate = ((stats.request_count - state.last.count) / (now - state.last.time)) * 1000;
      kept(state.rates, Math.max(0, rate));
      kept(state.latencies, [stats.p50_compute_ms + stats.p50_queue_ms, stats.p99_compute_ms]);
      byId("rate").textContent = rate.toFixed(1);
      plot(byId("rate-plot"), [{ values: state.rates, color: "#d9480f" }]);
      plot(byId("latency-plot"), [{ values: state.latencies.map((each) => each[0]), color: "#1971c2" }, { values: state.latencies.map((each) => each[1]), color: "#d9480f" }]);
    }
    state.last = { count: stats.request_count, time: now };
    byId("median").textContent = (stats.p50_compute_ms + stats.p50_queue_ms).toFixed(2);
    byId("tail").textContent = stats.p99_compute_ms.toFixed(2);
    byId("batch").textContent = stats.mean_batch_size;
    byId("depth").textContent = stats.queue_depth;
  } catch (error) {
    byId("health").textContent = "no answer";
    byId("health").className = "badge bad";
  }
}

function setUpDrawing() {
  const canvas = byId("canvas"), context = canvas.getContext("2d");
  const clear = () => { context.fillStyle = "#000"; context.fillRect(0, 0, 280, 280); byId("bars").replaceChildren(); };
  const at = (event) => { const box = canvas.getBoundingClientRect(); return [((event.clientX - box.left) / box.width) * 280, ((event.clientY - box.top) / box.height) * 280]; };
  let last = null;
  context.lineWidth = 22; context.lineCap = "round"; context.strokeStyle = "#fff";
  clear();
  canvas.addEventListener("pointerdown", (event) => { last = at(event); canvas.setPointerCapture(event.pointerId); });
  canvas.addEventListener("pointermove", (event) => {
    if (!last) return;
    const next = at(event);
    context.beginPath(); context.moveTo(...last); context.lineTo(...next); context.stroke();
    last = next;
  });
  canvas.addEventListener("pointerup", () => { last = null; send(); });
  byId("clear").addEventListener("click", clear);
}

document.addEventListener("DOMContentLoaded", () => {
  setUpDrawing();
  for (const button of document.querySelectorAll("[data-tab]")) button.addEventListener("click", () => showTab(button.dataset.tab));
  byId("send").addEventListener("click", send);
  byId("model").addEventListener("change", (event) => chooseModel(event.target.value));
  byId("key").addEventListener("change", (event) => { state.key = event.target.value; refresh(); });
  byId("file").addEventListener("change", (event) => {
    state.file = event.target.files[0] || null;
    const preview = byId("preview");
    preview.hidden = !state.file;
    if (state.file) preview.src = URL.createObjectURL(state.file);
  });
  refresh();
  setInterval(refresh, 1000);
});
