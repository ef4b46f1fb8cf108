// A button on each block of code that copies it, without the prompts and the output of consoles.
document.addEventListener("DOMContentLoaded", () => {
  for (const block of document.querySelectorAll("div.highlight")) {
    const button = document.createElement("button");
    button.className = "copy";
    button.type = "button";
    button.textContent = "Copy";
    button.addEventListener("click", async () => {
      const text = block.querySelector("pre").textContent;
      const commands = copied(text, Boolean(block.closest(".highlight-console")));
      await navigator.clipboard.writeText(commands);
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = "Copy"; }, 1500);
    });
    block.append(button);
  }
});

function copied(text, isConsole) {
  if (!isConsole) return text;
  const commands = [];
  let continues = false;
  for (const line of text.split("\n")) {
    if (line.startsWith("$ ") || continues) {
      commands.push(line.replace(/^\$ /, ""));
      continues = line.endsWith("\\");
    }
  }
  return commands.join("\n");
}
