// What forms and tables gain with JavaScript; everything works without it.
"use strict";

// A range's value beside its label, and the figure it stands for.
function showRange(input) {
  const out = document.querySelector(`output[for="${input.id}"]`);
  if (!out) return;
  const steps = input.dataset.steps ? input.dataset.steps.split(",") : null;
  const value = steps ? Number(steps[Number(input.value)]) : Number(input.value);
  out.textContent = new Intl.NumberFormat(document.documentElement.lang).format(value);
}

document.addEventListener("input", (event) => {
  if (event.target.matches("input[type=range]")) showRange(event.target);
});

// Empty fields stay out of addresses, so that a shared link says only what was asked.
document.addEventListener("submit", (event) => {
  for (const field of event.target.querySelectorAll("input, select")) {
    if (field.value === "" && field.name && event.target.method === "get") field.disabled = true;
  }
  setTimeout(() => {
    for (const field of event.target.querySelectorAll(":disabled")) field.disabled = false;
  }, 0);
});
document.addEventListener("htmx:configRequest", (event) => {
  const given = event.detail.parameters;
  for (const name of Object.keys(given)) if (given[name] === "") delete given[name];
});

// Copy what a button names.
document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  const text = button.dataset.copy === "address"
    ? location.href
    : document.getElementById(button.dataset.copy).textContent.trim();
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = button.dataset.done;
  } catch {
    const range = document.createRange();
    const source = document.getElementById(button.dataset.copy);
    if (source) {
      range.selectNodeContents(source);
      getSelection().removeAllRanges();
      getSelection().addRange(range);
    }
  }
});

// A model's file may be dropped on its form.
for (const zone of document.querySelectorAll("form.upload")) {
  zone.addEventListener("dragover", (event) => event.preventDefault());
  zone.addEventListener("drop", (event) => {
    event.preventDefault();
    const field = zone.querySelector("input[type=file]");
    if (event.dataTransfer.files.length === 1) {
      field.files = event.dataTransfer.files;
      zone.requestSubmit();
    }
  });
}
