// What the tests measure in the page.

// Colour as red, green, blue and opacity, each from 0 to 1.
function channels(color) {
  const [red, green, blue, alpha] = color.match(/[\d.]+/g).map(Number);
  return [red / 255, green / 255, blue / 255, alpha === undefined ? 1 : alpha];
}

// Relative luminance as WCAG defines it.
function luminance([red, green, blue]) {
  const [r, g, b] = [red, green, blue].map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

// The nearest background of an element that is not transparent; the page mixes no colours.
function background(element) {
  for (let at = element; at; at = at.parentElement) {
    const found = channels(getComputedStyle(at).backgroundColor);
    if (found[3] === 1) return found;
    if (found[3] !== 0) throw new Error(`translucent background of ${at.outerHTML.slice(0, 80)}`);
  }
  throw new Error("no background");
}

function isSeen(element) {
  const box = element.getBoundingClientRect();
  return box.width > 0 && box.height > 0 && getComputedStyle(element).visibility === "visible";
}

// Every element that has text of its own.
function withText() {
  return [...document.body.querySelectorAll("*")].filter((element) => {
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    return own && isSeen(element) && !["SCRIPT", "STYLE"].includes(element.tagName);
  });
}

// Contrast of every text with what is behind it, and what WCAG AA asks for.
function contrasts() {
  return withText().map((element) => {
    const style = getComputedStyle(element);
    const drawn = element instanceof SVGElement;
    const text = luminance(channels(drawn ? style.fill : style.color));
    const behind = luminance(background(element));
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    const ratio = (Math.max(text, behind) + 0.05) / (Math.min(text, behind) + 0.05);
    return { text: element.textContent.trim().slice(0, 40), ratio, needed: large ? 3 : 4.5 };
  });
}

// Text that leaves the window, or what it stands in, and cannot be scrolled to.
function cutOff() {
  const wide = document.documentElement.clientWidth;
  return withText().filter((element) => {
    const scroller = element.closest(".box, nav ul");
    const box = element.getBoundingClientRect();
    if (!scroller) return box.right > wide + 1 || box.left < -1;
    if (!["auto", "scroll"].includes(getComputedStyle(scroller).overflowX)) return true;
    const outer = scroller.getBoundingClientRect();
    const right = box.right - outer.left + scroller.scrollLeft;
    return right > scroller.scrollWidth + 1 || outer.right > wide + 1;
  }).map((element) => element.textContent.trim().slice(0, 40));
}

// Where the first column and the header of a table are after it was scrolled both ways.
function scrolledTable() {
  for (const details of document.querySelectorAll("details")) details.open = true;
  const box = [...document.querySelectorAll("main section:last-of-type .box:has(table)")].pop(); // of tests
  box.style.maxHeight = "4rem";
  box.scrollTo(60, 60);
  const { left, top } = box.getBoundingClientRect();
  const [header, row] = [box.querySelector("thead th + th"), box.querySelector("tbody tr:last-child th")];
  const found = {
    scrolled: Math.min(box.scrollLeft, box.scrollTop),
    box: Math.round(left),
    first: Math.round(row.getBoundingClientRect().left),
    top: Math.round(top),
    header: Math.round(header.getBoundingClientRect().top),
  };
  box.style.maxHeight = "";
  return found;
}

// Luminance of the mark of each outcome, whether the page has it or not.
function lightOfMarks() {
  return ["holds", "partly", "does-not-hold", "undecided"].map((outcome) => {
    const mark = document.body.appendChild(document.createElement("span"));
    mark.className = `mark ${outcome}`;
    const light = luminance(background(mark));
    mark.remove();
    return light;
  });
}
