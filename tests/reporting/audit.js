/* An accessibility check of the basics, by rules of the Web Content Accessibility Guidelines 2.2: a list of complaints. */
(() => {
  const found = [];
  const say = (rule, element, more = "") => found.push(`${rule}: ${element.outerHTML.slice(0, 160)} ${more}`);
  const shown = (element) => element.checkVisibility({ checkOpacity: true, checkVisibilityCSS: true, contentVisibilityAuto: false });
  const text = (ids) => (ids || "").split(/\s+/).filter((id) => id).map((id) => document.getElementById(id)?.textContent ?? "").join(" ").trim();
  const nameOf = (element) => (element.getAttribute("aria-label") || text(element.getAttribute("aria-labelledby"))
    || [...(element.labels || [])].map((label) => label.textContent).join(" ").trim()
    || (["A", "BUTTON", "SUMMARY", "TH", "CAPTION"].includes(element.tagName) ? element.textContent.trim() : "") || element.title || "").trim();

  if (!document.documentElement.lang) say("page language", document.documentElement);
  if (!document.title) say("page title", document.head);
  if (document.querySelectorAll("main").length !== 1) say("one main", document.body);
  if (document.querySelectorAll("h1").length !== 1) say("one h1", document.body);
  for (const tag of ["header", "nav", "footer"]) if (!document.querySelector(tag)) say(`landmark ${tag}`, document.body);

  const ids = new Map();
  for (const element of document.querySelectorAll("[id]")) {
    if (ids.has(element.id)) say("unique id", element);
    ids.set(element.id, element);
  }
  for (const element of document.querySelectorAll("[aria-labelledby], [aria-describedby], [for]")) {
    for (const name of ["aria-labelledby", "aria-describedby", "for"]) {
      for (const id of (element.getAttribute(name) || "").split(/\s+/)) {
        if (id && shown(element) && !ids.has(id)) say("reference to an id", element, id);
      }
    }
  }
  let level = 0;
  for (const heading of document.querySelectorAll("h1, h2, h3, h4, h5, h6")) {
    if (!shown(heading)) continue;
    const now = Number(heading.tagName[1]);
    if (now > level + 1) say("heading order", heading, `after h${level}`);
    if (!heading.textContent.trim()) say("empty heading", heading);
    level = now;
  }
  for (const control of document.querySelectorAll("a[href], button, input, select, textarea, summary, [role=region], [role=img]")) {
    if (shown(control) && !nameOf(control)) say("name of a control", control);
  }
  for (const link of document.querySelectorAll("a[href^='#']")) {
    const id = link.getAttribute("href").slice(1);
    if (!/^(d=|m\d+-l\d+$)/.test(id) && !ids.has(id)) say("link without target", link);
  }
  for (const table of document.querySelectorAll("table")) {
    if (!table.caption) say("table caption", table);
    for (const head of table.querySelectorAll("th")) if (!head.scope) say("scope of a table header", head);
    if (!table.querySelector("th")) say("table header", table);
  }
  for (const list of document.querySelectorAll("dl")) {
    for (const child of list.children) if (!["DIV", "DT", "DD"].includes(child.tagName)) say("list of terms", child);
  }
  for (const list of document.querySelectorAll("ul, ol")) {
    for (const child of list.children) if (child.tagName !== "LI") say("list", child);
  }
  for (const svg of document.querySelectorAll("svg")) {
    if (!svg.closest("[aria-hidden=true]") && svg.getAttribute("aria-hidden") !== "true" && shown(svg)) {
      const title = svg.querySelector(":scope > title");
      if (svg.getAttribute("role") !== "img" || !(nameOf(svg) || title?.textContent.trim())) say("text alternative", svg);
    }
  }
  for (const box of document.querySelectorAll("*")) {
    const style = getComputedStyle(box);
    const scrolls = /auto|scroll/.test(style.overflowX + style.overflowY) && (box.scrollWidth > box.clientWidth + 1 || box.scrollHeight > box.clientHeight + 1);
    if (scrolls && shown(box) && box !== document.documentElement && box.tabIndex < 0 && !box.querySelector("a[href], button, input, select")) say("scrolling without keyboard", box);
    if (box.tabIndex > 0) say("tab order", box);
  }

  /* Contrast of texts against the nearest ground that is painted. */
  const channels = (color) => {
    const numbers = color.match(/[\d.]+/g).map(Number);
    return color.startsWith("color(") ? [...numbers.slice(0, 3).map((n) => n * 255), numbers[3] ?? 1] : [...numbers.slice(0, 3), numbers[3] ?? 1];
  };
  const luminance = (color) => {
    const [r, g, b] = color.slice(0, 3).map((n) => n / 255).map((n) => (n <= 0.04045 ? n / 12.92 : ((n + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const color = channels(getComputedStyle(at).backgroundColor);
      if (color[3] > 0.99) return color;
    }
    return [255, 255, 255, 1];
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const seen = new Set();
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || seen.has(element) || !shown(element) || element.closest("svg, script, style, noscript, :disabled, [aria-disabled=true], option")) continue;
    seen.add(element);
    const style = getComputedStyle(element);
    const [one, other] = [luminance(channels(style.color)), luminance(ground(element))].sort((a, b) => b - a);
    const ratio = (one + 0.05) / (other + 0.05);
    const large = parseFloat(style.fontSize) >= 24 || (parseFloat(style.fontSize) >= 18.66 && Number(style.fontWeight) >= 700);
    if (ratio < (large ? 3 : 4.5)) say("contrast", element, ratio.toFixed(2));
  }
  if (document.documentElement.scrollWidth > innerWidth + 1) say("page wider than the window", document.documentElement.cloneNode(false), `${document.documentElement.scrollWidth} > ${innerWidth}`);
  return found;
})()
