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

// Of a large weight file only its beginning is sent.
const HEADER_BYTES = 32 * 1024 * 1024;
document.addEventListener("submit", async (event) => {
  const form = event.target;
  const file = form.matches("form.upload") ? form.elements.file.files[0] : null;
  if (!file || file.size <= HEADER_BYTES) return;
  event.preventDefault();
  const body = new FormData();
  body.append("file", file.slice(0, HEADER_BYTES), file.name);
  body.append("file_bytes", String(file.size));
  const answer = await fetch(form.action, { method: "POST", body });
  if (answer.redirected) location.href = answer.url;
  else document.getElementById("answer").textContent = (await answer.text()).replace(/<[^>]*>/g, " ");
}, true);

// A longer simulation: a job whose events move the bar; its answer is drawn by the server.
let events = null;
function showJobs(root) {
  for (const box of root.querySelectorAll(".job[hidden]")) box.hidden = false;
}
function endJob(box) {
  if (events) events.close();
  events = null;
  box.querySelector("progress").hidden = true;
  box.querySelector("[data-stop]").hidden = true;
  box.querySelector("[data-start]").disabled = false;
}
async function startJob(box) {
  const bar = box.querySelector("progress");
  const stop = box.querySelector("[data-stop]");
  box.querySelector("[data-start]").disabled = true;
  bar.hidden = stop.hidden = false;
  bar.removeAttribute("value");
  const answer = await fetch("/api/v1/capacity?job=true", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: box.dataset.scenario,
  });
  if (!answer.ok) return endJob(box);
  const job = await answer.json();
  stop.onclick = () => fetch(`/api/v1/jobs/${job.id}`, { method: "DELETE" });
  events = new EventSource(`/api/v1/jobs/${job.id}/events`);
  events.addEventListener("job", (event) => {
    const now = JSON.parse(event.data);
    if (now.total) bar.value = now.done / now.total;
    if (!["done", "failed", "cancelled"].includes(now.state)) return;
    endJob(box);
    if (now.state !== "done") return;
    const address = new URL(box.dataset.address, location.href);
    address.searchParams.set("job", job.id);
    htmx.ajax("GET", address.pathname + address.search, {
      target: "#answer", select: "#answer", swap: "outerHTML",
    });
  });
  events.onerror = () => endJob(box);
}
document.addEventListener("click", (event) => {
  const start = event.target.closest("[data-start]");
  if (start) startJob(start.closest(".job"));
});
document.addEventListener("htmx:load", (event) => showJobs(event.target));
showJobs(document);
