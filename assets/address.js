/* The state of figures in the address, so that it can be kept and sent as a link.
 *
 * A classic script. Text from the address is checked against the page's own data and never
 * becomes HTML.
 */
(function () {
  "use strict";
  if (window.llmserveAddress) return;
  const inLab = Boolean(window.llmserveLab);

  /* #anchor&fig=name.version:signal=value,…&fig=… */
  const figures = new Map(); // name -> { version, state(): {…}, set({…}): bool, tell(text) }
  const PART = /^fig=([a-z0-9-]+)\.([0-9a-f]+):((?:[A-Za-z_]\w*=[-+.\w]+(?:,|$))*)$/;

  /* { anchor, states: name -> {version, settings} or null where it cannot be read } */
  function parseHash(hash) {
    const states = new Map();
    const parts = hash.replace(/^#/, "").split("&").map(decoded);
    const anchor = parts[0].startsWith("fig=") ? "" : parts.shift();
    for (const part of parts) {
      const found = PART.exec(part);
      const name = /^fig=([a-z0-9-]+)/.exec(part)?.[1];
      if (!name) continue;
      const pairs = found && found[3].split(",").filter(Boolean).map((p) => p.split("="));
      states.set(name, found && { version: found[2], settings: Object.fromEntries(pairs) });
    }
    return { anchor, states };
  }

  function decoded(text) {
    try { return decodeURIComponent(text); } catch { return text; }
  }

  function formatState(name, version, settings) {
    const pairs = Object.entries(settings).map(([key, value]) => `${key}=${value}`);
    return `fig=${name}.${version}:${pairs.join(",")}`;
  }

  const BAD = "The link to this figure cannot be read; here is its usual state.";
  const OLD = "The link is for another version of this figure; here is its usual state.";

  /* Enter a figure that can be put into a state; its part of the address is applied. */
  function enter(name, figure) {
    figures.set(name, figure);
    const { anchor, states } = parseHash(window.location.hash);
    if (!states.has(name)) return;
    apply(name, states.get(name));
    if (!anchor && [...states.keys()][0] === name) jumpTo(figure.root);
  }

  /* Show a figure, and again when mathematics above it has its height; unless the reader
     has begun to look elsewhere. */
  function jumpTo(root) {
    let busy = false;
    for (const event of ["wheel", "touchstart", "keydown", "pointerdown"]) {
      window.addEventListener(event, () => { busy = true; }, { once: true, passive: true });
    }
    for (let fold = root.closest("details"); fold; fold = fold.parentElement.closest("details")) {
      fold.open = true;
    }
    const jump = () => { if (!busy) root.scrollIntoView(); };
    jump();
    if (document.readyState === "complete") return;
    window.addEventListener("load", () => {
      Promise.resolve(window.MathJax?.startup?.promise).then(jump);
    });
  }

  function apply(name, found) {
    const figure = figures.get(name);
    if (!found) figure.tell(BAD);
    else if (found.version !== figure.version) figure.tell(OLD);
    else figure.tell(figure.set(found.settings) ? "" : BAD);
  }

  window.addEventListener?.("hashchange", () => {
    const { states } = parseHash(window.location.hash);
    for (const [name, found] of states) if (figures.has(name)) apply(name, found);
  });

  function addressOf(names) {
    const parts = names.map((name) => {
      const figure = figures.get(name);
      return formatState(name, figure.version, figure.state());
    });
    return window.location.href.split("#")[0] + "#" + parts.join("&");
  }

  /* The figures that were moved are written into the address, when the reader rests. */
  const moved = new Set();
  let timer = 0;

  function move(name) {
    if (inLab) return;
    moved.add(name);
    clearTimeout(timer);
    timer = setTimeout(writeAddress, 300);
  }

  function writeAddress() {
    const { anchor, states } = parseHash(window.location.hash);
    const names = [...figures.keys()].filter((name) => moved.has(name) || states.has(name));
    const [page, parts] = addressOf(names).split("#");
    const hash = [anchor && encodeURIComponent(anchor), parts].filter(Boolean).join("&");
    try { window.history.replaceState(window.history.state, "", `${page}#${hash}`); } catch { /* stays */ }
  }

  /* "Copy link": the clipboard where there is one, else a field with the link selected. */
  async function copy(name, box) {
    const link = addressOf([name]);
    const status = box.querySelector("[role=status]") ?? box.appendChild(said());
    try {
      await window.navigator.clipboard.writeText(link);
      box.querySelector("input")?.remove();
      status.textContent = "Link copied.";
    } catch {
      const field = box.querySelector("input") ?? box.insertBefore(linkField(), status);
      field.value = link;
      field.focus();
      field.select();
      status.textContent = "Copy the selected link.";
    }
  }

  function said() {
    const status = element("span", "copy-status");
    status.setAttribute("role", "status");
    return status;
  }

  function linkField() {
    const field = element("input", "copy-field");
    Object.assign(field, { type: "text", readOnly: true });
    field.setAttribute("aria-label", "Link to this figure as it is set");
    return field;
  }

  function copyButton(name) {
    const box = element("span", "copy-link");
    const button = element("button", "", "Copy link");
    button.type = "button";
    button.addEventListener("click", () => copy(name, box));
    box.append(button, said());
    return box;
  }

  function element(name, className, text) {
    return Object.assign(document.createElement(name), { className, textContent: text ?? "" });
  }

  window.llmserveAddress = { enter, move, copyButton, parseHash, formatState };
})();
