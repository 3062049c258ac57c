/* What a built page does by itself, done in JupyterLab: load the runtime of figures and
 * questions when the first one appears, render the chapters' MyST, fold what is folded.
 */
(function () {
  "use strict";
  if (window.llmserveInLab) return;

  const OURS = "figure.live, figure.step, .question, [data-sourced], .sourced";
  const STYLES = ["book.css", "text.css", "lists.css", "provenance.css", "lab.css"];
  const RUNTIME = ["vega.js", "tables.js", "si.js", "keep.js", "address.js",
    "figure_parts.js", "live.js", "step.js", "question.js",
    "provenance_records.js", "provenance_text.js", "provenance.js"];

  const BENCH = "To turn the knobs of this bench, run this cell (Shift+Enter).";

  /* ---- The runtime: fetched once, when the first figure or question is there. ---- */
  function loadRuntime({ here, script }) {
    window.llmserveLab = here;
    for (const name of STYLES) {
      document.head.append(Object.assign(
        document.createElement("link"), { rel: "stylesheet", href: here + name }));
    }
    let loading = null, waiting = null;
    const look = async () => {
      for (const start of document.querySelectorAll(".bench-start")) {
        if (start.textContent !== BENCH) start.textContent = BENCH;
      }
      if (!loading && !document.querySelector(OURS)) return;
      loading ??= Promise.all(RUNTIME.map(script));
      await loading;
      window.llmserveLive.start();
      window.llmserveQuestion.scan();
      clearTimeout(waiting); // numbers are many: they are read when the page is quiet
      waiting = setTimeout(window.llmserveProvenance.scan, 200);
    };
    new MutationObserver(look).observe(document.body, { childList: true, subtree: true });
    look();
  }

  /* JupyterLab takes the keys that a control needs. */
  function keepKeys() {
    window.addEventListener("keydown", (event) => {
      const ours = event.target.closest?.("figure.live, figure.step, .question");
      if (!ours || event.key === "Escape") return;
      event.stopPropagation();
      ours.takeKey?.(event); // what the figure would have heard
    }, true);
  }

  /* ---- Before a notebook is trusted: what cannot act is shown as it is. ---- */
  const ACTING = "script:not([type='application/json']), iframe, object, embed, link, meta, " +
    "base, style, form[action], foreignObject, animate, set, image, audio, video, source";
  const ADDRESSES = new Set(["src", "srcset", "formaction", "background", "poster", "ping"]);

  function isHarmless({ name, value }) {
    if (name === "src" && value.startsWith("data:image/svg+xml;base64,")) return true;
    if (name.startsWith("on") || ADDRESSES.has(name)) return false;
    if (name === "xlink:href") return value.startsWith("#");
    if (name === "href") return /^(#|https:\/\/|[\w./-]+(#|$))/.test(value);
    return name !== "style" || !/url|@/i.test(value);
  }

  /* True where markup holds no code, no address that is fetched or followed with a script,
     and no data that would fetch one. */
  function isInert(html) {
    const { body } = new DOMParser().parseFromString(html, "text/html");
    if (body.querySelector(ACTING)) return false;
    const attributes = [...body.querySelectorAll("*")].flatMap((each) => [...each.attributes]);
    const data = [...body.querySelectorAll("script")].map((each) => each.textContent);
    return attributes.every(isHarmless) &&
      data.every((text) => !/"(url|href|loader)"\s*:/.test(text));
  }

  function showInert(registry) {
    const html = registry.getFactory("text/html");
    const createRenderer = (options) => {
      const renderer = html.createRenderer(options);
      const render = renderer.renderModel.bind(renderer);
      renderer.renderModel = (model) => render(
        model.trusted || !isInert(String(model.data["text/html"] ?? ""))
          ? model : Object.create(model, { trusted: { value: true } }));
      return renderer;
    };
    registry.addFactory({ ...html, createRenderer }, registry.getRank("text/html") - 1);
  }

  /* ---- Markdown: the renderer gets what the chapters mean. ---- */
  function rewriteMarkdown(registry) {
    const parser = registry.markdownParser;
    if (!parser) return; // another renderer, such as jupyterlab-myst, reads MyST itself
    const render = parser.render.bind(parser);
    parser.render = (text, ...rest) =>
      render(window.llmserveMarkdown.rewritten(text, window.llmserveReferences), ...rest);
  }

  /* ---- Folds that reach over several cells. ---- */
  function textOf(cell) {
    return cell.model.type === "markdown" ? cell.model.sharedModel.getSource() : "";
  }

  /* The cells after `first` up to the one in which its last open fold ends. */
  function reach(cells, first) {
    const { directives, folds } = window.llmserveMarkdown;
    const nothing = { chapters: {}, text: {} };
    const marks = (cell) => folds(directives(textOf(cell), nothing));
    let depth = marks(cells[first]).open;
    for (let i = first + 1; depth > 0 && i < cells.length; i += 1) {
      const { ends, open } = marks(cells[i]);
      if (ends >= depth) return { inner: cells.slice(first + 1, i), last: cells[i] };
      depth += open - ends;
    }
    return { inner: [], last: null };
  }

  /* Open or close the fold that begins in a cell; folds inside it stay as they are. */
  function turn(cells, first, isOpen) {
    const { inner, last } = reach(cells, first);
    for (const cell of inner) cell.setHidden(!isOpen);
    last?.node.classList.toggle("fold-open", isOpen);
    if (isOpen) inner.forEach((cell) => closeUnlessOpen(cells, cells.indexOf(cell)));
  }

  function closeUnlessOpen(cells, first) {
    const folds = cells[first].node.querySelectorAll("details.fold");
    if (![...folds].at(-1)?.open) turn(cells, first, false);
  }

  const isOurs = (panel) => panel.content.widgets.some((cell) =>
    cell.model.type === "code" && cell.model.sharedModel.getSource().includes("llmserve_lab"));

  function followFolds(tracker) {
    tracker.widgetAdded.connect((_, panel) => panel.revealed.then(() => {
      const cells = panel.content.widgets;
      if (isOurs(panel)) cells.forEach((_cell, i) => turn(cells, i, false));
    }));
    document.addEventListener("toggle", (event) => {
      const node = event.target.closest?.("details.fold") && event.target.closest(".jp-Cell");
      const panel = node && tracker.find(({ content }) => content.node.contains(node));
      if (!panel || !isOurs(panel)) return;
      const cells = panel.content.widgets;
      turn(cells, cells.findIndex((cell) => cell.node === node), event.target.open);
    }, true);
  }

  function activate({ app, here, script, registry, tracker }) {
    loadRuntime({ here, script });
    keepKeys();
    showInert(registry);
    rewriteMarkdown(registry);
    if (!tracker) return;
    followFolds(tracker);
    window.llmserveLinks.follow(app, tracker);
  }

  window.llmserveInLab = { activate, reach, isInert };
})();
