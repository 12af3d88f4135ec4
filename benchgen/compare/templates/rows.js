"use strict";
/* The rows of a run's page: filters and paging over the JSON beside it. Nothing is fetched, and every
   text reaches the page as text. The functions above `show` know no page, so that they can be tested. */

const OUTCOMES = ["right", "wrong", "not measured"];

/** Rows as objects; `data` = {questions: [[prompt, target, category, difficulty, language, key]], rows:
    [[question, repeat, status, outcome, told, reply, extracted]]}. */
function unpack(data) {
  return data.rows.map((row, place) => {
    const [prompt, target, category, difficulty, language, key] = data.questions[row[0]];
    return {
      number: place + 1, repeat: row[1], status: row[2], outcome: OUTCOMES[row[3]], told: row[4],
      reply: row[5], extracted: row[6], prompt, target, category, difficulty, language, key,
    };
  });
}

/** Whether the row is wanted: every field of `wanted` that is not empty must be equal, `text` be held. */
function fits(row, wanted) {
  for (const name of ["outcome", "status", "category", "difficulty", "language"]) {
    if (wanted[name] !== undefined && wanted[name] !== "*" && row[name] !== wanted[name]) return false;
  }
  const text = (wanted.text || "").toLowerCase();
  if (text === "") return true;
  return [row.prompt, row.reply, row.extracted, row.target].some((t) => t.toLowerCase().includes(text));
}

/** {rows, page, pages, total} of page `page` (from 0), which is brought into range. */
function pageOf(rows, page, size) {
  const pages = Math.max(1, Math.ceil(rows.length / size));
  const held = Math.min(Math.max(0, page || 0), pages - 1);
  return { rows: rows.slice(held * size, (held + 1) * size), page: held, pages, total: rows.length };
}

/** [value, how many rows have it] of a field, in the order of the alphabet. */
function choices(rows, name) {
  const counts = new Map();
  for (const row of rows) counts.set(row[name], (counts.get(row[name]) || 0) + 1);
  return [...counts].sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
}

/** What the line above the table says. */
function words(found, size, all) {
  if (found.total === 0) return `No row of ${all} fits these filters.`;
  const first = found.page * size + 1;
  const last = first + found.rows.length - 1;
  return `Rows ${first} to ${last} of ${found.total}` + (found.total < all ? ` that fit, of ${all}` : "");
}

function start(page) {
  const all = unpack(JSON.parse(page.getElementById("rows-data").textContent));
  const form = page.getElementById("rows-filter");
  const body = page.getElementById("rows-body");
  const pager = page.getElementById("rows-pager");
  const names = ["outcome", "status", "category", "difficulty", "language"];
  let at = 0;

  for (const name of names) {
    const field = form.elements[name];
    for (const [value, count] of choices(all, name)) {
      const option = page.createElement("option");
      option.value = value;
      option.textContent = `${value === "" ? "none given" : value.replaceAll("_", " ")} (${count})`;
      field.append(option);
    }
  }

  function cell(tag, text, kind) {
    const made = page.createElement(tag);
    made.textContent = text;
    if (kind) made.className = kind;
    return made;
  }

  function line(row) {
    const made = page.createElement("tr");
    const number = cell("th", row.repeat ? `${row.number} (asked again: ${row.repeat})` : `${row.number}`, "num");
    number.scope = "row";
    const mark = { right: "good", wrong: "bad" }[row.outcome] || "mute";
    made.append(
      number, cell("td", row.told, mark), cell("td", row.prompt, "long"), cell("td", row.reply, "long"),
      cell("td", row.extracted), cell("td", row.target), cell("td", row.category, "mute"),
    );
    return made;
  }

  function show() {
    const wanted = { text: form.elements.text.value };
    for (const name of names) wanted[name] = form.elements[name].value;
    const size = Number(form.elements.size.value);
    const found = pageOf(all.filter((row) => fits(row, wanted)), at, size);
    at = found.page;
    body.replaceChildren(...found.rows.map(line));
    page.getElementById("rows-count").textContent = words(found, size, all.length);
    page.getElementById("rows-page").textContent = `Page ${found.page + 1} of ${found.pages}`;
    for (const button of pager.querySelectorAll("button")) {
      const back = button.value === "first" || button.value === "previous";
      button.disabled = back ? found.page === 0 : found.page === found.pages - 1;
    }
    return found;
  }

  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", () => { at = 0; show(); });
  form.addEventListener("reset", () => setTimeout(() => { at = 0; show(); }));
  pager.addEventListener("click", (event) => {
    const step = { first: -Infinity, previous: -1, next: 1, last: Infinity }[event.target.value];
    if (step === undefined) return;
    at = step === Infinity ? Number.MAX_SAFE_INTEGER : step === -Infinity ? 0 : at + step;
    show();
    if (event.target.disabled) page.getElementById("rows-region").focus();
  });
  for (const part of page.querySelectorAll("[data-script]")) part.hidden = false;
  show();
}

if (typeof document !== "undefined") start(document);
if (typeof module !== "undefined") module.exports = { unpack, fits, pageOf, choices, words, start };
