"use strict";
// A click on a header sorts its table, a second click reverses the order. Empty cells stay last.
for (const table of document.querySelectorAll(".box table")) {
  const headers = [...table.tHead.rows[0].cells];
  headers.forEach((header, column) => {
    header.querySelector("button").addEventListener("click", () => {
      const down = header.getAttribute("aria-sort") === "ascending";
      for (const other of headers) other.setAttribute("aria-sort", "none");
      header.setAttribute("aria-sort", down ? "descending" : "ascending");
      const body = table.tBodies[0];
      const rows = [...body.rows];
      const numeric = rows.some((row) => row.cells[column].dataset.sort !== undefined);
      const value = (row) => {
        const { dataset, textContent } = row.cells[column];
        return numeric ? parseFloat(dataset.sort) : textContent;
      };
      const empty = (key) => (numeric ? Number.isNaN(key) : key === "");
      rows.sort((a, b) => {
        const [x, y] = [value(a), value(b)];
        if (empty(x) || empty(y)) return empty(x) - empty(y);
        const order = numeric ? x - y : x.localeCompare(y, "en", { numeric: true });
        return down ? -order : order;
      });
      body.append(...rows);
    });
  });
}
// Mark tables that are wider than their box.
const sizes = new ResizeObserver((entries) => {
  for (const { target } of entries) target.classList.toggle("scrolls", target.scrollWidth > target.clientWidth);
});
for (const box of document.querySelectorAll(".box")) sizes.observe(box);
// Unfold everything for printing.
addEventListener("beforeprint", () => {
  for (const details of document.querySelectorAll("details")) details.open = true;
});
// Highlight the current section in the contents.
const links = new Map([...document.querySelectorAll("nav a")].map((link) => [link.hash.slice(1), link]));
const seen = new Set();
const watch = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) {
    if (isIntersecting) seen.add(target.id); else seen.delete(target.id);
  }
  const here = [...links.keys()].find((id) => seen.has(id));
  if (here) links.get(here).closest("ul").scrollLeft = links.get(here).offsetLeft - 16;
  for (const [id, link] of links) {
    if (id === here) link.setAttribute("aria-current", "true"); else link.removeAttribute("aria-current");
  }
}, { rootMargin: "-20% 0px -60% 0px" });
for (const id of links.keys()) watch.observe(document.getElementById(id));
// A link to a claim unfolds its numbers.
const open = () => {
  const inside = document.querySelector(":target > details");
  if (inside) inside.open = true;
};
addEventListener("hashchange", open);
open();
