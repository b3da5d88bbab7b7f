(() => {
"use strict";
const byId = (id) => document.getElementById(id);
const make = (tag, attributes, ...children) => {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name === "text") element.textContent = value;
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null));
  return element;
};

/* Light and dark. */
const root = document.documentElement;
const themeButton = byId("theme");
const systemDark = matchMedia("(prefers-color-scheme: dark)");
const remember = (value) => { try { localStorage.setItem("llmkg-theme", value); } catch { /* a page may have no storage */ } };
const remembered = () => { try { return localStorage.getItem("llmkg-theme"); } catch { return null; } };
const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : systemDark.matches);
const showTheme = () => themeButton.setAttribute("aria-pressed", String(isDark()));
if (["light", "dark"].includes(remembered())) root.dataset.theme = remembered();
themeButton.hidden = false;
themeButton.addEventListener("click", () => { root.dataset.theme = isDark() ? "light" : "dark"; remember(root.dataset.theme); showTheme(); });
systemDark.addEventListener("change", showTheme);
showTheme();

/* Tables that can be sorted by a column. */
const valueOf = (row, column, numeric) => {
  const cell = row.cells[column];
  const text = cell.dataset.v ?? cell.textContent.trim();
  if (!numeric) return text.toLowerCase();
  const number = text === "" ? NaN : Number(text);
  return number;
};
const compare = (one, other) => {
  if (typeof one !== "number") return one < other ? -1 : one > other ? 1 : 0;
  if (Number.isNaN(one) || Number.isNaN(other)) return 0;
  return one - other;
};
const sortTable = (table, head, numeric) => {
  const rising = head.getAttribute("aria-sort") === "descending" || (!head.hasAttribute("aria-sort") && !numeric);
  for (const other of table.tHead.querySelectorAll("[aria-sort]")) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", rising ? "ascending" : "descending");
  const rows = [...table.tBodies[0].rows].map((row) => [valueOf(row, head.cellIndex, numeric), row]);
  const blank = ([value]) => typeof value === "number" && Number.isNaN(value);
  const known = rows.filter((row) => !blank(row)).sort((a, b) => (rising ? 1 : -1) * compare(a[0], b[0]));
  table.tBodies[0].append(...known.map((row) => row[1]), ...rows.filter(blank).map((row) => row[1]));
};
for (const table of document.querySelectorAll("table.sortable")) {
  for (const head of table.tHead.querySelectorAll("th[data-sort]")) {
    const button = make("button", { type: "button", class: "sort" });
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => sortTable(table, head, head.dataset.sort === "n"));
  }
}

/* The dialogue browser: an index in columns, of which filters pick rows. */
const index = JSON.parse(byId("llmkg-index").textContent);
const OUTCOMES = { s: "scored", u: "unparsable", n: "no answer", e: "error" };
const COLORS = { s: "scored", u: "unparsable", n: "no_answer", e: "error" };
const PAGE = 50;
const total = index.groups.reduce((sum, group) => sum + group.c.length, 0);
const columns = {
  group: new Int32Array(total), place: new Int32Array(total), model: new Int32Array(total), label: new Int32Array(total),
  case: new Int32Array(total), iteration: new Int32Array(total), score: new Float64Array(total), turns: new Int32Array(total),
  seconds: new Float64Array(total), tokens: new Float64Array(total), failed: new Int32Array(total),
};
const outcomes = new Array(total);
const KINDS_OF_ERROR = index.kinds || [];
const kinds = new Int32Array(total);
let filled = 0;
index.groups.forEach((group, number) => {
  for (let place = 0; place < group.c.length; place += 1) {
    columns.group[filled] = number; columns.place[filled] = place;
    columns.model[filled] = group.m; columns.label[filled] = group.l; columns.case[filled] = group.c[place];
    columns.iteration[filled] = group.i[place]; columns.turns[filled] = group.t[place]; columns.seconds[filled] = group.d[place];
    columns.score[filled] = group.s[place] === null ? NaN : group.s[place];
    columns.tokens[filled] = group.k[place] === null ? NaN : group.k[place];
    columns.failed[filled] = group.x[place];
    outcomes[filled] = group.o[place];
    if (group.r) kinds[filled] = group.r[place];
    filled += 1;
  }
});
const groupStart = [];
index.groups.reduce((sum, group) => { groupStart.push(sum); return sum + group.c.length; }, 0);
const names = { model: index.models, label: index.labels.map((label) => label[0]), case: index.cases };
const tasks = [...new Set(index.labels.map((label) => label[2]))];

const form = byId("filters");
const body = byId("rows");
const status = byId("status");
const detail = byId("dialogue");
let chosen = [];
let page = 0;
let order = { key: "", rising: true };
let current = -1;

const fillSelect = (select, entries) => {
  const before = select.value;
  select.replaceChildren(make("option", { value: "", text: "all" }), ...entries.map(([value, text]) => make("option", { value, text })));
  select.value = entries.some(([value]) => String(value) === before) ? before : "";
};
const numbered = (list) => list.map((name, place) => [String(place), name]);
const fillCases = () => {
  const label = form.elements.label.value;
  const task = form.elements.task.value;
  const found = new Set();
  for (const group of index.groups) {
    if ((label === "" || group.l === Number(label)) && (task === "" || index.labels[group.l][2] === task)) group.c.forEach((c) => found.add(c));
  }
  fillSelect(form.elements.case, [...found].map((c) => [String(c), index.cases[c]]).sort((a, b) => (a[1] < b[1] ? -1 : 1)));
};
const fillLabels = () => {
  const task = form.elements.task.value;
  fillSelect(form.elements.label, numbered(names.label).filter(([place]) => task === "" || index.labels[place][2] === task));
};

const number = (text) => (text.trim() === "" ? null : Number(text));
const filter = () => {
  const fields = form.elements;
  const model = number(fields.model.value);
  const label = number(fields.label.value);
  const one = number(fields.case.value);
  const outcome = fields.outcome.value;
  const low = number(fields.low.value);
  const high = number(fields.high.value);
  const kind = fields.kind && fields.kind.value !== "" ? 1 << Number(fields.kind.value) : 0;
  const words = fields.text.value.toLowerCase().split(/\s+/).filter((word) => word);
  const inTask = index.labels.map((entry) => fields.task.value === "" || entry[2] === fields.task.value);
  const bits = {};
  for (const kind of ["model", "label", "case"]) {
    bits[kind] = names[kind].map((name) => words.reduce((mask, word, place) => mask | (name.toLowerCase().includes(word) ? 1 << place : 0), 0));
  }
  const all = 2 ** Math.min(words.length, 31) - 1;
  chosen = [];
  for (let i = 0; i < total; i += 1) {
    if (model !== null && columns.model[i] !== model) continue;
    if (label !== null && columns.label[i] !== label) continue;
    if (one !== null && columns.case[i] !== one) continue;
    if (outcome !== "" && outcomes[i] !== outcome) continue;
    if (!inTask[columns.label[i]]) continue;
    if (kind && !(kinds[i] & kind)) continue;
    if (low !== null && !(columns.score[i] >= low)) continue;
    if (high !== null && !(columns.score[i] <= high)) continue;
    if (all && ((bits.model[columns.model[i]] | bits.label[columns.label[i]] | bits.case[columns.case[i]]) & all) !== all) continue;
    chosen.push(i);
  }
  sortChosen();
  page = 0;
  showPage();
};
const sortChosen = () => {
  const key = order.key;
  if (!key) return;
  const sign = order.rising ? 1 : -1;
  const names_ = names[key];
  const rank = names_ ? new Map([...names_.keys()].sort((a, b) => (names_[a] < names_[b] ? -1 : 1)).map((place, at) => [place, at])) : null;
  const value = key === "outcome" ? (i) => OUTCOMES[outcomes[i]].charCodeAt(0) : rank ? (i) => rank.get(columns[key][i]) : (i) => columns[key][i];
  const keyed = Float64Array.from(chosen, value);
  const places = chosen.map((_, at) => at).sort((a, b) => {
    const x = keyed[a], y = keyed[b];
    if (Number.isNaN(x) || Number.isNaN(y)) return Number.isNaN(x) - Number.isNaN(y) || a - b;
    return sign * (x - y) || a - b;
  });
  chosen = places.map((at) => chosen[at]);
};
const fragment = (i) => {
  const parts = [names.label[columns.label[i]], names.case[columns.case[i]], names.model[columns.model[i]]].map(encodeURIComponent);
  return `#d=${parts.join("/")}/${columns.iteration[i]}`;
};
const fixed = (value, digits) => (Number.isNaN(value) ? "–" : value.toFixed(digits));
const broken = (name) => name.split(/(?<=[-_/:])|(?<=\.)(?!\d)|(?<=[a-z])(?=[A-Z])/).flatMap((piece, at) => (at ? [make("wbr"), piece] : [piece]));
const badge = (letter) => make("span", { class: `badge ${COLORS[letter]}`, text: OUTCOMES[letter] });
const showPage = () => {
  const pages = Math.max(1, Math.ceil(chosen.length / PAGE));
  page = Math.min(Math.max(page, 0), pages - 1);
  body.replaceChildren(...chosen.slice(page * PAGE, (page + 1) * PAGE).map((i) => make("tr", { class: i === current ? "current" : null },
    make("th", { scope: "row", class: "name" }, make("a", { href: fragment(i) }, ...broken(names.case[columns.case[i]]))),
    make("td", { class: "n", text: columns.iteration[i] }),
    make("td", { class: "name" }, ...broken(names.label[columns.label[i]])),
    make("td", { class: "name" }, ...broken(names.model[columns.model[i]])),
    make("td", {}, badge(outcomes[i])),
    make("td", { class: "n", text: fixed(columns.score[i], 3) }),
    make("td", { class: "n", text: columns.turns[i] }),
    make("td", { class: "n", text: fixed(columns.tokens[i], 0) }),
    make("td", { class: "n", text: fixed(columns.seconds[i], 1) }),
    make("td", { class: "n", text: columns.failed[i] || "" }),
  )));
  status.textContent = chosen.length === 0 ? `None of ${total.toLocaleString("en")} dialogues fits these filters.`
    : `${chosen.length.toLocaleString("en")} of ${total.toLocaleString("en")} dialogues, page ${page + 1} of ${pages}.`;
  for (const [id, off] of [["first-page", page === 0], ["page-before", page === 0], ["page-after", page >= pages - 1], ["last-page", page >= pages - 1]]) byId(id).disabled = off;
};

/* Dialogues: inside the page, or in files beside it. */
let inside = null;
const files = new Map();
const waiting = new Map();
window.llmkgDialogues = (token, file, list, cases) => {
  const call = waiting.get(file);
  if (!call) return;
  waiting.delete(file);
  if (token !== index.token) { call.reject(new Error("The files beside this page belong to another page; write the report again.")); return; }
  const both = [list, cases];
  files.set(file, both);
  if (files.size > 24) files.delete(files.keys().next().value);
  call.resolve(both);
};
const load = (file) => {
  if (files.has(file)) return Promise.resolve(files.get(file));
  if (waiting.has(file)) return waiting.get(file).promise;
  const call = {};
  call.promise = new Promise((resolve, reject) => { call.resolve = resolve; call.reject = reject; });
  waiting.set(file, call);
  const name = `${encodeURIComponent(index.folder)}/g${String(file).padStart(5, "0")}.js`;
  const base = document.querySelector("meta[name=llmkg-files]");
  const script = make("script", { src: (base ? base.content : "") + name });
  script.addEventListener("load", () => script.remove());
  script.addEventListener("error", () => {
    waiting.delete(file); script.remove();
    call.reject(new Error(`${name} cannot be loaded. The folder ${index.folder} must stand beside this page.`));
  });
  document.head.append(script);
  return call.promise;
};
const record = async (i) => {
  const group = index.groups[columns.group[i]];
  const place = columns.place[i];
  if (!group.f) {
    inside = inside || JSON.parse(byId("llmkg-dialogues").textContent);
    const [list, cases] = inside[columns.group[i]];
    if (!list[place]) throw new Error("This dialogue is not in this page, which holds only the first of each model and label; write it with --out FILE.html, or see run.jsonl.");
    return withCase(list[place], cases);
  }
  const [file, start] = group.f.filter(([, first]) => first <= place).at(-1);
  const [list, cases] = await load(file);
  return withCase(list[place - start], cases);
};
const withCase = (data, cases) => {
  const [, references, fields] = cases.find(([id]) => id === data.c) || [data.c, [], []];
  const reference = references.find(([name]) => name === data.r);
  return { ...data, r: reference ? reference.slice(1) : null, isQuery: data.r === "query", f: fields.length ? fields : null };
};

const pre = (cut, kind) => {
  const parts = [make("pre", { class: kind || null, tabindex: "0", text: cut[0] })];
  if (cut.length > 1) parts.push(make("p", { class: "cut", text: `Cut here; the whole text has ${cut[1].toLocaleString("en")} characters and is in run.jsonl.` }));
  return parts;
};
const part = (title, open, ...children) => make("details", { class: "part", open }, make("summary", { text: title }), ...children);
const pairs = (rows, caption) => {
  const table = make("table", { class: "pairs" }, make("caption", { text: caption }));
  table.append(make("tbody", {}, ...rows.map(([name, value, length]) => make("tr", {}, make("th", { scope: "row", text: name }),
    make("td", { text: length === undefined ? value : `${value} … (${length.toLocaleString("en")} characters)` })))));
  return table;
};
const chips = (rows) => make("dl", { class: "chips" }, ...rows.map(([name, value]) => make("div", {}, make("dt", { text: name }), make("dd", { text: value }))));

/* A line diff by the longest common subsequence, for texts that are not too long. */
const diffLines = (before, after) => {
  const a = before.replace(/\s+$/, "").split("\n"), b = after.replace(/\s+$/, "").split("\n");
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start += 1;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end += 1;
  const x = a.slice(start, a.length - end), y = b.slice(start, b.length - end);
  if (x.length * y.length > 4e6) return null;
  const width = y.length + 1;
  const length = new Uint16Array((x.length + 1) * width);
  for (let i = x.length - 1; i >= 0; i -= 1) {
    for (let j = y.length - 1; j >= 0; j -= 1) {
      length[i * width + j] = x[i] === y[j] ? length[(i + 1) * width + j + 1] + 1 : Math.max(length[(i + 1) * width + j], length[i * width + j + 1]);
    }
  }
  const lines = a.slice(0, start).map((line) => [" ", line]);
  let i = 0, j = 0;
  while (i < x.length || j < y.length) {
    if (i < x.length && j < y.length && x[i] === y[j]) { lines.push([" ", x[i]]); i += 1; j += 1; }
    else if (i < x.length && (j === y.length || length[(i + 1) * width + j] >= length[i * width + j + 1])) { lines.push(["−", x[i]]); i += 1; }
    else { lines.push(["+", y[j]]); j += 1; }
  }
  return [...lines, ...a.slice(a.length - end).map((line) => [" ", line])];
};
const KINDS = { "−": "del", "+": "ins", " ": "span" };
/* What is wrong is shown at once; what is right but written otherwise, only when asked for. */
const compared = (reference, answer, full, isQuery) => {
  const lines = diffLines(reference[0], answer[0]);
  if (lines !== null && lines.every(([sign]) => sign === " ")) return make("p", { class: "small", text: "Equal to the reference." });
  const title = !full ? "Compared with the reference" : isQuery ? "Scored 1: another query with the same result" : "Scored 1: written otherwise than the reference";
  return part(title, !full, showDiff(lines));
};
const showDiff = (lines) => {
  if (lines === null) return make("p", { class: "small", text: "Too long for a comparison by lines." });
  const same = lines.filter(([sign]) => sign === " ").length;
  const box = make("pre", { class: "diff", tabindex: "0" });
  box.append(...lines.map(([sign, line]) => make(KINDS[sign], { text: `${sign} ${line}\n` })));
  return make("div", {}, make("p", { class: "small", text: `− only in the reference, + only in the answer; ${same} lines are the same` }), box);
};
const callsTable = (calls, caption) => pairs(calls.map(([error, code, seconds]) => [code === null ? "no status" : `HTTP ${code}`, `${error} (${seconds} s)`]), caption);

const LOOKS = {{ looks|tojson }};
/* Whether a turn has the full score that the task's headline is formed of: "max_combined" of "combined". */
const isFull = (turn, headline) => {
  const name = headline.replace(/^(max|mean|meanExt|last|\d+)_/, "");
  return turn.s.some(([, scores]) => scores.some(([one, value]) => one === name && Number(value) === 1));
};
const showTurn = (turn, place, { r: reference, isQuery }, headline) => {
  const looked = LOOKS.includes(turn.h);
  const box = make("section", { class: "turn", "aria-label": `Turn ${place + 1}` });
  box.append(make("h4", {}, `Turn ${place + 1} `, make("span", looked ? { class: "badge", text: "looked around" } : { class: `badge ${turn.o}`, text: turn.o.replace("_", " ") }), turn.d ? make("span", { class: "small", text: ` ${turn.d} s` }) : null));
  for (const [role, ...text] of turn.p) box.append(part(`Prompt (${role})`, place > 0 || text[0].length < 1500, ...pre(text)));
  if (turn.w) box.append(callsTable(turn.w, "Failed calls before this answer"));
  if (turn.g) box.append(part("Reasoning", false, ...pre(turn.g)));
  box.append(part("Answer", true, ...pre(turn.a, "answer")));
  if (turn.q) box.append(chips(turn.q));
  if (turn.x) box.append(part("Part of the answer that was scored", false, ...pre(turn.x)));
  if (reference && !looked) box.append(compared(reference, turn.x || turn.a, isFull(turn, headline), isQuery));
  for (const [signature, scores] of turn.s) if (scores.length) box.append(make("p", { class: "who", text: `Scores by ${signature}` }), chips(scores));
  if (turn.n) box.append(make("p", { class: "who", text: `Corrected rules treat otherwise: ${turn.n.join(", ")}` }));
  if (turn.k) box.append(part("What the system tells of its work", false, pairs(turn.k, "Told by the system")));
  if (turn.i) box.append(part("Observations", false, pairs(turn.i, "Observations")));
  if (turn.h) box.append(make("p", { class: "hint", text: looked ? `Then the model was told what it saw, or that it may look no more: ${turn.h}` : `Then followed a hint: ${turn.h}` }));
  return box;
};
const showDialogue = (data, i) => {
  const headline = index.labels[columns.label[i]][1];
  const heading = make("h3", { id: "dialogue-heading", tabindex: "-1", text: `${data.l} / ${data.c}` });
  const facts = [["model", data.m], ["iteration", data.i], [headline || "score", fixed(columns.score[i], 3)], ["turns", data.t.length], ["time", `${data.d} s`], ["started", data.b]];
  const at = chosen.indexOf(i);
  const step = (text, target) => make("a", { class: "button", href: target === undefined ? null : fragment(target), "aria-disabled": target === undefined ? "true" : null, role: target === undefined ? "link" : null, text });
  detail.replaceChildren(
    make("div", { class: "steps" }, step("← previous", at > 0 ? chosen[at - 1] : undefined), step("next →", at >= 0 ? chosen[at + 1] : undefined), make("a", { class: "button", href: "#dialogues", text: "to the list" })),
    heading, make("p", {}, badge(outcomes[i]), " ", make("a", { class: "small", href: fragment(i), text: "link to this dialogue" })), chips(facts));
  if (kinds[i]) detail.append(make("p", { class: "hint", text: `Kind of error: ${KINDS_OF_ERROR.filter((_, at) => kinds[i] & (1 << at)).join(", ")}` }));
  if (data.e) detail.append(make("p", { class: "note", text: data.e }));
  data.t.forEach((turn, place) => detail.append(showTurn(turn, place, data, headline)));
  if (data.x) detail.append(callsTable(data.x, "Failed calls of the turn without an answer"));
  if (data.u) detail.append(part("Answer that could not be evaluated", true, ...pre(data.u, "answer")));
  if (data.a) detail.append(make("p", { class: "who", text: "Scores of the whole dialogue" }), chips(data.a));
  if (data.r) detail.append(part("Reference", false, ...pre(data.r)));
  if (data.f) detail.append(part("The case's own fields", false, pairs(data.f, "Case")));
  detail.hidden = false;
  heading.focus({ preventScroll: true });
  detail.scrollIntoView({ block: "start" });
};
const open = async (i) => {
  current = i;
  showPage();
  try {
    const data = await record(i);
    if (current === i) showDialogue(data, i);
  } catch (error) {
    detail.replaceChildren(make("h3", { id: "dialogue-heading", text: "Dialogue" }), make("p", { class: "note", role: "alert", text: error.message }));
    detail.hidden = false;
  }
  detail.dataset.shown = String(i);
};
const decoded = (text) => { try { return decodeURIComponent(text); } catch { return text; } };
const find = (hash) => {
  const raw = hash.slice(3).split("/");
  if (raw.length < 4) return -1;
  const [label, one, model, iteration] = [decoded(raw[0]), decoded(raw[1]), raw.slice(2, -1).map(decoded).join("/"), Number(raw.at(-1))];
  const wanted = [names.model.indexOf(model), names.label.indexOf(label), names.case.indexOf(one)];
  const group = index.groups.findIndex((entry) => entry.m === wanted[0] && entry.l === wanted[1]);
  if (group < 0) return -1;
  const place = index.groups[group].c.findIndex((c, at) => c === wanted[2] && index.groups[group].i[at] === iteration);
  return place < 0 ? -1 : groupStart[group] + place;
};
const route = () => {
  const cell = /^#m(\d+)-([el])(\d+)$/.exec(location.hash);
  if (cell) {
    form.reset(); fillLabels();
    form.elements.model.value = cell[1];
    const field = form.elements[cell[2] === "l" ? "label" : "kind"];
    if (field) field.value = cell[3];
    fillCases(); filter();
    byId("dialogues").scrollIntoView();
  } else if (location.hash.startsWith("#d=")) {
    const found = find(location.hash);
    if (found >= 0) { open(found); return; }
    detail.replaceChildren(make("h3", { id: "dialogue-heading", text: "Dialogue" }), make("p", { class: "note", role: "alert", text: "The dialogue that the address names is not among those of this page." }));
    detail.hidden = false; detail.scrollIntoView();
  } else {
    const target = location.hash.length > 1 ? byId(decoded(location.hash.slice(1))) : null;
    if (target && target.tagName === "DETAILS") target.open = true;
  }
};

fillSelect(form.elements.model, numbered(names.model));
fillSelect(form.elements.task, tasks.map((task) => [task, task]));
if (form.elements.kind) fillSelect(form.elements.kind, numbered(KINDS_OF_ERROR));
fillLabels(); fillCases();
form.addEventListener("input", (event) => {
  if (event.target.name === "task") fillLabels();
  if (event.target.name === "task" || event.target.name === "label") fillCases();
  filter();
});
form.addEventListener("submit", (event) => event.preventDefault());
form.addEventListener("reset", () => setTimeout(() => { fillLabels(); fillCases(); filter(); }));
for (const [id, move] of [["first-page", () => 0], ["page-before", () => page - 1], ["page-after", () => page + 1], ["last-page", () => Infinity]]) {
  byId(id).addEventListener("click", () => { page = move(); showPage(); });
}
for (const head of byId("dialogue-table").tHead.querySelectorAll("th[data-key]")) {
  const button = make("button", { type: "button", class: "sort" });
  button.append(...head.childNodes);
  head.append(button);
  button.addEventListener("click", () => {
    order = { key: head.dataset.key, rising: order.key === head.dataset.key ? !order.rising : true };
    for (const other of head.parentNode.querySelectorAll("[aria-sort]")) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", order.rising ? "ascending" : "descending");
    filter();
  });
}
byId("browser").hidden = false;
filter();
addEventListener("hashchange", route);
route();
root.dataset.ready = "yes";
})();
