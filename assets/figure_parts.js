/* What live figures and step figures share: their chart, their goal, their link.
 *
 * A classic script, before both. It needs window.vegaEmbed.
 */
(function () {
  "use strict";
  if (window.llmserveFigureParts) return;

  /* Compiled expressions are quicker; where a page may not compile, Vega walks them. */
  function mayCompile() {
    try { return Boolean(new Function("")); } catch { return false; }
  }

  /* What has not changed is not announced again, nor laid out. */
  function write(element, text) {
    if (element.textContent !== text) element.textContent = text;
  }

  /* How all charts of a built page look; in a notebook each says it itself. */
  function config() {
    const shared = document.querySelector("script.chart-config");
    return shared ? JSON.parse(shared.textContent) : {};
  }

  async function embed(box, spec) {
    const options = {
      ...(spec.config ? {} : { config: config() }),
      mode: "vega-lite", renderer: "svg", ast: !mayCompile(), actions: false,
      tooltip: false, hover: false, defaultStyle: false,
    };
    return (await window.vegaEmbed(box, spec, options)).view;
  }

  /* A function that says whether the goal of a figure is reached, if it has one. What was
     reached once stays done. */
  function goalOf(root, data, view) {
    if (!data.goal) return null;
    const { read, write: keep, drop, task, done } = window.llmserveKeep;
    const key = `goal/${data.name}`;
    const goal = root.querySelector(".live-goal");
    const said = goal.querySelector(".goal-said");
    let before = read(key) === data.version;
    function look() {
      const there = Boolean(view.signal("goal_reached"));
      if (there && !before) {
        before = true;
        keep(key, data.version);
        done(key);
      }
      write(said, there ? "You are there." : before ? "You have been there." : "");
      goal.dataset.reached = String(there || before);
    }
    if (read(key) !== null && !before) drop(key); // it was the goal of another version
    task(key, () => { before = false; look(); });
    done(key, before);
    look();
    goal.hidden = false;
    return look;
  }

  /* A figure's state in the address, a button that copies it, a line for what is wrong. */
  function share(figure, row) {
    const { enter, copyButton } = window.llmserveAddress, { inLab } = window.llmserveKeep;
    const { name, version } = figure.data;
    if (inLab) return;
    const notice = Object.assign(document.createElement("p"), { className: "live-notice" });
    notice.setAttribute("role", "status");
    notice.hidden = true;
    figure.picture.before(notice);
    row.prepend(copyButton(name));
    enter(name, {
      version,
      root: figure.root,
      state: () => figure.state(),
      set: (settings) => figure.set(settings),
      tell(text) {
        if (text) figure.set({});
        write(notice, text);
        notice.hidden = !text;
      },
    });
  }

  window.llmserveFigureParts = { write, embed, goalOf, share };
})();
