// The lists beside the view: bodies, the worst contacts, the worst frames.

const MOST_FRAMES = 200;

// Of each body, by place: pairs in that frame.
const loads = pageData.bodies.map(() => new Map());
for (const [place, body, pairs] of pageData.load) loads[body].set(place, pairs);

/** The head of a table; columns are [text, class]. */
function headed(table, columns) {
  const row = made("tr");
  row.append(...columns.map(([text, kind]) => Object.assign(made("th", kind, text), { scope: "col" })));
  table.createTHead().append(row);
  return table.createTBody();
}

/** Rows of [text, class] cells that can be chosen, by a click, Enter or space; arrows go up and down. */
function chosenFrom(table, columns, rows, empty, choose) {
  const body = headed(table, columns);
  if (!rows.length) {
    const cell = made("td", "empty", empty), row = made("tr");
    cell.colSpan = columns.length;
    row.append(cell);
    body.append(row);
  }
  rows.forEach((cells, index) => {
    const row = made("tr");
    row.tabIndex = index ? -1 : 0;
    row.append(...cells.map(([text, kind]) => Object.assign(made("td", kind, text), kind === "name" ? { title: text } : {})));
    const pick = () => {
      for (const each of document.querySelectorAll("tr[aria-current]")) each.removeAttribute("aria-current");
      row.setAttribute("aria-current", "true");
      choose(index);
    };
    row.addEventListener("click", pick);
    row.addEventListener("keydown", (event) => {
      const near = { ArrowUp: row.previousElementSibling, ArrowDown: row.nextElementSibling }[event.key];
      if (event.key === "Enter" || event.key === " ") pick();
      else if (near) near.focus();
      else return;
      event.preventDefault();
      event.stopPropagation();
    });
    row.addEventListener("focus", () => {
      for (const each of body.rows) each.tabIndex = each === row ? 0 : -1;
    });
    body.append(row);
  });
}

/** The table of contacts: [place, first, second, pairs, x, y, z, radius] each. */
function contactsTable(go) {
  const name = (body) => brief(pageData.bodies[body].name);
  const rows = pageData.contacts.map(([place, first, second, pairs]) => [
    [first === second ? `${name(first)}, with itself` : `${name(first)} – ${name(second)}`, "name"],
    [labelOf(place), "number"],
    [whole.format(pairs), "number"],
  ]);
  const columns = [["Bodies", "name"], ["Frame", "number"], ["Pairs", "number"]];
  chosenFrom(byId("contacts"), columns, rows, "No faces meet.", (index) => go(...pageData.contacts[index]));
  const all = rows.length + pageData.more;
  byId("contacts-count").textContent = pageData.more ? `${whole.format(rows.length)} of ${whole.format(all)}` : rows.length ? String(all) : "";
}

/** The table of events: collisions and near misses, and behind a button those that are known, static or shallow. */
function eventsTable(go) {
  const { events } = pageData, folded = (each) => ["static", "known", "shallow"].includes(each.state);
  const states = { near: "near", static: "in every frame", known: "known", shallow: "shallow", enclosed: "enclosed", "between frames": "no frame shows it" };
  const rows = events.map((each) => [
    [states[each.state] ? `${each.title} (${states[each.state]})` : each.title, "name"],
    [each.frames, "number"],
    [each.depth, "number"],
  ]);
  const columns = [["Bodies", "name"], ["Frames", "number"], [`Depth${pageData.unit ? ` (${pageData.unit})` : ""}`, "number"]];
  chosenFrom(byId("contacts"), columns, rows, "No faces meet.", (index) => go(events[index]));
  const list = [...byId("contacts").tBodies[0].rows], quiet = list.filter((_, index) => events[index] && folded(events[index]));
  const more = byId("more"), show = (on) => {
    for (const row of quiet) row.hidden = !on;
    more.textContent = `${on ? "Hide" : "Show"} ${whole.format(quiet.length)} that ${quiet.length === 1 ? "does" : "do"} not count`;
    more.setAttribute("aria-expanded", String(on));
  };
  show(false);
  more.hidden = !quiet.length;
  more.addEventListener("click", () => show(quiet[0].hidden));
  byId("contacts-title").textContent = "Events";
  const all = events.length + pageData.moreEvents;
  byId("contacts-count").textContent = pageData.moreEvents ? `${whole.format(events.length)} of ${whole.format(all)}` : String(all);
  return list;
}

/** The table of frames in which most pairs meet. */
function framesTable(totals, go) {
  const meeting = loud.filter(({ name }) => name !== "near"), worst = (place) => meeting.reduce((sum, { values }) => sum + values[place], 0);
  const places = totals.map((_, place) => place).filter((place) => totals[place]);
  places.sort((a, b) => worst(b) - worst(a) || totals[b] - totals[a] || a - b);
  const several = loud.length > 1;
  const rows = places.slice(0, MOST_FRAMES).map((place) => [
    [labelOf(place), "name"],
    ...(several ? loud.map(({ values }) => [whole.format(values[place]), "number"]) : []),
    [whole.format(totals[place]), "number"],
  ]);
  const kinds = several ? loud.map(({ name }) => [name, "number"]) : [];
  const columns = [["Frame", "name"], ...kinds, [several ? "All pairs" : "Pairs", "number"]];
  chosenFrom(byId("frames"), columns, rows, "No faces meet in any frame.", (index) => go(places[index]));
  const some = `${whole.format(places.length)} of ${whole.format(pageData.frames.length)} have pairs`;
  byId("frames-count").textContent = places.length ? some : "";
}

/** The list of bodies, with switches where there is a view; `count` shows how many faces and pairs they have now. */
class BodiesTable {
  constructor(viewer) {
    const columns = [["Body", "name"], ["Kind", ""], ["Triangles", "number"], ["Pairs", "number"]];
    const body = headed(byId("bodies"), viewer ? [...columns, ["Show", ""], ["Clear", ""]] : columns);
    this.rows = pageData.bodies.map(({ name, kind }, index) => {
      const row = made("tr"), title = made("td", "name"), chip = made("i", "chip");
      const faces = made("td", "number"), pairs = made("td", "number");
      chip.style.background = `rgb(${colourOf(index)})`;
      title.append(chip, brief(name));
      title.title = name;
      row.append(title, made("td", "", kind), faces, pairs);
      if (viewer) row.append(...this.switches(viewer, index, row));
      body.append(row);
      return { faces, pairs, seen: row.querySelector(".seen") };
    });
  }

  switches(viewer, index, row) {
    const shown = viewer.shown[index], { name } = pageData.bodies[index];
    const switched = (what, className, checked, act) => {
      const cell = made("td"), box = Object.assign(made("input", className), { type: "checkbox", checked });
      box.setAttribute("aria-label", `${what}: ${name}`);
      box.addEventListener("change", () => {
        act(box.checked);
        viewer.invalidate();
      });
      cell.append(box);
      return cell;
    };
    const show = (on) => {
      shown.visible = on;
      row.classList.toggle("off", !on);
    };
    return [switched("Show", "seen", true, show), switched("See through", "clear", false, (on) => shown.setClear(on))];
  }

  /** Show these bodies alone; null: all. */
  isolate(bodies) {
    this.rows.forEach(({ seen }, index) => {
      if (seen && seen.checked !== (!bodies || bodies.includes(index))) seen.click();
    });
  }

  /** Only what has changed is written: layout is costly. */
  count(place, frame) {
    this.rows.forEach((row, body) => {
      const pairs = loads[body].get(place) ?? 0, faces = frame ? frame.pieces[body].faces.length / 3 : -1;
      if (row.pairsNow !== pairs) row.pairs.textContent = whole.format((row.pairsNow = pairs));
      if (row.facesNow !== faces) row.faces.textContent = (row.facesNow = faces) < 0 ? "–" : whole.format(faces);
    });
  }
}
