
(function () {
  "use strict";
  var box = document.getElementById("filter"), said = document.getElementById("found");
  var sections = document.querySelectorAll("section.sought"), rows = document.querySelectorAll(".rows > *"), folds = document.querySelectorAll("details.fold");
  var parts = document.querySelectorAll(".part");
  var texts = null, wasOpen = null;

  function text(row) {
    return (row.textContent + " " + (row.getAttribute("data-also") || "")).toLowerCase();
  }

  function has(part) {
    return part.querySelector(".rows > :not([hidden])") !== null;
  }

  function apply() {
    var words = box.value.toLowerCase().split(/\s+/).filter(Boolean), found = 0;
    texts = texts || Array.prototype.map.call(rows, text);
    rows.forEach(function (row, i) {
      row.hidden = !words.every(function (word) { return texts[i].includes(word); });
      found += row.hidden ? 0 : 1;
    });
    if (words.length && !wasOpen) {
      wasOpen = Array.prototype.map.call(folds, function (fold) { return fold.open; });
    }
    folds.forEach(function (fold, i) {
      fold.hidden = words.length > 0 && !has(fold);
      fold.open = words.length ? !fold.hidden : wasOpen ? wasOpen[i] : fold.open;
    });
    if (!words.length) {
      wasOpen = null;
    }
    parts.forEach(function (part) { part.hidden = words.length > 0 && !has(part); });
    sections.forEach(function (section) {
      section.classList.toggle("empty", words.length > 0 && !has(section));
    });
    said.textContent = words.length ? found + (found === 1 ? " row" : " rows") : "";
  }

  box.addEventListener("input", apply);
  box.addEventListener("keydown", function (e) {
    if (e.key === "Escape") {
      box.value = "";
      apply();
    }
  });
  document.addEventListener("keydown", function (e) {
    if (e.key === "/" && document.activeElement !== box && !e.ctrlKey && !e.metaKey && !e.altKey) {
      e.preventDefault();
      box.focus();
    }
  });
  document.getElementById("seek").addEventListener("submit", function (e) { e.preventDefault(); });
  document.getElementById("seek").hidden = false;
  if (box.value) {
    apply();
  }
})();
