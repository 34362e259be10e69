// Stepping through a history in a POMDP, its PSR and its R-PSR, side by side.
(() => {
  "use strict";

  // ---- models: the same sums as rpsr.Filter, in the same coordinates

  const dot = (x, y) => x.reduce((sum, value, i) => sum + value * y[i], 0);

  // A sparse matrix by rows; `values` decodes numbered entries where they are numbered.
  function times(x, matrix, width, values) {
    const result = new Float64Array(width);
    for (let i = 0; i < x.length; i++) {
      if (x[i] === 0) continue;
      for (let k = matrix.starts[i]; k < matrix.starts[i + 1]; k++) {
        const entry = values ? values[matrix.data[k]] : matrix.data[k];
        result[matrix.columns[k]] += x[i] * entry;
      }
    }
    return result;
  }

  function timesTransposed(x, matrix) {
    const rows = matrix.shape[0];
    const result = new Float64Array(rows);
    for (let i = 0; i < rows; i++) {
      for (let k = matrix.starts[i]; k < matrix.starts[i + 1]; k++) {
        result[i] += matrix.data[k] * x[matrix.columns[k]];
      }
    }
    return result;
  }

  // x M[a, o] = x Q^T D[a, o] Q, and its mass, which is the probability of o.
  function moved(domain, model, x, action, observation) {
    const states = domain.states.length;
    const lifted = model.basis ? timesTransposed(x, model.basis) : x;
    const after = times(lifted, domain.process[action][observation], states, domain.values);
    const state = model.basis ? times(after, model.basis, model.basis.shape[1]) : after;
    return { state, mass: dot(state, model.normalizer) };
  }

  const reading = (model, x) =>
    model.coordinates ? times(x, model.coordinates, model.coordinates.shape[1]) : x;
  const rewards = (model, x) => times(x, model.rewards, model.rewards.shape[1]);

  // ---- the page

  function element(tag, attributes = {}, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...children);
    return made;
  }

  function show(value) {
    if (Math.abs(value) < 5e-13) return "0";
    return String(Number(value.toPrecision(4))).replace("-", "\u2212");
  }

  function numberCell(value, attributes = {}) {
    return element("td", { class: "r", "data-value": String(value), ...attributes }, show(value));
  }

  function start(root) {
    const domains = JSON.parse(root.querySelector("script").textContent);
    const id = root.id;
    let domain, history, states, action; // states: one triple of model states per step taken

    const select = element("select", { id: `${id}-domain` });
    domains.forEach((each, i) => select.append(element("option", { value: i }, each.name)));
    const undo = element("button", { type: "button" }, "Undo");
    const reset = element("button", { type: "button" }, "Reset");
    const strip = element("ol", { class: "history", "aria-label": "History so far" });
    const actions = element("div", { class: "choices" });
    const observations = element("div", { class: "choices" });
    const status = element("p", { class: "status", "aria-live": "polite" });
    const panels = element("div", { class: "panels" });
    const earned = element("div", { class: "scroll", role: "region", tabindex: "0", "aria-label": "Expected rewards" });
    const note = element("p", { class: "aside" });
    const fieldset = (title, choices) =>
      element("fieldset", {}, element("legend", {}, title), choices);
    const choice = element("label", { for: select.id }, "Domain ", select);
    root.append(
      ...(domains.length > 1 ? [element("p", {}, choice)] : []),
      element("div", { class: "controls" }, strip, undo, reset),
      fieldset("1. Choose an action", actions),
      fieldset("2. Click what is observed after it", observations),
      status, earned, panels, note,
    );

    const now = () => states[states.length - 1];

    // An observation can follow where every model says so.
    function chances() {
      return domain.observations.map((_, o) => {
        const masses = domain.models.map((model, m) => moved(domain, model, now()[m], action, o).mass);
        const possible = masses.every((mass, m) => mass > domain.models[m].rounding);
        return { possible, probability: Math.max(masses[0], 0) };
      });
    }

    function begin(index) {
      domain = domains[index];
      action = 0;
      actions.replaceChildren(...domain.actions.map((name, a) => {
        const button = element("button", { type: "button" }, name);
        button.addEventListener("click", () => { action = a; draw(); });
        return button;
      }));
      observations.replaceChildren(...domain.observations.map((name, o) => {
        const button = element("button", { type: "button" }, name, element("small"));
        button.addEventListener("click", () => { step(action, o); draw(); });
        return button;
      }));
      note.textContent = domain.note;
      forget();
      for (const [a, o] of domain.history) { step(a, o); action = a; }
      draw();
    }

    function forget() {
      history = [];
      states = [domain.models.map((model) => Float64Array.from(model.start))];
    }

    function step(a, o) {
      const after = domain.models.map((model, m) => {
        const { state, mass } = moved(domain, model, now()[m], a, o);
        return state.map((value) => value / mass);
      });
      history.push([a, o]);
      states.push(after);
    }

    function draw() {
      const held = document.activeElement;
      [...actions.children].forEach((button, a) =>
        button.setAttribute("aria-pressed", String(a === action)));
      chances().forEach(({ possible, probability }, o) => {
        const button = observations.children[o];
        button.disabled = !possible;
        button.dataset.value = String(probability);
        button.querySelector("small").textContent = possible ? show(probability) : "impossible";
      });
      undo.disabled = reset.disabled = history.length === 0;
      // The button that was pressed may just have become impossible: keep the keyboard's place.
      if (held && held.disabled && root.contains(held)) {
        (observations.querySelector("button:enabled") || select).focus();
      }
      const pairs = history.map(([a, o]) => `${domain.actions[a]} \u2192 ${domain.observations[o]}`);
      strip.replaceChildren(...(pairs.length
        ? pairs.map((pair) => element("li", {}, pair))
        : [element("li", { class: "empty" }, "nothing has happened yet")]));
      drawRewards(pairs);
      panels.replaceChildren(...domain.models.map((model, m) => drawState(model, now()[m])));
    }

    function drawRewards(pairs) {
      const each = domain.models.map((model, m) => rewards(model, now()[m]));
      const scale = Math.max(1, ...domain.models[0].rewards.data.map(Math.abs));
      const wrong = [];
      const rows = domain.actions.map((name, a) => {
        const off = each[1][a] - each[0][a];
        const isWrong = Math.abs(off) > 1e-9 * scale;
        if (isWrong) wrong.push(`${name} by ${show(Math.abs(off))}`);
        const mark = isWrong ? { class: "r wrong" } : {};
        return element("tr", {},
          element("th", { scope: "row" }, name),
          ...each.map((row, m) => numberCell(row[a], m === 1 ? mark : {})),
          numberCell(off, mark));
      });
      const titles = [...domain.models.map((model) => model.name), "error"];
      earned.replaceChildren(element("table", { class: "rewards" },
        element("caption", {}, "Rewards each model expects, R(h, a)"),
        element("thead", {}, element("tr", {}, element("th", { scope: "col" }, "action"),
          ...titles.map((title) => element("th", { scope: "col", class: "r" }, title)))),
        element("tbody", {}, ...rows)));
      const place = pairs.length ? `After ${pairs[pairs.length - 1]}` : "At the start";
      status.textContent = wrong.length
        ? `${place}, the PSR is wrong about the reward of ${wrong.join(", ")}.`
        : `${place}, all three models expect the same rewards.`;
    }

    function drawState(model, x) {
      const values = Array.from(reading(model, x));
      const belief = !model.coordinates;
      const largest = Math.max(...values.map(Math.abs));
      const rows = values.map((value, i) => {
        const bar = element("span");
        bar.style.width = `${(100 * Math.abs(value)) / Math.max(1, largest)}%`;
        return element("tr", { "data-index": i }, element("th", { scope: "row" }, model.labels[i]),
          element("td", { class: "bar", "aria-hidden": "true" }, bar), numberCell(value));
      }).filter((_, i) => !belief || values.length <= 24 || values[i] > 0);
      const table = element("table", {}, element("caption", {}, `${model.name}: ${model.title}`),
        element("tbody", {}, ...rows));
      const panel = element("div", { class: "panel", role: "region", tabindex: "0", "aria-label": model.title, "data-model": model.name }, table);
      if (rows.length < values.length) {
        panel.append(element("p", { class: "aside" }, `${values.length - rows.length} states at 0 are not listed`));
      }
      return panel;
    }

    select.addEventListener("change", () => begin(Number(select.value)));
    undo.addEventListener("click", () => { history.pop(); states.pop(); draw(); });
    reset.addEventListener("click", () => { forget(); draw(); });
    begin(0);
  }

  document.querySelectorAll(".stepper").forEach(start);
})();
