// Policy graphs: a node that is clicked, or chosen with the keyboard, shows where it leads.
(() => {
  "use strict";
  const part = /-(node|edge)-(\d+)(?:-(\d+))?(?:-(?:name|label))?$/;

  function start(graph) {
    const svg = graph.closest("svg");
    const parts = [...graph.querySelectorAll("[id]")].flatMap((element) => {
      const [, kind, source, target] = part.exec(element.id) || [];
      return kind ? [{ element, kind, source, target }] : [];
    });
    const edges = parts.filter((each) => each.kind === "edge");
    let chosen = null;

    function choose(source) {
      chosen = source === chosen ? null : source;
      const near = new Set([chosen, ...edges.filter((e) => e.source === chosen).map((e) => e.target)]);
      svg.classList.toggle("chosen", chosen !== null);
      for (const { element, kind, source: from } of parts) {
        element.classList.toggle("lit", kind === "edge" ? from === chosen : near.has(from));
        if (element.hasAttribute("role")) element.setAttribute("aria-pressed", from === chosen);
      }
    }

    svg.setAttribute("role", "group");  // of an image, nothing inside could be chosen
    svg.classList.add("graph");
    for (const { element, kind, source } of parts) {
      if (kind !== "node") continue;
      element.classList.add("node");
      if (element.id.endsWith("-name")) continue;  // clicks go through it to its node
      const attributes = { role: "button", tabindex: "0", "aria-pressed": "false", "aria-label": `node ${source}` };
      Object.entries(attributes).forEach(([name, value]) => element.setAttribute(name, value));
      element.addEventListener("click", () => choose(source));
      element.addEventListener("keydown", (event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        choose(source);
      });
    }
  }

  document.querySelectorAll('[id$="policy-graph"]').forEach(start);
})();
