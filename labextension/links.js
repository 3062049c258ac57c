/* Links to a place of the book: JupyterLab knows headings alone, by names of its own.
 *
 * A place is an equation, a figure or a claim in an output, a heading by its built page's
 * name, or a target "(name)=". Its cell may not be drawn yet, and a fold may hide it. An
 * equation may stand in another chapter.
 */
(function () {
  "use strict";
  if (window.llmserveLinks) return;

  const PAGES = ".jp-Notebook, .jp-MarkdownViewer";
  const HEADING = /^#{1,6} +(.+?) *$/gm;

  /* The name that the built page gives to a heading. */
  function slug(heading) {
    const words = heading.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1").toLowerCase();
    return words.replace(/[^\w\u00aa-\u1fff\u4e00-\u9fff -]/g, "").trim().replace(/ /g, "-");
  }

  function holds({ cell_type: type, source, outputs }, name) {
    if (type === "code") return JSON.stringify(outputs).includes(`id=\\"${name}\\"`);
    const text = [source].flat().join("");
    return text.includes(`(${name})=`) || text.includes(`id="${name}"`) ||
      [...text.matchAll(HEADING)].some(([, heading]) => slug(heading) === name);
  }

  /* The element of that name in a cell; a heading, where the name is the built page's. */
  function element(node, name) {
    const own = CSS.escape(name);
    const headings = [...node.querySelectorAll("h1, h2, h3, h4, h5, h6")];
    return node.querySelector(`[id="${own}"], [data-jupyter-id="${own}"]`) ??
      headings.find((each) => slug(each.textContent.replace(/¶$/, "")) === name);
  }

  const rest = (ms) => new Promise((done) => setTimeout(done, ms));

  /* Scroll to a cell, and wait until it holds what is looked for. A notebook that has
     just been opened draws its cells one by one, and breaks the scrolling off. */
  async function drawn(content, at, find) {
    const reader = scrolling();
    for (let i = 0; i < 200 && !find() && !reader.moved; i += 1) {
      if (i % 20 === 0) content.scrollToItem(at, "start").catch(() => {});
      await rest(50);
    }
    reader.leave();
    return find();
  }

  /* Whether the reader has begun to scroll, until it is asked no more. */
  function scrolling() {
    const over = new AbortController();
    const reader = { moved: false, leave: () => over.abort() };
    for (const event of ["wheel", "touchstart", "keydown", "pointerdown"]) {
      const how = { capture: true, signal: over.signal };
      window.addEventListener(event, () => { reader.moved = true; }, how);
    }
    return reader;
  }

  /* Open every fold around the cell at `at`, the outermost first. */
  async function unfold(content, at) {
    const cells = content.widgets;
    for (let i = 0; i < at; i += 1) {
      if (!window.llmserveInLab.reach(cells, i).inner.includes(cells[at])) continue;
      const last = () => [...cells[i].node.querySelectorAll("details.fold")].at(-1);
      const fold = await drawn(content, i, last);
      if (fold) fold.open = true;
      await rest(50); // its cells are shown when it says that it was opened
    }
  }

  /* Show the place; false where the notebook has none of that name. */
  function show(content, name) {
    const cells = content.widgets;
    const at = name ? cells.findIndex((cell) => holds(cell.model.toJSON(), name)) : -1;
    if (at < 0) return false;
    reveal(content, at, name);
    return true;
  }

  async function reveal(content, at, name) {
    const cell = content.widgets[at];
    await unfold(content, at);
    if (!await drawn(content, at, () => element(cell.node, name))) return;
    const place = () => element(cell.node, name) ?? cell.node;
    for (let fold = place().closest("details"); fold;
      fold = fold.parentElement.closest("details")) fold.open = true;
    await settle(place);
  }

  /* Cells above it get their height when they are drawn: again until it stays in place,
     or the reader scrolls. */
  async function settle(place) {
    const reader = scrolling();
    for (let i = 0, rests = 0; i < 40 && rests < 5 && !reader.moved; i += 1) {
      place().scrollIntoView();
      const { top } = place().getBoundingClientRect();
      await rest(100);
      rests = Math.abs(place().getBoundingClientRect().top - top) < 2 ? rests + 1 : 0;
    }
    reader.leave();
  }

  function decoded(hash) {
    try { return decodeURIComponent(hash.replace(/^#/, "")); } catch { return ""; }
  }

  /* The chapter in whose outputs an equation stands, as a path beside `path`. */
  function chapterOf(name, path) {
    const { places } = window.llmserveReferences;
    const chapter = Object.keys(places).find((each) => places[each].includes(name));
    return chapter && path.replace(/[^/]*$/, `${chapter}.ipynb`);
  }

  async function open(app, path, name) {
    const { content, context, revealed } = await app.commands.execute(
      "docmanager:open", { path });
    await Promise.all([context.ready, revealed]);
    show(content, name);
  }

  /* True where the link is followed here. */
  function followed(app, tracker, link) {
    const panel = tracker.find(({ content }) => content.node.contains(link));
    const { context } = panel ?? app.shell.currentWidget ?? {};
    const name = decoded(link.hash);
    if (panel && show(panel.content, name)) return true;
    const beside = !panel && element(link.closest(PAGES), name);
    if (beside) beside.scrollIntoView();
    const path = !beside && context && chapterOf(name, context.path);
    if (path) open(app, path, name);
    return Boolean(beside || path);
  }

  function follow(app, tracker) {
    tracker.widgetAdded.connect((_, { content }) => {
      const theirs = content.setFragment.bind(content);
      content.setFragment = async (hash) => show(content, decoded(hash)) || theirs(hash);
    });
    document.addEventListener("click", (event) => {
      const link = event.target.closest?.('a[href^="#"]');
      const elsewhere = event.ctrlKey || event.metaKey || event.shiftKey;
      if (!link?.closest(PAGES) || event.defaultPrevented || elsewhere) return;
      if (followed(app, tracker, link)) event.preventDefault();
    });
  }

  window.llmserveLinks = { follow, holds, slug };
})();
