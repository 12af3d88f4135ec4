// The chat's composer: a labelled box, Send and Stop. Enter sends, Shift+Enter begins a line, and Enter that
// ends the input of an IME does neither. Text from Python is only ever a state's name or HTML that Python escaped.
const page = Math.random().toString(36).slice(2); // differs after the page was loaded again

function made(tag, parts, parent) {
  const element = Object.assign(document.createElement(tag), parts);
  parent.append(element);
  return element;
}

function render({ model, el }) {
  const root = made("div", { className: "benchgen-composer" }, el);
  const tail = made("div", { className: "tail" }, root);
  const id = `benchgen-${page}-${Math.random().toString(36).slice(2)}`;
  made("label", { htmlFor: id, textContent: "Message" }, root);
  const box = made("textarea", { id, rows: 2, placeholder: "Enter sends, Shift+Enter begins a new line" }, root);
  box.setAttribute("data-lm-suppress-shortcuts", "true"); // Shift+Enter would run JupyterLab's cell
  const row = made("div", { className: "row" }, root);
  const send = made("button", { type: "button", textContent: "Send", className: "send" }, row);
  const stop = made("button", { type: "button", textContent: "Stop", className: "stop" }, row);
  const hint = made("span", { className: "hint" }, row);
  hint.setAttribute("role", "status");
  let sent = null; // what was sent and is not accepted yet

  function show() {
    const state = model.get("state");
    const busy = state === "working" || sent !== null;
    send.disabled = busy || state === "closed";
    stop.disabled = state === "closed" || !(busy || state === "awaiting");
    box.disabled = state === "closed";
    stop.textContent = "Stop";
    if (!busy) hint.textContent = state === "closed" ? "This panel is closed: run the cell again." : "";
  }

  function submit() {
    const text = box.value;
    if (!text.trim()) return;
    if (send.disabled) {
      hint.textContent = "Still working: Stop, or wait. Your text stays here.";
      return;
    }
    sent = text;
    model.send({ do: "send", text });
    show();
  }

  function accepted() {
    if (sent !== null && box.value === sent) box.value = "";
    sent = null;
    show();
  }

  function refused() {
    sent = null;
    show();
    hint.textContent = "Not sent. Your text stays here.";
  }

  function told(message) {
    if (message.told === "accepted") accepted();
    if (message.told === "refused") refused();
  }

  function later() {
    tail.innerHTML = model.get("tail");
  }

  box.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.isComposing || event.keyCode === 229) return;
    event.preventDefault();
    event.stopPropagation();
    if (event.shiftKey) box.setRangeText("\n", box.selectionStart, box.selectionEnd, "end");
    else submit();
  });
  send.addEventListener("click", () => {
    submit();
    box.focus();
  });
  stop.addEventListener("click", () => {
    stop.disabled = true;
    stop.textContent = "Stopping";
    model.send({ do: "stop" });
    box.focus();
  });
  model.on("change:state", show);
  model.on("change:tail", later);
  model.on("msg:custom", told);
  show();
  later();
  model.send({ do: "shown", page });
  return () => {
    model.off("change:state", show);
    model.off("change:tail", later);
    model.off("msg:custom", told);
  };
}

export default { render };
