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

  const WALK = 8; // steps of one walk

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

  // An index drawn with given weights.
  function drawOne(weights) {
    let left = Math.random() * weights.reduce((sum, weight) => sum + weight, 0);
    const drawn = weights.findIndex((weight) => (left -= weight) < 0);
    return drawn >= 0 ? drawn : weights.findLastIndex((weight) => weight > 0);
  }

  function start(root) {
    const domains = JSON.parse(root.querySelector("script").textContent);
    const id = root.id;
    // states: one triple of model states per step taken, the start first; at: the step shown
    let domain, history, states, at, action;

    const button = (words) => element("button", { type: "button" }, words);
    const select = element("select", { id: `${id}-domain` });
    domains.forEach((each, i) => select.append(element("option", { value: i }, each.name)));
    const undo = button("Undo");
    const reset = button("Reset");
    const random = button("Random walk");
    const optimal = button("Optimal walk");
    const strip = element("ol", { class: "history", "aria-label": "History so far; choose a step to go back to it" });
    const actions = element("div", { class: "choices" });
    const observations = element("div", { class: "choices" });
    const hint = element("p", { class: "aside" }, "The observations become available after an action.");
    const status = element("p", { class: "status", "aria-live": "polite" });
    const panels = element("div", { class: "panels" });
    const scroller = (label) => element("div", { class: "scroll", role: "region", tabindex: "0", "aria-label": label });
    const earned = scroller("Expected rewards");
    const best = scroller("Best actions");
    const note = element("p", { class: "aside" });
    const fieldset = (title, ...choices) =>
      element("fieldset", {}, element("legend", {}, title), ...choices);
    const choice = element("label", { for: select.id }, "Domain ", select);
    root.append(
      ...(domains.length > 1 ? [element("p", {}, choice)] : []),
      element("div", { class: "controls" }, strip, undo, reset),
      fieldset("1. Choose an action", actions),
      fieldset("2. Click what is observed after it", hint, observations),
      fieldset("Or let the page choose", element("div", { class: "choices" }, random, optimal)),
      status, element("div", { class: "expected" }, earned, best), panels, note,
    );

    const now = () => states[at];

    // An observation can follow where every model says so.
    function chances(a) {
      return domain.observations.map((_, o) => {
        const masses = domain.models.map((model, m) => moved(domain, model, now()[m], a, o).mass);
        const possible = masses.every((mass, m) => mass > domain.models[m].rounding);
        return { possible, probability: Math.max(masses[0], 0) };
      });
    }

    function begin(index) {
      domain = domains[index];
      action = null;
      actions.replaceChildren(...domain.actions.map((name, a) => {
        const made = button(name);
        made.addEventListener("click", () => { action = a; draw(); });
        return made;
      }));
      observations.replaceChildren(...domain.observations.map((name, o) => {
        const made = element("button", { type: "button" }, name, element("small"));
        made.addEventListener("click", () => { step(action, o); draw(); });
        return made;
      }));
      optimal.hidden = !domain.models[0].plan;
      note.textContent = domain.note;
      forget();
      for (const [a, o] of domain.history) step(a, o);
      draw();
    }

    function forget() {
      history = [];
      states = [domain.models.map((model) => Float64Array.from(model.start))];
      at = 0;
    }

    // Steps after the one shown are forgotten.
    function step(a, o) {
      const after = domain.models.map((model, m) => {
        const { state, mass } = moved(domain, model, now()[m], a, o);
        return state.map((value) => value / mass);
      });
      history.length = at;
      states.length = at + 1;
      history.push([a, o]);
      states.push(after);
      at += 1;
    }

    function walk(choose) {
      for (let k = 0; k < WALK; k++) {
        const a = choose();
        const weights = chances(a).map(({ possible, probability }) => (possible ? probability : 0));
        step(a, drawOne(weights));
      }
      action = null;
      draw();
    }

    function draw() {
      const held = document.activeElement;
      [...actions.children].forEach((made, a) =>
        made.setAttribute("aria-pressed", String(a === action)));
      hint.hidden = action !== null;
      observations.hidden = action === null;
      if (action !== null) {
        chances(action).forEach(({ possible, probability }, o) => {
          const made = observations.children[o];
          made.disabled = !possible;
          made.dataset.value = String(probability);
          made.querySelector("small").textContent = possible ? show(probability) : "impossible";
        });
      }
      undo.disabled = reset.disabled = history.length === 0;
      // The button that was pressed may just have become impossible: keep the keyboard's place.
      if (held && held.disabled && root.contains(held)) {
        (observations.querySelector("button:enabled") || actions.firstChild).focus();
      }
      drawHistory();
      drawRewards();
      drawBest();
      panels.replaceChildren(...domain.models.map((model, m) => drawState(model, now()[m])));
    }

    const words = ([a, o]) => `${domain.actions[a]} \u2192 ${domain.observations[o]}`;

    function drawHistory() {
      const titles = ["start", ...history.map(words)];
      strip.replaceChildren(...titles.map((title, i) => {
        const made = button(title);
        if (i === at) made.setAttribute("aria-current", "step");
        made.addEventListener("click", () => {
          at = i;
          draw();
          strip.children[i].firstChild.focus();
        });
        return element("li", i > at ? { class: "later" } : {}, made);
      }));
    }

    function drawRewards() {
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
      const place = at ? `After ${words(history[at - 1])}` : "At the start";
      status.textContent = wrong.length
        ? `${place}, the PSR is wrong about the reward of ${wrong.join(", ")}.`
        : `${place}, all three models expect the same rewards.`;
    }

    // The action and the value of the plan's best vector at a state, or nothing without a plan.
    function decision(model, x) {
      if (!model.plan) return null;
      const values = model.plan.vectors.map((vector) => dot(x, vector));
      const value = values.reduce((most, each) => Math.max(most, each), -Infinity);
      return { action: model.plan.actions[values.indexOf(value)], value };
    }

    function drawBest() {
      const rows = domain.models.map((model, m) => {
        const chosen = decision(model, now()[m]);
        return element("tr", { "data-model": model.name }, element("th", { scope: "row" }, model.name),
          ...(chosen
            ? [element("td", {}, domain.actions[chosen.action]), numberCell(chosen.value)]
            : [element("td", { colspan: "2", class: "aside" }, model.without_plan)]));
      });
      best.hidden = domain.models.every((model) => !model.plan && !model.without_plan);
      best.replaceChildren(element("table", { class: "best" },
        element("caption", {}, "Best action by each model\u2019s plan, and the value that the plan promises"),
        element("thead", {}, element("tr", {}, ...["model", "action"].map((title) => element("th", { scope: "col" }, title)),
          element("th", { scope: "col", class: "r" }, "value"))),
        element("tbody", {}, ...rows)));
    }

    // Rows with bars: probabilities and rewards have their own scale, and negative numbers their
    // own side and colour.
    function group(model, values, kind, title) {
      const indices = values.map((_, i) => i).filter((i) => (model.kinds ? model.kinds[i] : "probability") === kind);
      if (!indices.length) return [];
      const largest = Math.max(...indices.map((i) => Math.abs(values[i])));
      const scale = kind === "probability" ? Math.max(1, largest) : Math.max(model.scale, largest);
      const signed = kind === "reward" && model.signed || indices.some((i) => values[i] < -1e-9 * scale);
      const rows = indices.map((i) => {
        const bar = element("span", values[i] < 0 ? { class: "negative" } : {});
        const width = (signed ? 50 : 100) * Math.abs(values[i]) / scale;
        bar.style.width = `${width}%`;
        if (signed) bar.style.marginLeft = `${values[i] < 0 ? 50 - width : 50}%`;
        return [i, element("tr", { "data-index": i }, element("th", { scope: "row" }, model.labels[i]),
          element("td", { class: signed ? "bar signed" : "bar", "aria-hidden": "true" }, bar), numberCell(values[i]))];
      });
      const few = model.coordinates || values.length <= 24;
      const kept = rows.filter(([i]) => few || values[i] > 0).map(([, row]) => row);
      const head = title ? [element("tr", {}, element("th", { scope: "rowgroup", colspan: "3" }, title))] : [];
      return [element("tbody", { "data-kind": kind }, ...head, ...kept)];
    }

    function drawState(model, x) {
      const values = Array.from(reading(model, x));
      const mixed = model.kinds && new Set(model.kinds).size > 1;
      const bodies = [
        ...group(model, values, "probability", mixed ? "probabilities" : ""),
        ...group(model, values, "reward", mixed ? "expected rewards" : ""),
      ];
      const table = element("table", {}, element("caption", {}, `${model.name}: ${model.title}`), ...bodies);
      const panel = element("div", { class: "panel", role: "region", tabindex: "0", "aria-label": model.title, "data-model": model.name }, table);
      const listed = table.querySelectorAll("tr[data-index]").length;
      if (listed < values.length) {
        panel.append(element("p", { class: "aside" }, `${values.length - listed} states at 0 are not listed`));
      }
      return panel;
    }

    select.addEventListener("change", () => begin(Number(select.value)));
    undo.addEventListener("click", () => { history.pop(); states.pop(); at = history.length; draw(); });
    reset.addEventListener("click", () => { forget(); action = null; draw(); });
    random.addEventListener("click", () => walk(() => Math.floor(Math.random() * domain.actions.length)));
    optimal.addEventListener("click", () => walk(() => decision(domain.models[0], now()[0]).action));
    begin(0);
  }

  document.querySelectorAll(".stepper").forEach(start);
})();
